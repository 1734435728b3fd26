"""How errors are spread: counts by target in bins so fine that an exact quantile lies among few values.

A bin holds the numbers that agree in sign, exponent and the first four bits of the significand: the upper 16 bits of a
double. These are ordered as the numbers are, which are not negative here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from results.partitions import coded, plain

if TYPE_CHECKING:
    import pyarrow as pa

FIGURES = ("rel_max", "rho_max")
"""The columns that are counted."""
NEEDED = ("target", "variant", "against", *FIGURES)

FloatArray: TypeAlias = npt.NDArray[np.float64]

_LOW_BITS = 48


def binned(table: pa.Table) -> list[tuple[str, str, int, int]]:
    """(figure, target, bin, number of rows) of the rows of `table` against the truth and without variant."""
    rows = table.filter(plain(table))
    if not rows.num_rows:
        return []
    target, names = coded(rows.column("target"))
    found: list[tuple[str, str, int, int]] = []
    for figure in FIGURES:
        column = rows.column(figure)
        known = column.is_valid().to_numpy()
        values = column.to_numpy()[known]
        keys = (target[known] << 16) | bin_of(values)
        for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
            found.append((figure, names[key >> 16], int(key & 0xFFFF), int(count)))
    return found


def bin_of(values: FloatArray) -> npt.NDArray[np.int64]:
    """The bin of each value."""
    found: npt.NDArray[np.int64] = np.abs(values).view(np.int64) >> _LOW_BITS
    return found


def ends(bin_: int) -> tuple[float, float | None]:
    """The smallest number of a bin, and that of the next one; None after which there is no number, only NaN."""
    low, high = (np.array([at << _LOW_BITS], np.int64).view(np.float64)[0] for at in (bin_, bin_ + 1))
    return (float("inf") if np.isnan(low) else float(low)), (None if np.isnan(high) else float(high))


def among(bins: dict[int, int], level: float) -> tuple[int, int]:
    """The bin that holds a quantile, and how many of its values are smaller or equal: the rank, from 1.

    The quantile is the smallest value that a share `level` of all does not exceed.
    """
    left = rank(sum(bins.values()), level)
    for at in sorted(bins):
        if left <= bins[at]:
            return at, left
        left -= bins[at]
    raise ValueError("no values")


def rank(count: int, level: float) -> int:
    """The place of a quantile among so many values in order, from 1."""
    return max(1, math.ceil(count * Fraction(str(level))))


def nth(values: FloatArray, place: int) -> float:
    """The value at a place in order, from 1."""
    return float(np.partition(values, place - 1)[place - 1])
