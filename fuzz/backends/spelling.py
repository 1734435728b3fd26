"""How a kernel is spelled: text that computes the same with the library and NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from fuzz.backends.base import Implementation
from fuzz.backends.extraction import Extract, Unspellable, extract
from strategies.contract import Scalar, Shape

__all__ = ["Extract", "Spelling", "Unspellable", "Wanted", "extract"]


class Wanted(Struct, frozen=True):
    """Which kernel is to be spelled. `inputs` and `outputs` have a name and a shape each, in the contract's order."""

    implementation: Implementation
    attributes: Mapping[str, Scalar]
    device: str
    dtype: str
    options: Mapping[str, str]
    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    output: int
    """Number of the output that is returned."""
    one_thread: bool = False
    """Whether the library is to use one thread, as it does in a campaign."""

    guarded: bool = False
    """Whether writes outside an output buffer are to be seen."""

    @property
    def several(self) -> bool:
        """Whether the operator has several outputs."""
        return len(self.outputs) > 1

    def extract(self) -> Extract:
        """The text of the implementation's own function."""
        return extract(self.implementation.function, tuple(self.inputs), self.attributes)


class Spelling(Struct, frozen=True):
    """Pieces of a script. `body` are the statements of a function of the inputs, NumPy arrays, that returns one."""

    imports: tuple[str, ...]
    body: tuple[str, ...]
    definitions: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    """Names of libraries and expressions of their versions."""
    dtype: str = ""
    """Of the arrays it takes, where it is not the kernel's own: PyTorch takes bfloat16 numbers as float32 arrays."""
    settings: str = ""
    """What a maintainer would ask: which settings are in force."""
    extension: Path | None = None
    """The user's file, which the script imports as EXTENSION."""
    requires: tuple[str, ...] = ()
    """Modules that have to be installed."""
