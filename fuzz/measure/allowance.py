"""The atol with which an output passes `|error| <= atol + rtol |truth|`, for several rtol, exactly and in one pass.

As a function of rtol it is the upper envelope of one line an element, error - rtol size: only the upper left hull of
the points (size, error) matters, between the one of the largest error and the one of the largest relative error. Those
two are known; what lies above the line through them is a few elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from results.columns import ALLOWANCES

Array = NDArray[Any]

NONE = (0.0,) * len(ALLOWANCES)
_MULTIPLES = np.array(ALLOWANCES, np.float64)[:, np.newaxis]
BITS = 12
"""Of what is kept: ten columns of 53 would take a quarter of the disk for digits that no tolerance has."""
_LAST = math.ldexp(1 - 2.0**-BITS, 1024)
_SLACK = 1e-12
"""Part of the largest error by which points below the line are looked at, too: more than its rounding."""


def smallest_atols(
    error: Array, size: Array, largest: int, relative: int, unit: float, work: Array, mask: Array
) -> tuple[float, ...]:
    """max(0, max_i(error_i - k u size_i)) for the k of ALLOWANCES.

    `error` and `size`, flat and not negative, are |output - truth| and |truth|; elements that count for nothing have
    error 0. `largest` and `relative` say where error and error/size are largest, `unit` is u. `work` (of the type of
    `error`) and `mask` are overwritten. Rounded up to BITS bits.
    """
    e0, e1, v0, v1 = error[largest], error[relative], size[largest], size[relative]  # wide: float() may underflow
    if not e1 > unit * ALLOWANCES[0] * v1:  # the largest relative error is within the smallest rtol
        return NONE
    slope = (e0 - e1) / (v0 - v1) if v1 < v0 else e0 * 0  # at most e0/v0, because e1/v1 is the largest quotient
    np.multiply(size, slope, out=work)
    np.subtract(error, work, out=work)
    picked = np.flatnonzero(np.greater_equal(work, e1 - slope * v1 - _SLACK * e0, out=mask))
    if not picked.size:  # rounding at the edge of the range
        picked = np.arange(error.size)
    lines = error[picked] - unit * _MULTIPLES * size[picked]
    return tuple([rounded_up(float(atol)) if atol > 0 else 0.0 for atol in lines.max(axis=1)])


def rounded_up(x: float) -> float:
    """The smallest number of BITS bits that is not below `x`, which is not negative; `x` itself beyond the last one."""
    if not x < _LAST:
        return x
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.ceil(math.ldexp(mantissa, BITS)), exponent - BITS)
