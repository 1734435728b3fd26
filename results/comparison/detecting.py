"""Which difference a comparison could have seen: the smallest larger rate that it calls different with probability 0.8.

What was not seen is only as good an answer as what could have been.
"""

from __future__ import annotations

from results.comparison.changes import RateChange
from results.comparison.design import Way
from results.statistics.planning import mcnemar_power, power_of_comparison
from results.statistics.proportions import SIGNIFICANCE

POWER = 0.8
_STEPS = 40
"""Halvings of the interval that holds the rate: to a millionth of it and below."""


def detectable(change: RateChange, way: Way, tests: int) -> float | None:
    """The smallest rate of the second side, above the one seen on both, that one of `tests` tests tells from it.

    At significance 0.05/tests (Bonferroni), which is what adjusting by Benjamini and Hochberg leaves to a single real
    difference among others that are none. None for cells, and where no rate could have been told.
    """
    level = SIGNIFICANCE / max(tests, 1)
    if way == "samples" and change.first_n and change.second_n:
        return _of_samples(change, level)
    if way == "pairs" and change.first_n:
        return _of_pairs(change, level)
    return None


def _of_samples(change: RateChange, level: float) -> float | None:
    """By the power of the comparison of two samples, whose common rate is that of both together."""
    first, second = change.first_n, change.second_n
    rate = (change.first_k + change.second_k) / (first + second)
    low, high = rate, 1.0
    if rate >= 1 or power_of_comparison(rate, first, high, second, level) < POWER:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = power_of_comparison(rate, first, middle, second, level) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high


def _of_pairs(change: RateChange, level: float) -> float | None:
    """By the exact power of McNemar's test: as many disagreements as were seen fall on either side by chance, and
    further ones on the second side only."""
    chance = (change.only_first or 0) + (change.only_second or 0)
    trials, before = change.first_n, change.first_k
    most = trials - before
    low, high = 0, most
    if not _told(chance, most, level):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _told(chance, middle, level) else (middle, high)
    return (before + high) / trials


def _told(chance: int, more: int, level: float) -> bool:
    total = chance + more
    return total > 0 and mcnemar_power(total, (chance / 2) / total, level) >= POWER
