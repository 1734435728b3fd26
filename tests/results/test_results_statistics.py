"""Intervals and comparisons: known values, SciPy's own answers, simulated coverage and size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from results.statistics.proportions import (
    Ratio,
    compare_with_published,
    one_sided_upper,
    rate_interval,
    risk_ratio,
)


def test_known_interval() -> None:
    interval = rate_interval(38, 5000)
    assert interval.rate == 0.0076
    assert interval.low == pytest.approx(0.00538, abs=5e-6)
    assert interval.high == pytest.approx(0.01042, abs=5e-6)


def test_zero_failures() -> None:
    assert one_sided_upper(0, 5000) == pytest.approx(1 - 0.05 ** (1 / 5000))
    assert one_sided_upper(0, 5000) == pytest.approx(5.99e-4, abs=5e-7)
    assert rate_interval(0, 5000).low == 0
    assert rate_interval(0, 5000).high == pytest.approx(7.38e-4, abs=5e-7)


@pytest.mark.parametrize("k", [0, 1, 7, 299, 300])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_interval_is_scipys_exact_one(k: int, confidence: float) -> None:
    ours = rate_interval(k, 300, confidence)
    theirs = stats.binomtest(k, 300).proportion_ci(confidence, "exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    upper = stats.binomtest(k, 300, alternative="less").proportion_ci(confidence, "exact").high
    assert one_sided_upper(k, 300, confidence) == pytest.approx(upper, abs=1e-12)


def test_coverage_of_the_exact_interval() -> None:
    p, n = 0.01, 300
    counts = np.random.default_rng(1).binomial(n, p, size=2000)
    intervals = [rate_interval(int(k), n) for k in counts]
    assert np.mean([i.low <= p <= i.high for i in intervals]) >= 0.945
    assert np.mean([p <= one_sided_upper(int(k), n) for k in counts]) >= 0.945


def test_size_of_the_comparison_with_a_published_rate() -> None:
    n, p = 5000, 0.0076
    counts = np.random.default_rng(2).binomial(n, p, size=(4000, 2))
    rejected = np.mean([compare_with_published(int(a), n, int(b), n).differs for a, b in counts])
    assert 0.04 <= rejected <= 0.06


def test_power_of_the_comparison_for_a_doubled_rate() -> None:
    n, p = 5000, 0.0076
    rng = np.random.default_rng(3)
    pairs = zip(rng.binomial(n, 2 * p, 500), rng.binomial(n, p, 500), strict=True)
    assert np.mean([compare_with_published(int(a), n, int(b), n).differs for a, b in pairs]) > 0.9


@pytest.mark.parametrize("counts", [(32, 5000, 38, 5000), (90, 15000, 38, 5000), (400, 900, 10, 40)])
def test_chi_square_without_correction_is_scipys(counts: tuple[int, int, int, int]) -> None:
    k1, n1, k2, n2 = counts
    found = compare_with_published(*counts)
    table = [[k1, n1 - k1], [k2, n2 - k2]]
    assert found.test == "chi-square without correction"
    assert found.p == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, rel=1e-9)
    risk = stats.contingency.relative_risk(k1, n1, k2, n2)
    interval = risk.confidence_interval(0.95)
    assert (found.ratio, found.ratio_low, found.ratio_high) == pytest.approx(
        (risk.relative_risk, interval.low, interval.high), rel=1e-9
    )


def summed(k1: int, n1: int, k2: int, n2: int) -> float:
    """The p-value by brute force: every pair of counts, chi-square by SciPy."""

    def statistic(a: int, b: int) -> float:
        if a + b in (0, n1 + n2):
            return 0.0
        table = [[a, n1 - a], [b, n2 - b]]
        return float(stats.chi2_contingency(table, correction=False).statistic)

    rate, seen = (k1 + k2) / (n1 + n2), statistic(k1, k2)
    return sum(
        stats.binom.pmf(a, n1, rate) * stats.binom.pmf(b, n2, rate)
        for a in range(n1 + 1)
        for b in range(n2 + 1)
        if statistic(a, b) >= seen - 1e-9
    )


@pytest.mark.parametrize("counts", [(3, 8, 0, 30), (1, 20, 2, 15), (0, 9, 9, 30), (17, 20, 20, 20)])
def test_small_counts_are_summed(counts: tuple[int, int, int, int]) -> None:
    found = compare_with_published(*counts)
    assert found.test == "score test summed over all counts"
    assert found.p == pytest.approx(summed(*counts), abs=1e-8)


def test_a_rare_event_in_the_smaller_sample_is_seen() -> None:
    """3 of 300 against 0 of 5,000: all three fall among the 300 with probability 1.8e-4 (Fisher). A statistic with the
    variance of each side by itself, as in the E-test for two Poisson means, gives p = 0.45."""
    assert compare_with_published(3, 300, 0, 5000).p < 1e-3
    assert compare_with_published(0, 5000, 3, 300).p < 1e-3


def test_samples_without_an_event() -> None:
    assert compare_with_published(0, 10, 0, 10).p == 1
    assert compare_with_published(0, 10, 0, 10).ratio is None
    none = compare_with_published(0, 500, 38, 5000)
    assert (none.ratio, none.ratio_low) == (0, None)


def test_failures_count_as_successes_do() -> None:
    """95 of 100 against 100 of 100 is 5 failures against none."""
    assert compare_with_published(95, 100, 100, 100).p == pytest.approx(compare_with_published(5, 100, 0, 100).p)


@pytest.mark.parametrize(("counts", "confidence"), [((20, 5000, 38, 5000), 0.95), ((9, 10, 3, 40), 0.8)])
def test_the_ratio_of_rates_is_scipys(counts: tuple[int, int, int, int], confidence: float) -> None:
    found = risk_ratio(*counts, confidence)
    risk = stats.contingency.relative_risk(*counts)
    interval = risk.confidence_interval(confidence)
    assert (found.value, found.low, found.high) == pytest.approx((risk.relative_risk, interval.low, interval.high))
    assert found.confidence == confidence


def test_outcomes_too_many_to_sum_over_are_refused() -> None:
    with pytest.raises(ValueError, match="are too many to sum over"):
        compare_with_published(1, 3, 10**14, 10**15)
    few, many = (compare_with_published(1, 3, 10**digits, 10 ** (digits + 1)).p for digits in (5, 6))
    assert few == pytest.approx(many, rel=1e-3)


def test_ratios_without_an_event() -> None:
    assert risk_ratio(0, 10, 5, 10) == Ratio(0, None, None, 0.95)
    assert risk_ratio(5, 10, 0, 10) == Ratio(None, None, None, 0.95)
    with pytest.raises(ValueError, match="0 <= events <= trials"):
        risk_ratio(5, 10, 1, 0)
    with pytest.raises(ValueError, match="give a number between 0 and 1"):
        risk_ratio(5, 10, 0, 10, 95)


def test_the_sentence_names_the_test() -> None:
    same = compare_with_published(90, 15000, 38, 5000)
    assert same.sentence == "the same rate as far as 5000 trials can tell (chi-square without correction, p = 0.22)"
    other = compare_with_published(100, 5000, 38, 5000)
    assert other.sentence.startswith("not the same rate: 2.6 times as often, 95 % interval 1.8 to 3.8 (chi-square")
    assert "not the same rate" in compare_with_published(0, 5000, 38, 5000).sentence


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    for ask in (rate_interval, one_sided_upper):
        with pytest.raises(ValueError, match="0 <= events <= trials"):
            ask(k, n)
    for part in ((1.5, 5), (1, 5.5), (1, math.inf), (math.nan, 5)):
        with pytest.raises(ValueError, match="needs whole numbers"):
            rate_interval(*part)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give a number between 0 and 1"):
        rate_interval(1, 5, 95)
