"""How often: intervals for a rate and the comparison of two rates. Pure functions, valid for independent trials.

Whether the trials of a campaign are independent draws of what one asks about is decided in results/permitted.py.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from results.statistics.arguments import check_counts, error_probability

if TYPE_CHECKING:
    from results.statistics.samples import Floats

SMALLEST_EXPECTED = 5.0
"""Smallest expected count at which the chi-square distribution is trusted (Cochran 1954)."""

MOST_OUTCOMES = 20_000_000
"""Pairs of counts that are summed over at most, in half a gigabyte."""

SIGNIFICANCE = 0.05
"""p below this is called a difference."""


class Interval(Struct, frozen=True):
    """A rate k/n with its exact confidence interval."""

    k: int
    n: int
    rate: float
    low: float
    high: float
    confidence: float


class Ratio(Struct, frozen=True):
    """The ratio of two rates with its confidence interval."""

    value: float | None
    """None where the second rate is 0."""
    low: float | None
    """None where either rate is 0."""
    high: float | None
    confidence: float


class Comparison(Struct, frozen=True):
    """Two observed rates compared: the test by name, its p-value, and the ratio of the rates with its interval."""

    k1: int
    n1: int
    k2: int
    n2: int
    test: str
    p: float
    ratio: float | None
    """(k1/n1)/(k2/n2), the relative risk; None where k2 is 0."""
    ratio_low: float | None
    """Lower end of its 95 % interval; None where k1 or k2 is 0."""
    ratio_high: float | None

    @property
    def differs(self) -> bool:
        """Whether the rates differ at the 5 % level."""
        return self.p < SIGNIFICANCE

    @property
    def sentence(self) -> str:
        """The comparison in one sentence."""
        how = f"{self.test}, p = {_p_text(self.p)}"
        if not self.differs:
            return f"the same rate as far as {min(self.n1, self.n2)} trials can tell ({how})"
        if self.ratio is None or self.ratio_low is None:
            return f"not the same rate ({how})"
        interval = f"95 % interval {self.ratio_low:.2g} to {self.ratio_high:.2g}"
        return f"not the same rate: {self.ratio:.2g} times as often, {interval} ({how})"


@lru_cache(maxsize=4096)
def rate_interval(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Exact two-sided interval for the rate behind k events in n independent trials.

    Clopper and Pearson, Biometrika 26 (1934) 404-413: it covers the true rate with at least `confidence`, whatever
    the rate is. Equal to scipy.stats.binomtest(k, n).proportion_ci(confidence, "exact"). For k = 0 see also
    `one_sided_upper`. ValueError unless 0 <= k <= n and n > 0.
    """
    from scipy.special import betaincinv

    check_counts(k, n)
    tail = error_probability(confidence) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return Interval(k, n, k / n, low, high, confidence)


def one_sided_upper(k: int, n: int, confidence: float = 0.95) -> float:
    """The rate that k events in n independent trials exclude from above: exact one-sided bound (Clopper-Pearson).

    With no event it is 1 - (1 - confidence)**(1/n), about 3/n ("rule of three"): 0 of 5000 excludes 5.99e-4.
    """
    from scipy.special import betaincinv

    check_counts(k, n)
    return 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - error_probability(confidence)))


def one_sided_lower(k: int, n: int, confidence: float = 0.95) -> float:
    """The rate that k events in n independent trials exclude from below: exact one-sided bound (Clopper-Pearson)."""
    from scipy.special import betaincinv

    check_counts(k, n)
    return 0.0 if k == 0 else float(betaincinv(k, n - k + 1, error_probability(confidence)))


def risk_ratio(k1: int, n1: int, k2: int, n2: int, confidence: float = 0.95) -> Ratio:
    """How many times as often the event is in one campaign as in another: (k1/n1)/(k2/n2).

    The interval is that of Katz, Baptista, Azen and Pike, Biometrics 34 (1978) 469-474, normal on the log scale; it
    assumes independent trials and two independent samples, and exists where both have the event. Equal to
    scipy.stats.contingency.relative_risk(k1, n1, k2, n2).confidence_interval(confidence).
    """
    from scipy.special import ndtri

    check_counts(k1, n1)
    check_counts(k2, n2)
    quantile = float(ndtri(1 - error_probability(confidence) / 2))
    if not k2:
        return Ratio(None, None, None, confidence)
    ratio = (k1 / n1) / (k2 / n2)
    if not k1:
        return Ratio(ratio, None, None, confidence)
    spread = math.exp(quantile * math.sqrt(1 / k1 - 1 / n1 + 1 / k2 - 1 / n2))
    return Ratio(ratio, ratio / spread, ratio * spread, confidence)


def compare_with_published(k1: int, n1: int, k2: int, n2: int) -> Comparison:
    """Compare k1 events in n1 own trials with a published k2 in n2, which is a sample too.

    Testing the own count against the fixed rate k2/n2 would forget that: its size is 0.155 at 5000 against 5000
    (0.05 nominal). Used instead: the chi-square test without continuity correction where every expected count is at
    least 5, otherwise the same statistic with its distribution summed over all counts at the common rate that was seen
    (Storer and Kim, J. Am. Stat. Assoc. 85 (1990) 146-155). For the ratio of the rates see `risk_ratio`. ValueError
    for impossible counts, and for a handful of trials against 10^10 and more, whose counts are too many to sum over.
    """
    check_counts(k1, n1)
    check_counts(k2, n2)
    events = k1 + k2
    smallest = min(n1, n2) * min(events, n1 + n2 - events) / (n1 + n2)
    if smallest >= SMALLEST_EXPECTED:
        test, p = "chi-square without correction", _chi_square(k1, n1, k2, n2)
    else:
        test, p = "score test summed over all counts", _summed(k1, n1, k2, n2)
    ratio = risk_ratio(k1, n1, k2, n2)
    return Comparison(k1, n1, k2, n2, test, p, ratio.value, ratio.low, ratio.high)


def _chi_square(k1: int, n1: int, k2: int, n2: int) -> float:
    """p-value of scipy.stats.chi2_contingency([[k1, n1-k1], [k2, n2-k2]], correction=False), in closed form.

    scipy.stats takes 0.7 s to import; a test holds the two equal.
    """
    from scipy.special import chdtrc

    events, trials = k1 + k2, n1 + n2
    skew = k1 * (n2 - k2) - k2 * (n1 - k1)
    statistic = trials * skew * skew / (n1 * n2 * events * (trials - events))
    return float(chdtrc(1, statistic))


@lru_cache(maxsize=4096)
def _summed(k1: int, n1: int, k2: int, n2: int) -> float:
    """Probability of all pairs of counts whose chi-square statistic is as large, both rates being (k1+k2)/(n1+n2)."""
    import numpy as np

    events = k1 + k2
    if events in (0, n1 + n2):
        return 1.0
    rate = events / (n1 + n2)
    if math.prod(len(likely_range(rate, n)) for n in (n1, n2)) > MOST_OUTCOMES:
        raise ValueError(
            f"{k1} of {n1} against {k2} of {n2}: the outcomes of {max(n1, n2)} trials are too many to sum over; give "
            "the larger count as one of 1e9 trials at most"
        )
    (x1, p1), (x2, p2) = (likely_counts(rate, n) for n in (n1, n2))
    total = x1[:, None] + x2
    skew = x1[:, None] * (n2 - x2) - (n1 - x1[:, None]) * x2
    statistic = skew**2 / np.maximum(total * (n1 + n2 - total), 1)
    seen = (k1 * (n2 - k2) - (n1 - k1) * k2) ** 2 / (events * (n1 + n2 - events))
    as_far = statistic >= seen * (1 - 1e-12)
    return min(1.0, float(p1 @ as_far @ p2))


def likely_range(rate: float, n: int) -> range:
    """The counts of `likely_counts`: 7 standard deviations and 25 on either side; Bernstein's inequality leaves 2e-11
    beyond."""
    check_counts(0, n)
    reach = 7 * math.sqrt(n * rate * (1 - rate)) + 25
    return range(max(0, math.floor(n * rate - reach)), min(n, math.ceil(n * rate + reach)) + 1)


def likely_counts(rate: float, n: int) -> tuple[Floats, Floats]:
    """Counts of n independent trials and their probabilities, without tails that have less than 1e-9 together."""
    import numpy as np
    from scipy.special import betaln, xlog1py, xlogy

    counts = likely_range(rate, n)
    k = np.arange(counts.start, counts.stop, dtype=np.float64)
    log = xlogy(k, rate) + xlog1py(n - k, -rate) - betaln(k + 1, n - k + 1) - math.log(n + 1)
    return k, np.exp(log)


def _p_text(p: float) -> str:
    return f"{p:.2f}" if p >= 0.01 else f"{p:.1g}"
