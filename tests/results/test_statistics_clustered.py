"""Rates of trials in cells: two estimands, two intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from results.statistics.clustered import generator_rate, plan_rate
from results.statistics.proportions import one_sided_upper, rate_interval


def korn_graubard(rates: np.ndarray, m: int, tail: float = 0.025) -> tuple[float, float]:
    """Written anew for cells of equal size, from the formula of the paper."""
    cells, n, p = len(rates), len(rates) * m, float(rates.mean())
    variance = rates.var(ddof=1) / cells
    effective = p * (1 - p) / variance * (stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, cells - 1)) ** 2
    size = min(effective, n)
    x = p * size
    return stats.beta.ppf(tail, x, size - x + 1), stats.beta.ppf(1 - tail, x + 1, size - x)


EVENTS = np.array([0, 0, 7, 0, 1, 0, 0, 12, 0, 2])


def test_the_plans_own_cells_have_the_exact_interval_of_the_pooled_counts() -> None:
    found = plan_rate(EVENTS, 20)
    pooled = rate_interval(22, 200)
    assert found.of == "the cells of this plan"
    assert (found.k, found.n, found.cells, found.rate) == (22, 200, 10, 0.11)
    assert (found.low, found.high, found.upper) == (pooled.low, pooled.high, one_sided_upper(22, 200))
    assert found.effective == 200


def test_the_generator_has_the_interval_of_korn_and_graubard() -> None:
    found = generator_rate(EVENTS, 20)
    assert found.of == "the generator of the cells"
    assert (found.low, found.high) == pytest.approx(korn_graubard(EVENTS / 20, 20), rel=1e-10)
    assert found.effective == pytest.approx(0.11 * 0.89 / ((EVENTS / 20).var(ddof=1) / 10))
    assert found.rate < found.upper < found.high
    assert found.high - found.low > 2 * (plan_rate(EVENTS, 20).high - plan_rate(EVENTS, 20).low)


def test_cells_of_unequal_size_are_weighted_with_their_trials() -> None:
    k, n = np.array([0, 3, 1, 0]), np.array([10, 40, 10, 20])
    residual = k - 4 / 80 * n
    variance = 4 / 3 * (residual**2).sum() / 80**2
    found = generator_rate(k, n)
    assert found.rate == 4 / 80
    assert found.effective == pytest.approx(min(0.05 * 0.95 / variance, 80))


def test_one_trial_a_cell_is_nearly_the_exact_interval() -> None:
    found, exact = generator_rate([1] * 8 + [0] * 492, 1), rate_interval(8, 500)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), rel=0.01)


@pytest.mark.parametrize("cells", [2, 30, 300])
def test_without_an_event_only_the_cells_count(cells: int) -> None:
    found = generator_rate([0] * cells, 20)
    assert (found.low, found.effective) == (0, cells)
    assert found.upper == pytest.approx(1 - 0.05 ** (1 / cells))
    assert found.high == pytest.approx(1 - 0.025 ** (1 / cells))
    mirrored = generator_rate([20] * cells, 20)
    assert (mirrored.low, mirrored.high, mirrored.upper) == (pytest.approx(0.025 ** (1 / cells)), 1, 1)


def test_cells_that_are_all_alike_give_no_more_than_their_trials() -> None:
    """What so few cells may hide is allowed for: 200 trials count like 200 (t_199/t_9)^2."""
    found = generator_rate([1] * 10, 20)
    size = 200 * (stats.t.ppf(0.025, 199) / stats.t.ppf(0.025, 9)) ** 2
    assert found.effective == 200
    assert found.high == pytest.approx(stats.beta.ppf(0.975, size / 20 + 1, size * 19 / 20))
    assert found.low < rate_interval(10, 200).low


@pytest.mark.parametrize(
    ("events", "trials", "reason"),
    [
        ([1], 20, "at least 2 values, got 1"),
        ([1, 21], 20, "21 events in 20 trials at index 1"),
        ([1, -1], 20, "-1 events in 20 trials"),
        ([0, 0], 0, "at least one trial"),
        ([1, 0.5], 20, "needs whole numbers"),
        ([1, float("nan")], 20, "1 of 2 values are not finite, the first is nan at index 1"),
        ([1, 2, 3], [4, 5], "3 counts of events, but 2 of trials"),
        ([[1, 2], [3, 4]], 20, r"got an array of shape \(2, 2\)"),
    ],
)
def test_impossible_cells(events: list[int], trials: int | list[int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        generator_rate(events, trials)
    with pytest.raises(ValueError, match="confidence is 95"):
        plan_rate([1, 2], 20, 95)
