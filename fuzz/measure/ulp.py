"""Errors in units in the last place: ulp(v) = 2^(max(exponent(v), emin) - p + 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategies.precision import Precision

Array = NDArray[Any]


def largest_ulp(error: Array, value: Array, near: Array, p: Precision) -> tuple[float, int]:
    """Largest `error` (not negative) in ulp of `value` among the elements `near`, and where it lies."""
    error, value = error[near], value[near]
    _, exponent = np.frexp(value)
    exponent[value == 0] = p.minimum_exponent
    ulps = np.ldexp(error, p.digits - np.maximum(exponent, p.minimum_exponent + 1))
    worst = int(ulps.argmax())
    return float(ulps[worst]), int(near[worst])
