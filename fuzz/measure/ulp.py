"""Errors in units in the last place: ulp(v) = 2^(max(exponent(v), emin) - p + 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategies.precision import Precision

Array = NDArray[Any]
_FRACTION, _BIAS = 52, 1023
"""Of float64."""


def largest_ulp(error: Array, value: Array, near: Array, p: Precision) -> tuple[float, int]:
    """Largest `error` (not negative) in ulp of `value` among the elements `near`, and where it lies."""
    error, value = error[near], value[near]
    _, exponent = np.frexp(value)
    exponent[value == 0] = p.minimum_exponent
    ulps = np.ldexp(error, p.digits - np.maximum(exponent, p.minimum_exponent + 1))
    worst = int(ulps.argmax())
    return float(ulps[worst]), int(near[worst])


def over_ulp(value: Array, p: Precision) -> Array:
    """1/ulp of every element of `value` (float64), for a format `p` narrower than float64; that of NaN is some number.

    A power of two, put together from the exponent bits: frexp and ldexp take ten times as long.
    """
    result: Array = np.abs(value)
    exponent = result.view(np.int64)
    exponent >>= _FRACTION
    np.maximum(exponent, p.minimum_exponent + _BIAS, out=exponent)
    np.subtract(2 * _BIAS + p.digits - 1, exponent, out=exponent)
    exponent <<= _FRACTION
    return result
