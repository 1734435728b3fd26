"""How many trials are enough."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy import stats

from results.statistics.paired import compare_trials
from results.statistics.planning import (
    disagreements_to_tell,
    exact_power,
    failure_free_trials,
    mcnemar_power,
    power_of_comparison,
    trials_against_published,
    trials_to_tell,
)
from results.statistics.proportions import compare_with_published, one_sided_upper


@pytest.mark.parametrize(("rate", "trials"), [(1e-2, 299), (1e-3, 2_995), (1e-4, 29_956), (0.5, 5), (0.05, 59)])
def test_trials_without_a_failure(rate: float, trials: int) -> None:
    assert failure_free_trials(rate) == trials
    assert one_sided_upper(0, trials) <= rate < one_sided_upper(0, trials - 1)


def test_other_confidence() -> None:
    assert failure_free_trials(0.01, 0.99) == 459
    assert failure_free_trials(0.5, 0.75) == 2


def test_trials_a_side_by_the_formula_of_fleiss() -> None:
    """n = (z_a sqrt(2 p q) + z_b sqrt(p1 q1 + p2 q2))^2 / (p1 - p2)^2, p the mean rate."""
    for one, other in ((0.0076, 0.0152), (0.0076, 0.0038), (0.001, 0.002)):
        p = (one + other) / 2
        z_a, z_b = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
        root = z_a * math.sqrt(2 * p * (1 - p)) + z_b * math.sqrt(one * (1 - one) + other * (1 - other))
        assert trials_to_tell(one, other) == math.ceil(root**2 / (one - other) ** 2)
        assert trials_to_tell(other, one) == trials_to_tell(one, other)
    assert trials_to_tell(0.0076, 0.0152) == 3062
    assert trials_to_tell(0.0076, 0.0152, power=0.9) > 4000
    assert trials_to_tell(0.3, 0.5) == 94  # 93 by the formula, which have a power of 0.799


def test_power_against_every_outcome() -> None:
    """The exact power: all pairs of counts of 60 trials, weighted with their probability."""
    exact = sum(
        stats.binom.pmf(a, 60, 0.3) * stats.binom.pmf(b, 60, 0.55)
        for a, b in itertools.product(range(5, 35), range(18, 50))
        if compare_with_published(a, 60, b, 60).differs
    )
    assert power_of_comparison(0.3, 60, 0.55, 60) == pytest.approx(exact, abs=0.03)
    assert power_of_comparison(0.0152, 5000, 0.0076, 5000) == pytest.approx(0.955, abs=0.01)
    assert power_of_comparison(0.1, 500, 0.1, 900) == pytest.approx(0.05)
    assert power_of_comparison(0.0, 10, 1.0, 10) == 1


def test_a_published_rate_stays_uncertain() -> None:
    n = trials_against_published(0.0152, 38, 5000)
    assert n is not None
    assert power_of_comparison(0.0152, n, 0.0076, 5000) >= 0.8 > power_of_comparison(0.0152, n - 1, 0.0076, 5000)
    assert n < trials_to_tell(0.0152, 0.0076)
    assert trials_against_published(0.009, 38, 5000) is None
    with pytest.raises(ValueError, match="is the published one"):
        trials_against_published(0.0076, 38, 5000)


def test_power_of_mcnemar_against_every_outcome() -> None:
    for n, share in ((5, 0.9), (6, 0.99), (20, 0.75), (50, 0.75), (50, 0.3)):
        exact = sum(stats.binom.pmf(k, n, share) for k in range(n + 1) if compare_trials(k, n - k, n).differs)
        assert mcnemar_power(n, share) == pytest.approx(exact, abs=1e-12)
    assert mcnemar_power(20, 0.75) == pytest.approx(0.62, abs=0.005)
    assert mcnemar_power(50, 0.75) == pytest.approx(0.94, abs=0.006)


@pytest.mark.parametrize("share", [0.6, 0.75, 0.9, 0.2, 1.0])
def test_disagreements_from_which_on_the_power_holds(share: float) -> None:
    n = disagreements_to_tell(share)
    assert all(mcnemar_power(m, share) >= 0.8 for m in range(n, 3 * n))
    assert mcnemar_power(n - 1, share) < 0.8


def test_a_share_next_to_a_half_takes_the_normal_approximation() -> None:
    n = disagreements_to_tell(0.501)
    assert n == pytest.approx(1.962e6, rel=0.01)
    assert mcnemar_power(n, 0.501) == pytest.approx(0.8, abs=0.005)


def test_bad_arguments() -> None:
    for ask in (lambda: failure_free_trials(0), lambda: failure_free_trials(1), lambda: failure_free_trials(math.nan)):
        with pytest.raises(ValueError, match="give a number between 0 and 1"):
            ask()
    with pytest.raises(ValueError, match=r"both rates are 0\.1"):
        trials_to_tell(0.1, 0.1)
    with pytest.raises(ValueError, match=r"the rate is 1\.1"):
        trials_to_tell(0.1, 1.1)
    with pytest.raises(ValueError, match="the power is 80"):
        trials_to_tell(0.1, 0.2, power=80)
    with pytest.raises(ValueError, match="confidence is"):
        trials_to_tell(0.1, 0.2, significance=5)
    with pytest.raises(ValueError, match="neither backend is worse"):
        disagreements_to_tell(0.5)
    with pytest.raises(ValueError, match="too close to tell apart"):
        trials_to_tell(0.5, 0.5 + 1e-9)


@pytest.mark.parametrize(("one", "other"), [(0.1, 0.9), (0.0, 1.0), (0.2, 0.8), (0.001, 0.05)])
def test_few_events_have_the_power_they_are_promised(one: float, other: float) -> None:
    """Where the normal approximation promises too much the number is raised: 5 trials of 0.1 and 0.9 have 0.74."""
    n = trials_to_tell(one, other)
    power = exact_power(one, n, other, n)
    assert power is not None
    assert power >= 0.8
    assert n < 400


def test_a_published_count_without_an_event_needs_more_than_one_trial() -> None:
    """With a single trial the test calls a difference where that trial fails: with probability 0.1, not 0.8."""
    n = trials_against_published(0.1, 0, 100)
    assert n is not None
    called = [k for k in range(n + 1) if compare_with_published(k, n, 0, 100).differs]
    assert sum(stats.binom.pmf(k, n, 0.1) for k in called) >= 0.8
    fewer = [k for k in range(n) if compare_with_published(k, n - 1, 0, 100).differs]
    assert sum(stats.binom.pmf(k, n - 1, 0.1) for k in fewer) < 0.8
    assert trials_against_published(0.1, 0, 30) is None  # 0.9^30: even certainty about 0.1 does not refute it


def test_a_rate_below_all_reason() -> None:
    with pytest.raises(ValueError, match="more than 1e\\+15 trials would be needed"):
        failure_free_trials(1e-300)
