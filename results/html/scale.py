"""Logarithmic axes: where a value lies, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SHORT = 3
"""Axes of up to so many decades have labels at 2 and 5, too."""


class LogScale(Struct, frozen=True):
    """Values from 10**low to 10**high, `low` and `high` whole decades, at coordinates from `start` to `end`."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        """The coordinate; values outside, 0 and infinity lie at the ends. ValueError for NaN and negative values."""
        if math.isnan(value) or value < 0:
            raise ValueError(f"{value} has no place on a logarithmic axis")
        return self.decade(-math.inf if value == 0 else math.inf if math.isinf(value) else math.log10(value))

    def decade(self, exponent: float) -> float:
        """The coordinate of 10**exponent."""
        part = (exponent - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, part))

    def ticks(self, most: int = 8) -> list[int]:
        """Decades with a label: `most` at most (2 at least), evenly spaced, at multiples of their step."""
        step = next(s for s in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if (self.high - self.low) // s + 1 <= most)
        return [k for k in range(self.low, self.high + 1) if k % step == 0]

    def marks(self, most: int = 8) -> list[tuple[float, str]]:
        """Exponents with their labels: the ticks, and 2 and 5 between them where the axis is short."""
        if self.high - self.low > SHORT:
            return [(float(k), power(k)) for k in self.ticks(most)]
        found = [(float(k), power(k)) for k in range(self.low, self.high + 1)]
        for k in range(self.low, self.high):
            for digit in (2, 5):
                found.append((k + math.log10(digit), _times(digit, k)))
        return sorted(found)


def log_scale(values: Iterable[float], start: float, end: float, *, least: int = 2) -> LogScale:
    """The axis that holds all `values`, at least so many decades. 0, NaN and infinity are passed over.

    Without any value it is 1e-1 to 10.
    """
    exponents = [math.log10(v) for v in values if v > 0 and math.isfinite(v)]
    if not exponents:
        return LogScale(-1, 1, start, end)
    low, high = math.floor(min(exponents) + 1e-9), math.ceil(max(exponents) - 1e-9)
    while high - low < max(1, least):
        low, high = (low - 1, high) if (high - low) % 2 else (low, high + 1)
    return LogScale(low, high, start, end)


def power(exponent: int) -> str:
    """0.01, 0.1, 1, 10, 100, 1000; else 10 with the exponent raised."""
    return f"{10.0**exponent:g}" if -2 <= exponent <= 3 else f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def _times(digit: int, exponent: int) -> str:
    """2 and 5 times a power of ten: 0.2, 50, 2·10⁻⁵."""
    if -3 <= exponent <= 3:
        return f"{digit * 10.0**exponent:g}"
    return f"{digit}·{power(exponent)}"


def percent_tick(exponent: int) -> str:
    """A rate of 10**exponent in per cent: 100 %, 10 %, 0.001 %."""
    return f"{10.0 ** (exponent + 2):.{max(0, -exponent - 2)}f} %"
