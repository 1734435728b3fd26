"""Exact arithmetic for the operations that IEEE 754 requires to be correctly rounded: fractions, no library needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from fuzz.oracle.primitives import PRIMITIVES

_ROOT_BITS = 256
"""A root of a p-bit number is never halfway between two p-bit numbers: far fewer extra bits decide its rounding."""


def _sqrt(x: Fraction) -> Fraction:
    """The root, or at least its first 256 bits: scaled by 4^k so that the integer root has that many."""
    k = max(0, _ROOT_BITS - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    return Fraction(math.isqrt((x.numerator << (2 * k)) // x.denominator), 1 << k)


class ExactArithmetic:
    """+ - * / on fractions without any rounding, and roots that round as the exact ones do.

    ZeroDivisionError for a division by zero, ValueError for the root of a negative number.
    """

    name = "fractions"

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Fraction]] = {
            "add": lambda x, y: x + y,
            "subtract": lambda x, y: x - y,
            "multiply": lambda x, y: x * y,
            "divide": lambda x, y: x / y,
            "negative": lambda x: -x,
            "square": lambda x: x * x,
            "absolute": abs,
            "sqrt": _sqrt,
        }

    def number(self, value: float) -> Fraction:
        return Fraction(value)

    def apply(self, primitive: str, *arguments: Fraction) -> Fraction:
        if primitive not in self._functions:
            known = ", ".join(name for name in PRIMITIVES if name in self._functions)
            raise TypeError(f"{primitive} has no exact value: use {known}")
        return self._functions[primitive](*arguments)

    def less(self, x: Fraction, y: Fraction) -> bool:
        return x < y

    def rounded(self, x: Fraction) -> float:
        """The nearest float64, ties to even; infinite beyond the range."""
        try:
            return float(x)
        except OverflowError:
            return math.inf if x > 0 else -math.inf

    def radius(self, x: Fraction) -> float:
        return 0.0

    def text(self, x: Fraction, digits: int) -> str:
        return f"{self.rounded(x):.{digits}g}"
