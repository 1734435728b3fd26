"""Checks of single numbers that the statistics are given."""

from __future__ import annotations

import math


def error_probability(confidence: float) -> float:
    """1 - confidence; ValueError unless it lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}: give a number between 0 and 1, e.g. 0.95")
    return 1 - confidence


def check_counts(k: int, n: int) -> None:
    """ValueError unless both are whole numbers, 0 <= k <= n and n > 0."""
    if not 0 <= k <= n or n == 0 or n == math.inf or k % 1 or n % 1:
        raise ValueError(f"{k} events in {n} trials: needs whole numbers, 0 <= events <= trials and at least one trial")


def check_rate(rate: float, what: str = "the rate") -> float:
    """The rate; ValueError unless it lies between 0 and 1, both excluded."""
    if not 0 < rate < 1:
        raise ValueError(f"{what} is {rate!r}: give a number between 0 and 1, e.g. 0.0076")
    return rate
