"""NaN and infinities of an output against those of the truth: which agree, which the formula explains, which do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from strategies.precision import Precision

Array = NDArray[Any]


class Nonfinite(Struct, frozen=True):
    """Elements that cannot be measured, and how many of which sort."""

    apart: Array
    """Not finite on either side, or explained: left out of every figure."""
    nan_count: int
    inf_count: int
    nonfinite_mismatch: int
    overflow_explained: int
    first_mismatch: int
    """-1 where there is none."""

    def counts(self) -> dict[str, int]:
        """The figures that are columns of a Measurement."""
        return {
            "nan_count": self.nan_count,
            "inf_count": self.inf_count,
            "nonfinite_mismatch": self.nonfinite_mismatch,
            "overflow_explained": self.overflow_explained,
            "first_mismatch": self.first_mismatch,
        }


def rounded_to_infinity(value: Array, p: Precision) -> Array:
    """The truth with infinities where it rounds to them in the format `p`."""
    # halfway between the largest number and the next binade rounds to infinity (IEEE 754, 4.3.1)
    limit = np.ldexp(1 - value.dtype.type(p.unit_roundoff / 2.0), p.maximum_exponent + 1)
    result: Array = np.where(np.abs(value) >= limit, np.copysign(np.inf, value), value)
    return result


def set_apart(
    y: Array,
    v: Array,
    overflow: Callable[[], Array],
    plain: Callable[[bool], Array] | None,
    overflowed: Array | None,
) -> Nonfinite:
    """Compare output `y` with truth `v`, both flat and wide.

    `overflow` says where the formula leaves the dtype's range, `plain` what it gives then (see Yardstick.refresh).
    `overflowed` elements are explained and left out, too.
    """
    nan_y, nan_v, inf_y, inf_v = np.isnan(y), np.isnan(v), np.isinf(y), np.isinf(v)
    mismatch = (nan_y != nan_v) | (inf_y != inf_v) | (inf_y & inf_v & (np.sign(y) != np.sign(v)))
    explained = mismatch & overflow().reshape(-1) if mismatch.any() else mismatch.copy()
    mismatch &= ~explained
    if plain is not None and mismatch.any():
        # the formula itself divides by a number that has underflowed to zero
        z = plain(False).reshape(-1)
        alike = np.isfinite(v) | (z == y) | (np.isnan(z) & nan_y)  # beside a given infinity: the very same
        formula = mismatch & ~np.isfinite(y) & ~np.isfinite(z) & alike
        explained |= formula
        mismatch &= ~formula
    apart = nan_y | nan_v | inf_y | inf_v
    if overflowed is not None:
        explained |= overflowed
        apart |= overflowed
    return Nonfinite(
        apart,
        nan_count=int(nan_y.sum()),
        inf_count=int(inf_y.sum()),
        nonfinite_mismatch=int(mismatch.sum()),
        overflow_explained=int(explained.sum()),
        first_mismatch=int(mismatch.argmax()) if mismatch.any() else -1,
    )
