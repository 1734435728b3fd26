"""Passes over arrays that take NumPy far longer in long double than in float64, done in another way."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_EXTENDED = np.dtype(np.longdouble).itemsize == 16 and np.finfo(np.longdouble).nmant == 63 and sys.byteorder == "little"
"""Whether long double is the 80-bit format of x87, which has its sign in the last bit of the fifth 16-bit word."""
_WORDS, _SIGN_WORD, _ALL_BUT_SIGN = 8, 4, 0x7FFF


def absolute(x: Array, out: Array) -> Array:
    """|x| into `out`, which may be `x`. The bit itself takes a tenth of the time of a call of fabsl an element."""
    if not (_EXTENDED and x.dtype == out.dtype == np.longdouble and out.flags.c_contiguous):
        return np.absolute(x, out=out)
    if out is not x:
        np.copyto(out, x)
    words = out.reshape(-1).view(np.int16)[_SIGN_WORD::_WORDS]
    words &= _ALL_BUT_SIGN
    return out


def largest(x: Array) -> Any:
    """The largest element of `x`, which is not empty; NaN where any is. Finding it is faster than comparing values."""
    return x.flat[x.argmax()] if x.dtype == np.longdouble else x.max()


def smallest(x: Array) -> Any:
    """The smallest element, likewise."""
    return x.flat[x.argmin()] if x.dtype == np.longdouble else x.min()


def only(part: Any, where: Any) -> Any:
    """`part` where it may count, else 0. A product takes a ninth of the time, but 0 times infinity is NaN."""
    if np.isfinite(np.max(part, initial=0.0)):
        return np.multiply(part, where)
    return np.where(where, part, 0.0)
