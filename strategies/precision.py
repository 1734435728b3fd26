"""Floating-point formats as values: unit roundoff, exponent range, edges. The only place that spells their numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes  # noqa: F401  # registers bfloat16 with NumPy, which has no such format itself
import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

DType: TypeAlias = str
"""Canonical name of a floating-point format: a key of `PRECISIONS`."""


class Precision(Struct, frozen=True):
    """A binary floating-point format with `digits` significant bits (IEEE 754-2019, table 3.5)."""

    name: DType
    digits: int
    """Significand bits including the implicit one (p)."""
    minimum_exponent: int
    """Exponent of the smallest normal number: tiny = 2**minimum_exponent."""
    maximum_exponent: int
    """Exponent of the largest binade: max < 2**(maximum_exponent + 1)."""

    @property
    def unit_roundoff(self) -> float:
        """u = 2**-p, the largest relative error of rounding to nearest."""
        return float(2.0**-self.digits)

    @property
    def smallest_normal(self) -> float:
        return float(2.0**self.minimum_exponent)

    @property
    def smallest_subnormal(self) -> float:
        return float(2.0 ** (self.minimum_exponent - self.digits + 1))

    @property
    def largest(self) -> float:
        return float((2.0 - 2.0 ** (1 - self.digits)) * 2.0**self.maximum_exponent)

    @property
    def numpy(self) -> np.dtype[np.floating]:
        return np.dtype(self.name)

    def holds(self, other: Precision) -> bool:
        """Whether every number of `other` is one of this format, so that a cast to it is exact."""
        return (
            self.digits >= other.digits
            and self.maximum_exponent >= other.maximum_exponent
            and self.smallest_subnormal <= other.smallest_subnormal
        )

    def round(self, values: ArrayLike) -> NDArray[Any]:
        """`values` (float64 or narrower) rounded once, to nearest even."""
        wide = np.asarray(values)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.name == "bfloat16":
                wide = _rounded_to_odd(wide)
            return wide.astype(self.numpy)


PRECISIONS: dict[DType, Precision] = {
    p.name: p
    for p in (
        Precision("bfloat16", 8, -126, 127),
        Precision("float16", 11, -14, 15),
        Precision("float32", 24, -126, 127),
        Precision("float64", 53, -1022, 1023),
    )
}
"""Formats a problem may live in, narrowest first."""


def precision(name: DType) -> Precision:
    """The format called `name`; KeyError when ulpfuzz does not know it."""
    return PRECISIONS[name]


def narrowest(names: tuple[DType, ...]) -> DType:
    """The narrowest format among `names` (at least one): the home of a problem whose targets use them."""
    return min(names, key=lambda name: PRECISIONS[name].digits)


def _rounded_to_odd(values: NDArray[Any]) -> NDArray[np.float32]:
    """float32 with the last bit 1 wherever it is inexact: rounding that to a format with 22 digits and less is exact.

    ml_dtypes goes from float64 to bfloat16 through float32, and rounding twice to nearest errs near midpoints (Boldo
    and Melquiond, IEEE Trans. Computers 57 (2008) 462).
    """
    single = values.astype(np.float32)
    rest = values - single
    even = (single.view(np.uint32) & 1) == 0
    odd = np.nextafter(single, np.where(rest > 0, np.inf, -np.inf).astype(np.float32))
    return np.where((rest != 0) & even, odd, single)
