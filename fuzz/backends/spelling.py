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

    @property
    def primals(self) -> tuple[str, ...]:
        """The inputs of the function: all, but for the cotangents of a gradient."""
        derivative = self.implementation.derivative
        return tuple(self.inputs) if derivative is None else tuple(self.inputs)[: derivative.inputs]

    @property
    def cotangents(self) -> tuple[str, ...]:
        """The other inputs of a gradient."""
        return tuple(self.inputs)[len(self.primals) :]

    @property
    def moving(self) -> str:
        """The input whose gradient is returned, the output that is asked for; of a gradient only."""
        assert self.implementation.derivative is not None
        return self.primals[self.implementation.derivative.wrt[self.output]]

    def differentiated(self, call: str) -> list[str]:
        """The outputs of `call` that have cotangents, as expressions; of a gradient only."""
        from fuzz.operators import operator  # imports scipy: backends are listed without it

        derivative = self.implementation.derivative
        assert derivative is not None
        results = operator(derivative.forward.operator).contract.outputs
        return [call] if len(results) == 1 else [f"{call}[{number}]" for number in derivative.outputs]

    @property
    def several_results(self) -> bool:
        """Whether what is differentiated returns several arrays; of a gradient only."""
        return self.differentiated("") != [""]

    def extract(self) -> Extract:
        """The text of the implementation's own function; of a gradient, of the function that is differentiated."""
        return extract(self.implementation.function, self.primals, self.attributes)


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
