"""Results outside the operator's range: erf of XLA gives 1.0000002 within a rounding error, and acos of it is NaN."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import Array
from fuzz.judging.judge import Outside
from strategies.contract import Domain


def outside(domain: Domain, values: Array) -> Outside | None:
    """The finite elements of `values` outside `domain`, None if all are in it. Its ends are numbers of every format."""
    if domain == Domain() or not values.size:
        return None
    flat = values.reshape(-1)
    with np.errstate(invalid="ignore"):  # NaN is in no range and outside none
        off = (flat < flat.dtype.type(domain.low)) | (flat > flat.dtype.type(domain.high))
    off &= np.isfinite(flat)
    if not off.any():
        return None
    here = np.flatnonzero(off)
    wide = flat[here].astype(np.float64)
    worst = int(np.maximum(domain.low - wide, wide - domain.high).argmax())
    return Outside(int(here.size), float(wide[worst]), int(here[worst]), domain.low, domain.high)
