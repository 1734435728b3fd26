"""The value that a trial exceeds with probability `flake` at most, from one value of each trial. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from results.statistics.pareto import LEAST_EXCESSES
from results.statistics.planning import failure_free_trials
from results.statistics.proportions import one_sided_upper
from results.statistics.samples import Floats
from results.statistics.tail import SHARE, Tail, return_level

Basis: TypeAlias = Literal["counted", "extrapolated", "seen", "every input"]

CONFIDENCE = 0.95
"""Of the upper bound of P(fail), one-sided."""
LARGEST_SHAPE = 0.5
"""From this shape of the fitted tail on the variance is infinite: a level beyond the trials says how the inputs are
scaled, as with relative errors, and not how the implementation rounds."""

LEAST_TRIALS = math.ceil(LEAST_EXCESSES / SHARE)
"""That an extrapolation needs."""

Upper: TypeAlias = Callable[[int, int], float]
"""The rate that k events in n trials exclude from above."""


class Level(Struct, frozen=True):
    """A value and how often it is kept."""

    value: float
    basis: Basis
    """counted: as many trials exceed it as the flake rate allows, with the bound. extrapolated: the upper end of the
    return level (see `level`). seen: the largest value, which too few trials confirm. every input: the maximum."""
    k: int
    """Trials that exceed it."""
    n: int
    fails: float
    """Estimate of the probability that a trial exceeds it."""
    at_most: float
    """Its one-sided upper bound (95 %; for "every input" a certainty)."""
    why: str = ""
    """Where "seen": why there is no better one."""
    tail: Tail | None = None
    """The fit behind an extrapolation."""

    @property
    def kept(self) -> bool:
        """Whether the promise of the flake rate is kept."""
        return self.basis != "seen"

    def at(self, value: float) -> Level:
        """The same for a larger value, as rounding up gives it. (Those above it are not counted anew.)"""
        if self.tail is None:
            return Level(value, self.basis, self.k, self.n, self.fails, self.at_most, self.why)
        fails = self.tail.exceedance(value)
        return Level(value, self.basis, self.k, self.n, fails, self.at_most, self.why, self.tail)


def level(values: Floats, flake: float, upper: Upper = one_sided_upper, no_tail: str = "") -> Level:
    """The smallest value of which it is known (95 %) that a trial exceeds it with probability `flake` or less.

    Of independent trials the order statistic with j larger ones exceeds the quantile if the exact upper bound of j in n
    is at most `flake` (Wilks, Ann. Math. Stat. 12 (1941) 91-96). Where n is too small for any, the return level is
    extrapolated, unless `no_tail` says why the trials allow none; else the largest value with the bound that all trials
    kept it. Infinite values are trials that no value keeps.

    Extrapolated is the larger of two: the upper end of the 95 % interval of `statistics.tail`, and the upper bound that
    an exponential tail has (a chi-square one of the mean excess). For a fitted shape below 0 means an end of the range
    that lies close to the largest value seen; normal tails are fitted so at any depth and go on, and the interval alone
    falls short of them. benchmarks/tolerances.py prints how often the larger of the two holds the flake rate.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    n = len(ordered)
    if n == 0 or np.isnan(ordered[-1]):
        raise ValueError(f"{n} values, {int(np.isnan(ordered).sum())} of them NaN: give one number of each trial")
    allowed = _allowed(n, flake, upper)
    if allowed is not None:
        value = float(ordered[n - 1 - allowed])
        k = int((ordered > value).sum())
        return Level(value, "counted", k, n, k / n, upper(k, n))
    maximum = float(ordered[-1])
    tail, why = (None, no_tail) if no_tail else _tail(ordered, flake)
    if tail is not None and tail.high is not None:
        value = max(tail.high, _exponential(ordered, tail, flake), maximum)
        return Level(value, "extrapolated", 0, n, tail.exceedance(value), flake, tail=tail)
    return Level(maximum, "seen", 0, n, 0.0, upper(0, n), why)


def trials_needed(flake: float) -> int:
    """Trials, none of them beyond, from which on no extrapolation is needed."""
    return failure_free_trials(flake, CONFIDENCE)


def _allowed(n: int, flake: float, upper: Upper) -> int | None:
    """The largest number of trials beyond the value; None where even none leaves too much."""
    if upper(0, n) > flake:
        return None
    low, high = 0, math.ceil(n * flake) + 1  # at n * flake events the rate itself is the flake rate
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle < n and upper(middle, n) <= flake else (low, middle)
    return low


def _tail(ordered: Floats, flake: float) -> tuple[Tail | None, str]:
    """The fitted tail, or why there is none to extrapolate."""
    if not np.isfinite(ordered[-1]):
        lost = int(np.isinf(ordered).sum())
        return None, f"{lost} of {len(ordered):,} trials have no finite result where the truth has one"
    if flake >= SHARE:
        return None, f"a flake rate of {flake:g} needs {trials_needed(flake):,} trials, not an extrapolation"
    unit = float(ordered[-1]) or 1.0
    try:
        scaled = return_level(ordered / unit, flake, quantity="absolute error")
    except ValueError as error:
        return None, _told(str(error), len(ordered))
    if scaled.level is None:
        return None, f"the tail ends too abruptly to extrapolate (shape {scaled.shape:.2f})"
    if scaled.shape >= LARGEST_SHAPE:
        return None, f"the tail is too heavy to extrapolate (shape {scaled.shape:.2f}): inputs of very unlike sizes"
    return _in_units(scaled, unit), ""


def _exponential(ordered: Floats, tail: Tail, flake: float) -> float:
    """Upper bound of the level that an exponential tail over the same threshold exceeds with probability `flake`."""
    from scipy.special import chdtri

    excesses = ordered[ordered > tail.threshold] - tail.threshold
    mean = 2 * float(excesses.sum()) / float(chdtri(2 * len(excesses), CONFIDENCE))
    return tail.threshold + mean * math.log(len(excesses) / (len(ordered) * flake))


def _told(message: str, trials: int) -> str:
    if "ties are no tail" in message:
        return "too few trials need any tolerance here to fit a tail"
    if "needs at least" in message:
        number = "1 trial is" if trials == 1 else f"{trials:,} trials are"
        return f"{number} too few to extrapolate, which takes {LEAST_TRIALS:,}"
    return message


def _in_units(tail: Tail, unit: float) -> Tail:
    """The fit of values that were divided by `unit`: errors of float64 would be too small to fit."""
    from msgspec.structs import replace

    parts = {name: getattr(tail, name) * unit for name in ("level", "low", "high", "threshold", "maximum", "scale")}
    return replace(tail, **parts)
