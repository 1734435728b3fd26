"""Floating-point formats as values: unit roundoff, exponent range, edges. The only place that spells their numbers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct

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


PRECISIONS: dict[DType, Precision] = {
    p.name: p
    for p in (
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
