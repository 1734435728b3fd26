"""Two backends on the same trials, or in the same cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from results.statistics.paired import compare_cells, compare_trials, compare_values


@pytest.mark.parametrize(("b", "c"), [(59, 6), (16, 86), (5, 5), (0, 6), (0, 1), (1, 0)])
def test_mcnemar_is_the_exact_binomial_test(b: int, c: int) -> None:
    found = compare_trials(b, c, 500)
    assert found.p == pytest.approx(stats.binomtest(b, b + c, 0.5).pvalue, rel=1e-9)
    assert found.difference == (b - c) / 500
    assert found.share is not None
    exact = stats.binomtest(b, b + c).proportion_ci(0.95, "exact")
    assert (found.share.low, found.share.high) == pytest.approx((exact.low, exact.high))
    assert found.differs == (found.p < 0.05)
    assert found.differs == (not found.share.low <= 0.5 <= found.share.high)


def test_the_prime_ministers_approval() -> None:
    """Agresti, Categorical Data Analysis (2nd ed.), table 10.1: 150 and 86 changed their mind among 1,600; z = 4.17."""
    found = compare_trials(150, 86, 1600)
    assert found.difference == pytest.approx(0.04)
    assert found.p == pytest.approx(2 * stats.norm.sf(4.17), rel=0.5)


def test_backends_that_never_disagree() -> None:
    found = compare_trials(0, 0, 10)
    assert (found.p, found.share, found.difference, found.differs) == (1, None, 0, False)


def test_few_cells_are_tested_with_all_their_signs() -> None:
    first, second = [0.5, 0.2, 0.1, 0.0, 0.3, 0.6, 0.4], [0.1, 0.1, 0.3, 0.0, 0.1, 0.1, 0.1]
    differences = np.subtract(first, second)
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product((1, -1), repeat=7)]
    found = compare_values(first, second)
    assert found.p == pytest.approx(np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12))
    assert (found.cells, found.differing) == (7, 6)
    t = stats.ttest_rel(first, second).confidence_interval()
    assert (found.low, found.high) == pytest.approx((t.low, t.high))
    assert (found.first, found.second) == pytest.approx((np.mean(first), np.mean(second)))
    assert found.difference == pytest.approx(found.first - found.second)


def test_counts_become_the_rates_of_cells() -> None:
    counted = compare_cells([4, 1, 0], [2, 1, 1], [10, 10, 20])
    assert counted == compare_values([0.4, 0.1, 0.0], [0.2, 0.1, 0.05])


def test_many_cells_are_drawn_with_the_seed() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.3, 1, 60), rng.normal(0, 1, 60)
    found = compare_values(first, second, seed=3)
    assert found == compare_values(first, second, seed=3)
    assert found.p == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)
    far = first + 3
    assert compare_values(far, second, resamples=99).p == pytest.approx(0.02)  # 1 of 100 patterns on either side
    assert compare_values(far, second).p == pytest.approx(0.0002)


def test_a_difference_in_every_cell_is_found() -> None:
    assert compare_values(np.arange(20.0) + 1, np.arange(20.0)).differs
    assert not compare_values([1.0], [0.0]).differs


def test_cells_without_a_difference() -> None:
    found = compare_cells([1, 2, 3], [1, 2, 3], 10)
    assert (found.p, found.differing, found.difference, found.low, found.high) == (1, 0, 0, 0, 0)
    one = compare_cells([1], [1], 10)
    assert (one.p, one.low, one.high) == (1, None, None)


def test_what_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="12 events in 10 trials"):
        compare_trials(6, 6, 10)
    with pytest.raises(ValueError, match="counts are not negative"):
        compare_trials(-1, 6, 10)
    with pytest.raises(ValueError, match="2 cells of the first backend, 1 of the second: pair them"):
        compare_cells([1, 2], [1], 10)
    with pytest.raises(ValueError, match="2 values of the first backend, 1 of the second"):
        compare_values([1, 2], [1])
    with pytest.raises(ValueError, match="not finite, the first is nan at index 0"):
        compare_values([float("nan"), 1], [1, 2])
