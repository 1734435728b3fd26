"""How many trials: the figures of results.statistics.planning, checked exactly, and what they assume."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from scipy import stats

from results.comparison.plans import Planned, to_exclude, to_tell
from results.comparison.report_plans import print_planned
from results.statistics.planning import exact_power, trials_against_published, trials_to_tell
from results.statistics.proportions import compare_with_published


def said(found: Planned) -> str:
    file = io.StringIO()
    print_planned(found, Console(file=file, width=200))
    return file.getvalue()


def test_the_number_is_that_of_the_statistics() -> None:
    found = to_tell(0.0076, 0.0152, 0.8)
    assert found.trials == trials_to_tell(0.0076, 0.0152, 0.8) == 3062
    assert found.approximate_power == pytest.approx(0.8, abs=1e-3)
    assert found.exact_power == pytest.approx(0.81, abs=0.01)
    assert "3,062 trials in each of two campaigns tell a rate of 0.76 % from 1.5 %" in said(Planned(found))


def test_more_tests_need_more_trials() -> None:
    found = to_tell(0.0076, 0.0152, 0.8, tests=6)
    assert found.significance == pytest.approx(0.05 / 6)
    assert found.trials == trials_to_tell(0.0076, 0.0152, 0.8, 0.05 / 6)
    assert "shared by 6 tests" in said(Planned(found))


def test_against_a_published_count_only_own_trials_are_planned() -> None:
    found = to_tell(0.0152, 38 / 5000, 0.8, published=(38, 5000))
    assert found.trials == trials_against_published(0.0152, 38, 5000, 0.8)
    assert "own trials tell a rate of 1.5 % from the published 38 of 5,000" in said(Planned(found))
    never = to_tell(0.008, 38 / 5000, 0.8, published=(38, 5000))
    assert (never.trials, never.exact_power) == (None, None)
    assert "Run both sides" in said(Planned(never))


def test_the_exact_power_is_the_sum_over_all_outcomes() -> None:
    n1, p1, n2, p2 = 30, 0.1, 40, 0.4
    by_hand = sum(
        stats.binom.pmf(a, n1, p1) * stats.binom.pmf(b, n2, p2)
        for a in range(n1 + 1)
        for b in range(n2 + 1)
        if compare_with_published(a, n1, b, n2).p < 0.05
    )
    assert exact_power(p1, n1, p2, n2) == pytest.approx(by_hand, abs=1e-8)
    assert exact_power(0.5, 10**6, 0.51, 10**6) is None


def test_failure_free_trials() -> None:
    found = to_exclude(0.001)
    assert found.trials == 2995
    assert found.upper <= 0.001 < found.upper_before
    assert "2,995 trials without a failure exclude rates of 0.10 % and more" in said(Planned(None, found))


def test_what_cannot_be_planned() -> None:
    with pytest.raises(ValueError, match="equal rates"):
        to_tell(0.1, 0.1, 0.8)
    with pytest.raises(ValueError, match="number of tests is 0"):
        to_tell(0.1, 0.2, 0.8, tests=0)
    with pytest.raises(ValueError, match="the power is 1"):
        to_tell(0.1, 0.2, 1.0)


def test_a_raised_number_says_why() -> None:
    few = to_tell(0.1, 0.0, 0.8, published=(0, 100))
    assert few.raised
    text = " ".join(said(Planned(few)).split())
    assert "a number at which the exact power of the test, summed over all outcomes, reaches 0.8" in text
    assert "content with fewer" in text
    assert not to_tell(0.0076, 0.0152, 0.8).raised
