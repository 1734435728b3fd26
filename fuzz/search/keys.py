"""Numbers of a format as whole numbers in the same order, so that arithmetic on them moves by units in the last place.

The key of a number is its bit pattern without the sign, signed as the number: 0 for zero, 1 for the smallest subnormal
number. Adding 1 goes to the next number, adding 2^(p-1) to the same significand one binade further from zero. (-0 has
the key of 0.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategies.precision import DType, precision

Keys = NDArray[np.int64]


def keys_of(values: NDArray[Any]) -> Keys:
    """Keys of an array of one of the known formats. NaN has a key beyond that of infinity."""
    word = np.dtype(f"u{values.dtype.itemsize}")
    width = 8 * values.dtype.itemsize
    bits = values.view(word)
    magnitude = (bits & word.type(2 ** (width - 1) - 1)).astype(np.int64)
    result: Keys = np.where(bits >> word.type(width - 1), -magnitude, magnitude)
    return result


def values_of(keys: Keys, home: DType) -> NDArray[Any]:
    """Inverse of `keys_of`, contiguous."""
    kind = precision(home).numpy
    word = np.dtype(f"u{kind.itemsize}")
    sign = word.type(2 ** (8 * kind.itemsize - 1))
    bits = np.abs(keys).astype(word)
    bits |= np.where(keys < 0, sign, word.type(0))
    return bits.view(kind)


def key_of(value: float, home: DType) -> int:
    """Key of `value` rounded to the format."""
    return int(keys_of(np.atleast_1d(precision(home).round(value)))[0])
