"""The value that a trial exceeds with a given probability at most: counted, extrapolated, or only seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from results.statistics.proportions import one_sided_upper
from results.statistics.tail import return_level
from results.tolerance.levels import level, trials_needed


def normals(n: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.abs(np.random.default_rng(seed).standard_normal(n))


@pytest.mark.parametrize(("n", "beyond"), [(299, 0), (472, 0), (473, 1), (5000, 38)])
def test_counted_levels_leave_as_many_trials_beyond_as_the_exact_bound_allows(n: int, beyond: int) -> None:
    values = normals(n)
    found = level(values, 1e-2)
    assert (found.basis, found.k, found.n, found.value) == ("counted", beyond, n, np.sort(values)[n - 1 - beyond])
    assert found.kept
    assert found.fails == beyond / n
    assert found.at_most == one_sided_upper(beyond, n) <= 1e-2 < one_sided_upper(beyond + 1, n)


def test_equal_values_are_not_beyond_each_other() -> None:
    found = level(np.repeat([1.0, 2.0], [4900, 100]), 1e-2)
    assert (found.value, found.k, found.fails) == (2.0, 0, 0.0)
    assert found.at_most == one_sided_upper(0, 5000)


def test_with_fewer_trials_the_tail_is_extrapolated() -> None:
    values = normals(2000)
    found = level(values, 1e-5)
    tail = return_level(values, 1e-5, quantity="absolute error")
    assert (found.basis, found.k, found.at_most, found.why) == ("extrapolated", 0, 1e-5, "")
    assert tail.high is not None
    assert found.value >= max(tail.high, stats.halfnorm.isf(1e-5))
    assert found.tail is not None
    assert found.fails == found.tail.exceedance(found.value) < 1e-5


def test_a_light_tail_is_no_lighter_than_an_exponential_one() -> None:
    """A fitted shape below 0 is an end of the range that normal tails do not have."""
    values = np.random.default_rng(3).beta(2, 4, 20000)
    found, tail = level(values, 1e-6), return_level(values, 1e-6, quantity="absolute error")
    excesses = values[values > tail.threshold] - tail.threshold
    assert tail.shape < 0
    assert tail.high is not None
    assert found.value > 1.05 * tail.high
    mean = 2 * excesses.sum() / stats.chi2.ppf(0.05, 2 * len(excesses))
    assert found.value == pytest.approx(tail.threshold + mean * math.log(len(excesses) / 20000 / 1e-6))


def test_the_fitted_law_gives_its_own_level_back() -> None:
    tail = return_level(normals(3000), 1e-5, quantity="rho")
    assert tail.level is not None
    assert tail.exceedance(tail.level) == pytest.approx(1e-5, rel=1e-6)
    assert tail.exceedance(tail.threshold) == pytest.approx(0.05)
    assert tail.exceedance(1e9) == 0.0
    with pytest.raises(ValueError, match="below the threshold"):
        tail.exceedance(tail.threshold / 2)


@pytest.mark.parametrize("unit", [1e-17, 1e-300, 1e200])
def test_units_do_not_matter(unit: float) -> None:
    values = normals(1500)
    for flake in (1e-2, 1e-6):
        assert level(values * unit, flake).value == pytest.approx(level(values, flake).value * unit, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.random.default_rng(4).random(3000), "the tail ends too abruptly to extrapolate"),
        (1 / normals(3000), "the tail is too heavy to extrapolate"),
        (normals(999), "999 trials are too few to extrapolate, which takes 1,000"),
        (np.zeros(3000), "too few trials need any tolerance here"),
        (np.append(normals(2999), np.inf), "1 of 3,000 trials have no finite result"),
    ],
)
def test_where_the_tail_allows_nothing_only_what_was_seen_is_said(values: np.ndarray, why: str) -> None:  # type: ignore[type-arg]
    found = level(values, 1e-6)
    assert found.why.startswith(why)
    assert (found.basis, found.kept, found.value) == ("seen", False, values.max())
    assert found.at_most == pytest.approx(1 - 0.05 ** (1 / len(values)))


def test_frequent_failures_need_trials_not_a_tail() -> None:
    assert level(normals(20), 0.1).why == "a flake rate of 0.1 needs 29 trials, not an extrapolation"
    assert level(normals(29), 0.1).basis == "counted"


def test_a_reason_against_extrapolation_is_obeyed() -> None:
    found = level(normals(3000), 1e-6, no_tail="because")
    assert (found.basis, found.why) == ("seen", "because")
    assert level(normals(3000), 1e-2, no_tail="because").basis == "counted"


def test_infinite_values_may_be_the_ones_beyond() -> None:
    values = np.append(normals(4980), np.full(20, np.inf))
    found = level(values, 1e-2)
    assert math.isfinite(found.value)
    assert found.k == 38
    assert level(np.full(5000, np.inf), 1e-2).value == math.inf


def test_what_is_no_list_of_numbers() -> None:
    with pytest.raises(ValueError, match="0 values"):
        level(np.empty(0), 1e-2)
    with pytest.raises(ValueError, match="1 of them NaN"):
        level(np.array([1.0, np.nan]), 1e-2)


def test_trials_needed() -> None:
    assert [trials_needed(rate) for rate in (1e-2, 1e-3, 1e-6)] == [299, 2995, 2995731]
