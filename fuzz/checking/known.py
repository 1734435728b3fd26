"""What is found out about a function by calling it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fuzz.backends.base import Array
from strategies.contract import Shape


class Known(Struct, frozen=True):
    """What was found out about one function."""

    name: str
    library: str
    by_name: bool
    outputs: tuple[str, ...]
    """Names; empty texts where it returns a tuple or one array."""
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    wide: tuple[str, ...]
    """dtypes of its outputs on float64 inputs; empty where it does not take any."""
    notes: tuple[str, ...] = ()
    mark: str = ""
    """A verdict that calling it twice gives: input_modified, nondeterministic; empty for well-behaved functions."""
    own_rho: float | None = None
    """How far its results in two precisions are apart, in bounds; None where that was not looked at."""


def inputs_dtype(inputs: Mapping[str, Array]) -> str:
    """Of all inputs, as a word."""
    return next((array.dtype.name for array in inputs.values()), "no arrays")
