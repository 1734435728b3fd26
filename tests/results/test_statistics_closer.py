"""The sign test over trials: which of two formulations is closer to the truth, and by how much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from results.statistics.closer import closer_to_truth

ERRORS = st.lists(st.tuples(*[st.floats(0, 1e3)] * 2), min_size=1, max_size=60)


def test_399_of_400_trials() -> None:
    """The published comparison of gradients: p = 3e-118."""
    first = np.full(400, 0.6)
    first[7] = 1.2
    found = closer_to_truth(first, np.ones(400))
    assert (found.first_closer, found.second_closer, found.equal) == (399, 1, 0)
    assert found.p == pytest.approx(stats.binomtest(1, 400, 0.5).pvalue, rel=1e-9)
    assert found.p == pytest.approx(3.1e-118, rel=0.01)
    assert (found.ratio, found.low, found.high) == (0.6, 0.6, 0.6)
    assert found.differs


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(ERRORS)
def test_p_is_that_of_the_binomial_test_and_sides_may_be_exchanged(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    found, turned = closer_to_truth(first, second), closer_to_truth(second, first)
    assert found.p == turned.p
    assert found.first_closer == turned.second_closer
    assert found.equal == turned.equal
    moved = found.first_closer + found.second_closer
    if moved:
        assert found.p == pytest.approx(stats.binomtest(found.first_closer, moved, 0.5).pvalue, rel=1e-9)
    else:
        assert found.p == 1.0
        assert found.ratio == 1.0
    if np.isfinite(found.ratio) and found.ratio > 0:
        assert found.ratio * turned.ratio == pytest.approx(1.0, rel=1e-6) or not np.isfinite(turned.ratio)
    if found.low is not None and found.high is not None:
        assert found.low <= found.ratio <= found.high


def test_the_interval_excludes_1_where_the_test_rejects() -> None:
    for trials in (6, 9, 40, 41):
        for wins in range(trials + 1):
            first = np.where(np.arange(trials) < wins, 0.5, 2.0)
            found = closer_to_truth(first, np.ones(trials))
            excludes = found.low is not None and found.high is not None and not found.low <= 1.0 <= found.high
            assert excludes == (found.p <= 0.05), (trials, wins)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    misses = 0
    for _ in range(2000):
        ratios = np.exp(rng.normal(size=25))
        found = closer_to_truth(ratios, np.ones(25))
        assert found.low is not None
        assert found.high is not None
        misses += not found.low <= 1.0 <= found.high
    assert misses <= 0.05 * 2000 + 3 * np.sqrt(0.05 * 0.95 * 2000)
    assert misses >= 0.02 * 2000  # 1 - 2 P(Bin(25, 1/2) <= 7) = 0.957


def test_few_trials_have_no_interval() -> None:
    found = closer_to_truth([1.0] * 5, [2.0] * 5)
    assert found.low is None
    assert found.p == 2 * 0.5**5
    assert closer_to_truth([1.0] * 6, [2.0] * 6).high == 0.5


def test_zeros_are_no_division() -> None:
    found = closer_to_truth([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    assert (found.first_closer, found.second_closer, found.equal, found.ratio) == (1, 1, 1, 1.0)
    assert closer_to_truth([1.0], [0.0]).ratio == np.inf


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1.0], [1.0, 2.0], "pair them by trial"),
        ([1.0, -1.0], [1.0, 2.0], "negative"),
        ([1.0, np.nan], [1.0, 2.0], "not finite"),
        ([], [], "at least 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(first: list[float], second: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        closer_to_truth(first, second)
