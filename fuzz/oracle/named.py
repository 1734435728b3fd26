"""Constants of the references that no binary format holds. Traced, they are float64 numbers and would cost a float64
truth half a unit of the result, more where the formula amplifies them (gelu: x*x times)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuzz.oracle.arithmetic import Arithmetic

REMAINDERS: dict[float, tuple[float, float]] = {
    math.sqrt(0.5): (-4.833646656726457e-17, 2.0693376543497068e-33),
    math.sqrt(2.0 / math.pi): (-4.98465440455546e-17, -6.849850895459242e-34),
    0.044715: (2.1960211427085595e-18, 1.1413831222416513e-34),
}
"""What is left of sqrt(1/2), sqrt(2/pi) and 0.044715 after their float64 numbers, in two float64 numbers: 155 bits."""


def inexact(value: float) -> bool:
    """Whether `value` stands for a number that has more digits."""
    return abs(value) in REMAINDERS


def wide_constant(value: float, wide: np.dtype[Any]) -> Any:
    """The number that `value` stands for, rounded to `wide`."""
    if not inexact(value) or wide != np.longdouble:
        return value
    magnitude = np.longdouble(abs(value)) + np.longdouble(REMAINDERS[abs(value)][0])
    return np.copysign(magnitude, np.longdouble(value))


def exact_constant(value: float, a: Arithmetic) -> Any:
    """The same in the arithmetic `a`."""
    number = a.number(value)
    for remainder in REMAINDERS.get(abs(value), ()):
        number = a.apply("add", number, a.number(math.copysign(1.0, value) * remainder))
    return number
