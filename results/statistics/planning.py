"""How many trials are enough, before they are run. Pure functions, for independent trials.

Where it may end early, plan with `sequential.trials_to_decide` instead. (scipy.stats.power simulates the same, at a
significance of 0.01 unless told otherwise.)
"""

from __future__ import annotations

import math
from collections.abc import Callable

from results.statistics.arguments import check_counts, check_rate, error_probability
from results.statistics.proportions import compare_with_published, likely_counts, likely_range

_MOST = 10**15
_MOST_PAIRS = 200_000
_MOST_EXACT = 20_000
_GROWTH = 8
"""Numbers are raised by an eighth until they are enough."""
_ROUGH = 0.02
"""What the normal approximation may be off by where there are too many outcomes to sum."""


def failure_free_trials(rate: float, confidence: float = 0.95) -> int:
    """Trials without a failure that exclude rates of `rate` and more: 299 for 1e-2, 29,956 for 1e-4.

    The smallest n with (1 - rate)^n <= 1 - confidence, the inverse of `proportions.one_sided_upper(0, n)`. ValueError
    for a rate so small that they are more than 10^15.
    """
    trials = math.log(error_probability(confidence)) / math.log1p(-check_rate(rate))
    if trials > _MOST:
        raise ValueError(f"the rate is {rate!r}: more than {_MOST:.0e} trials would be needed; give a larger one")
    return math.ceil(trials - 1e-9)


def power_of_comparison(p1: float, n1: int, p2: float, n2: int, significance: float = 0.05) -> float:
    """Probability that `proportions.compare_with_published` tells rates p1 and p2 apart with n1 and n2 trials.

    Normal approximation to the chi-square test without correction (Fleiss, Levin and Paik, Statistical Methods for
    Rates and Proportions, 3rd ed. 2003, ch. 4): the difference has variance p(1-p)(1/n1 + 1/n2) under equal rates and
    p1(1-p1)/n1 + p2(1-p2)/n2 in truth. Both ways of being called different count. Simulated power is within 0.03 where
    ten events and more are expected on each side (docs/statistics.md).
    """
    from scipy.special import ndtr, ndtri

    for n in (n1, n2):
        check_counts(0, n)
    p1, p2 = _share(p1), _share(p2)
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    equal = math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    true = math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2)
    limit = -float(ndtri(error_probability(1 - significance) / 2)) * equal
    difference = abs(p1 - p2)
    if true == 0:
        return float(difference > limit)
    return float(ndtr((difference - limit) / true) + ndtr((-difference - limit) / true))


def exact_power(p1: float, n1: int, p2: float, n2: int, significance: float = 0.05) -> float | None:
    """The same probability, exactly: the sum over all pairs of counts that `compare_with_published` calls different.

    Counts whose probability is below 1e-9 together are left out. None where more than 200,000 pairs remain: there the
    normal approximation is good.
    """
    if len(likely_range(_share(p1), n1)) * len(likely_range(_share(p2), n2)) > _MOST_PAIRS:
        return None
    (one, likely_one), (other, likely_other) = (likely_counts(p, n) for p, n in ((p1, n1), (p2, n2)))
    called = [[compare_with_published(int(a), n1, int(b), n2).p < significance for b in other] for a in one]
    return float(likely_one @ called @ likely_other)


def trials_to_tell(p1: float, p2: float, power: float = 0.8, significance: float = 0.05) -> int:
    """Trials in each of two campaigns, so that rates p1 and p2 are told apart with this probability: 3,062 for 0.0076
    against 0.0152 at 80 %. ValueError where the rates are equal.

    By `power_of_comparison`; where that promises too much, since a few events are not normal, more, until `exact_power`
    is reached.
    """
    if p1 == p2:
        raise ValueError(f"both rates are {p1!r}: no number of trials tells equal rates apart")
    check_rate(power, "the power")
    about = _least(lambda n: power_of_comparison(p1, n, p2, n, significance) >= power)
    enough = _reached(about, power, lambda n: exact_power(p1, n, p2, n, significance))
    assert enough is not None  # the power of ever larger samples tends to 1, whatever the rates
    return enough


def trials_against_published(
    rate: float, published_k: int, published_n: int, power: float = 0.8, significance: float = 0.05
) -> int | None:
    """Own trials that tell a true `rate` from a published k/n with this probability; None where no number does.

    The published rate stays as uncertain as its own trials left it, however many are run now. As `trials_to_tell`, with
    k/n for the true rate there.
    """
    check_counts(published_k, published_n)
    check_rate(power, "the power")
    published = published_k / published_n
    if rate == published:
        raise ValueError(f"the rate {rate!r} is the published one: no number of trials tells equal rates apart")

    def enough(n: int) -> bool:
        return power_of_comparison(rate, n, published, published_n, significance) >= power

    if not enough(_MOST):
        return None
    return _reached(_least(enough), power, lambda n: exact_power(rate, n, published, published_n, significance))


def mcnemar_power(disagreements: int, share: float, significance: float = 0.05) -> float:
    """Probability that `paired.compare_trials` calls a difference after so many disagreements, exact.

    `share`: probability that a disagreement is a failure of the first backend; 0.5 where neither is worse.
    """
    from scipy.special import bdtr, bdtrc

    check_counts(0, disagreements)
    share = _share(share)
    level = error_probability(1 - significance)
    below, high = -1, (disagreements + 1) // 2  # the largest count of either side that is called a difference
    while high - below > 1:
        middle = (below + high) // 2
        below, high = (middle, high) if 2 * bdtr(middle, disagreements, 0.5) < level else (below, middle)
    if below < 0:
        return 0.0
    return float(bdtr(below, disagreements, share) + bdtrc(disagreements - below - 1, disagreements, share))


def disagreements_to_tell(share: float, power: float = 0.8, significance: float = 0.05) -> int:
    """Disagreements from which on `paired.compare_trials` finds a share other than 0.5 with this probability.

    The power of an exact test falls by a little whenever its limit moves; this is the number after which it no longer
    falls below `power`; above 20,000, where it falls by less than 0.01, that of its normal approximation. Divide by the
    share of trials on which the backends disagree for the number of trials. ValueError for a share of 0.5.
    """
    if share == 0.5:
        raise ValueError("a share of 0.5 means that neither backend is worse: no number of trials tells them apart")
    check_rate(power, "the power")
    # The normal approximation is within a fifth; the power rises over any interval of that length.
    about = _least(lambda n: _mcnemar_normal(n, share, significance) >= power)
    if about > _MOST_EXACT:
        return about
    most = math.ceil(about * 1.5) + 60
    return max(n for n in range(1, most) if mcnemar_power(n, share, significance) < power) + 1


def _mcnemar_normal(n: int, share: float, significance: float) -> float:
    from scipy.special import ndtr, ndtri

    share = _share(share)
    limit = -float(ndtri(error_probability(1 - significance) / 2)) * 0.5
    spread = math.sqrt(share * (1 - share)) or 1e-12
    return float(ndtr((abs(share - 0.5) * math.sqrt(n) - limit) / spread))


def _share(rate: float) -> float:
    if not 0 <= rate <= 1:
        raise ValueError(f"the rate is {rate!r}: give a number from 0 to 1")
    return rate


def _reached(about: int, power: float, exact: Callable[[int], float | None]) -> int | None:
    """`about`, or a number above it at which the exact power is reached, with the one before it short of it.

    Where the outcomes of a number are too many to sum up, events are enough for the approximation behind `about`. None
    where the power stays clearly below as far as it can be summed: more trials of one side do not help.
    """
    low, found = about, exact(about)
    if found is None or found >= power:
        return about
    high = low
    while found < power:
        low, high, last = high, high + high // _GROWTH + 1, found
        found = exact(high)
        if found is None:
            return high if last >= power - _ROUGH else None
    while high - low > 1:
        middle = (low + high) // 2
        found = exact(middle)
        low, high = (low, middle) if found is not None and found >= power else (middle, high)
    return high


def _least(enough: Callable[[int], bool]) -> int:
    """The smallest number with this property, which every larger one has, too."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            raise ValueError(f"more than {_MOST:.0e} trials: the rates are too close to tell apart")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
