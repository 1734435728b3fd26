"""Which of two formulations is closer to the truth, when both ran the same trials.

The elements of a trial share inputs and intermediate results, so they are not observations: one value a trial enters,
the root mean square of its errors. Which of the two is smaller is a coin toss where neither formulation is closer,
whatever the errors' distribution and however it changes from trial to trial; that is the sign test. By how much is told
by the ratio of the two, in the median of the trials, with the interval that belongs to the sign test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.statistics.arguments import error_probability
from results.statistics.paired import sign_test
from results.statistics.proportions import SIGNIFICANCE

if TYPE_CHECKING:
    from results.statistics.samples import Floats, Values


class Closer(Struct, frozen=True):
    """Two formulations by their rms errors on the same independent trials."""

    trials: int
    first_closer: int
    second_closer: int
    equal: int
    """Trials with equal rms errors: they say nothing and are left out of the test."""
    ratio: float
    """Median over trials of the first's rms error divided by the second's; 1 where both are 0, infinite where only the
    second is."""
    low: float | None
    """Ends of the interval of that median; None with too few trials for any."""
    high: float | None
    confidence: float
    p: float
    test: str = "exact sign test over trials"

    @property
    def differs(self) -> bool:
        """Whether one is closer more often than the other, at the 5 % level."""
        return self.p < SIGNIFICANCE


def closer_to_truth(first: Values, second: Values, confidence: float = 0.95) -> Closer:
    """Compare the rms errors of two formulations, one value a trial each, paired by position.

    Null hypothesis: on every trial either is as likely to be the closer one. p is two-sided,
    scipy.stats.binomtest(first_closer, first_closer + second_closer, 0.5) (Dixon and Mood, J. Am. Stat. Assoc. 41
    (1946) 557-566). The interval of the median ratio lies between two order statistics (Conover, Practical
    Nonparametric Statistics, 1999, section 3.2) and excludes 1 where the test without ties rejects at its level.
    Assumes trials that are independent of each other.

    ValueError for lists of different lengths, and values that are negative or not finite.
    """
    import numpy as np

    from results.statistics.samples import sample

    one, other = sample(first, "rms errors of the first"), sample(second, "rms errors of the second")
    if len(one) != len(other):
        raise ValueError(f"{len(one)} rms errors of the first, {len(other)} of the second: pair them by trial")
    if (one < 0).any() or (other < 0).any():
        raise ValueError("an rms error is negative: needs root mean squares, not signed errors")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return closer_by_ratio(np.where(one == other, 1.0, one / other), confidence)


def closer_by_ratio(ratios: Values, confidence: float = 0.95) -> Closer:
    """The same of the rms errors of the first divided by those of the second, 1 where they are equal; infinity is
    allowed. A quotient of two different numbers is never rounded to 1.

    ValueError for a ratio that is negative or NaN.
    """
    import numpy as np

    found = np.sort(np.asarray(ratios, np.float64))
    if not len(found) or np.isnan(found[-1]) or found[0] < 0:
        raise ValueError("ratios of rms errors are needed, none negative or NaN")
    n = len(found)
    wins = int(np.searchsorted(found, 1.0, "left"))
    losses = n - int(np.searchsorted(found, 1.0, "right"))
    low, high = _interval(found, confidence)
    return Closer(
        trials=n,
        first_closer=wins,
        second_closer=losses,
        equal=n - wins - losses,
        ratio=_median(found),
        low=low,
        high=high,
        confidence=confidence,
        p=sign_test(wins, losses),
    )


def _median(ratios: Floats) -> float:
    """Of two middle values the geometric mean, as a ratio and its inverse are to agree."""
    n = len(ratios)
    low, high = float(ratios[(n - 1) // 2]), float(ratios[n // 2])
    return low if low == high else float(low**0.5 * high**0.5)


def _interval(ratios: Floats, confidence: float) -> tuple[float | None, float | None]:
    """The k-th smallest and largest, with the largest k for which fewer than k of n tosses have half the error
    probability at most."""
    from scipy.special import bdtr

    n, tail = len(ratios), error_probability(confidence) / 2
    few, many = 0, (n + 1) // 2 + 1  # k is at least `few` and less than `many`: the probability grows with k
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if bdtr(middle - 1, n, 0.5) <= tail else (few, middle)
    k = few
    return (float(ratios[k - 1]), float(ratios[n - k])) if k else (None, None)
