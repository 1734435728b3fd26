"""What filling an array has in common: the format NumPy can generate in, one rounding, numbers counted in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from strategies.precision import DType, precision
from strategies.recipe import Array

GENERATED = ("float32", "float64")
"""Formats that NumPy's Generator fills. For a narrower home dtype the formula is evaluated in float32 with parameters
of the home dtype, and each element rounded once."""


def working(home: DType) -> np.dtype[np.floating[Any]]:
    """The format in which a formula for `home` is evaluated."""
    return precision(home if home in GENERATED else "float32").numpy


def generated(out: Array) -> Array:
    """What the Generator can fill in place of `out`: `out` itself, or a float32 array for narrower formats."""
    return out if out.dtype.name in GENERATED else np.empty(out.shape, np.float32)


def settle(values: Array, out: Array) -> None:
    """Round what was generated into `out`, unless it is there already."""
    if values is not out:
        out[...] = precision(out.dtype.name).round(values)


def unsigned(out: Array) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The bit patterns of `out`, as a view."""
    return out.view(np.dtype(f"u{out.dtype.itemsize}"))


def ordinal(value: float, home: DType) -> int:
    """Place of `value`, rounded to `home`, among its numbers: 0 for 0, 1 and -1 for the smallest ones beside it."""
    number = precision(home).round(abs(value)).reshape(1)
    place = int(unsigned(number)[0])
    return -place if value < 0 else place


def number_at(place: int, home: DType) -> float:
    """The number of `home` with that ordinal."""
    bits = np.array([abs(place)], np.dtype(f"u{precision(home).numpy.itemsize}"))
    value = float(bits.view(precision(home).numpy)[0])
    return -value if place < 0 else value


def fill_ordinals(out: Array, places: npt.NDArray[np.int64]) -> None:
    """`out` becomes the numbers with these ordinals, of the same shape; 0 gives +0."""
    unsigned(out)[...] = np.abs(places).astype(unsigned(out).dtype)
    np.negative(out, out=out, where=places < 0)
