"""Which pair is recommended, from what each trial needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from results.tolerance.choice import choose, up
from results.tolerance.levels import level
from results.tolerance.needs import MULTIPLES, Needs

U = 2.0**-24


def needs(error: Any, truth: Any, problem: str = "p", multiples: tuple[int, ...] = MULTIPLES) -> Needs:
    """Of trials with these |errors| (in u) and |truths| of elements."""
    e, v = U * np.asarray(error, np.float64), np.asarray(truth, np.float64)
    atols = np.stack([np.maximum((e - k * U * v).max(1), 0) for k in multiples], axis=1)
    return Needs(problem, atols, multiples, e.max(1) / U, float(np.median(v.mean(1))), ("t",), problem)


def cancelling(trials: int, seed: int = 0, scale: float = 1.0) -> Needs:
    """Errors of about one rounding of the result, and of what cancelled before."""
    rng = np.random.default_rng(seed)
    v = np.abs(rng.standard_normal((trials, 50)))
    return needs(scale * (0.3 + v) * np.abs(rng.standard_normal(v.shape)), scale * v, f"p{scale:g}")


def fails(pair: Any, one: Needs) -> float:
    """Share of trials that fail."""
    k = one.multiples.index(round(2 * pair.eps))
    return float((one.atols[:, k] > pair.atol).mean())


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(1.201e-7, 1.3e-7), (1.2e-7, 1.2e-7), (1.3e-7, 1.3e-7), (9.91, 10.0), (0.0, 0.0), (3.0, 3.0)],
)
def test_two_digits_rounded_up(value: float, rounded: float) -> None:
    assert up(value) == rounded


def test_rounding_up_never_goes_below() -> None:
    for value in np.random.default_rng(0).uniform(size=300) * 10.0 ** np.arange(-150, 150):
        assert value <= up(value) <= value * 1.1 + 1e-320


def test_the_pair_is_the_level_at_the_rtol_with_the_smallest_allowed_error() -> None:
    one = cancelling(2000)
    choice = choose([one], "float32", 1e-2)
    assert choice.pair is not None
    pair = choice.pair
    cost = {
        k: np.quantile(one.atols[:, j], 0.95, method="higher") + k * U * one.truth_mean for j, k in enumerate(MULTIPLES)
    }
    best = min(cost, key=lambda k: cost[k])
    assert 0 < best == 2 * pair.eps
    exact = level(one.atols[:, MULTIPLES.index(best)], 1e-2)
    assert (pair.rtol, pair.atol) == (up(best * U), up(exact.value))
    assert pair.atol_eps == pytest.approx(exact.value / (2 * U * one.truth_mean))  # type: ignore[operator]
    assert (pair.level.basis, pair.level.at_most) == ("counted", exact.at_most)
    assert (choice.why, choice.tighter) == ("", None)
    assert fails(pair, one) <= 1e-2
    assert fails(pair, cancelling(20000, seed=1)) <= 1e-2
    assert pair.call == f"numpy.testing.assert_allclose(got, want, rtol={pair.rtol:g}, atol={pair.atol:g})"


def test_the_rtol_does_not_follow_the_largest_errors() -> None:
    """Else the pair would be chosen for having looked harmless by chance."""
    one = cancelling(3000)
    spoilt = one.atols.copy()
    spoilt[:5] *= 100
    pairs = [
        choose([Needs("p", atols, MULTIPLES, one.rho, one.truth_mean, ())], "float32", 1e-3).pair
        for atols in (one.atols, spoilt)
    ]
    assert pairs[0] is not None
    assert pairs[1] is not None
    assert pairs[0].rtol == pairs[1].rtol
    assert pairs[0].atol < pairs[1].atol


def test_one_pair_is_kept_by_every_problem() -> None:
    small, large = cancelling(2000), cancelling(2000, seed=5, scale=3.0)
    pair = choose([small, large], "float32", 1e-2).pair
    assert pair is not None
    assert max(fails(pair, small), fails(pair, large)) <= 1e-2
    assert pair.inputs == "p3"
    alone = choose([small], "float32", 1e-2).pair
    assert alone is not None
    assert alone.atol < pair.atol
    short = choose([small, cancelling(100, seed=6)], "float32", 1e-2)
    assert short.pair is not None
    assert not short.pair.level.kept
    assert short.why == "100 trials are too few to extrapolate, which takes 1,000"


def test_errors_of_one_rounding_of_the_result_need_no_atol() -> None:
    rng = np.random.default_rng(2)
    v = np.exp(rng.standard_normal((2000, 40)))
    one = needs(rng.uniform(0, 1.7, v.shape) * v, v)
    choice = choose([one], "float32", 1e-2)
    assert choice.pair is not None
    assert (choice.pair.eps, choice.pair.atol, choice.pair.level.kept) == (1.0, 0.0, True)
    rare = choose([one], "float32", 1e-6)
    assert rare.pair is not None
    assert rare.tighter is not None
    assert (rare.tighter.eps, rare.tighter.atol) == (1.0, 0.0)
    assert rare.tighter.level.at_most == pytest.approx(1 - 0.05 ** (1 / 2000))
    assert (rare.pair.level.basis, rare.pair.level.at_most) == ("extrapolated", 1e-6)
    assert rare.pair.atol > 0


def test_exact_results_need_nothing_and_promise_what_their_number_proves() -> None:
    one = needs(np.zeros((500, 3)), np.ones((500, 3)))
    choice = choose([one], "float32", 1e-2)
    assert choice.pair is not None
    assert (choice.pair.rtol, choice.pair.atol, choice.pair.level.basis) == (0.0, 0.0, "counted")
    rare = choose([one], "float32", 1e-6)
    assert rare.pair is not None
    assert (rare.pair.rtol, rare.pair.atol, rare.pair.level.basis) == (0.0, 0.0, "seen")


def test_a_test_that_would_pass_anything_is_refused() -> None:
    rng = np.random.default_rng(3)
    scale = 10.0 ** rng.uniform(-20, 20, (2000, 1))
    v = scale * np.abs(rng.standard_normal((2000, 30)))
    one = needs(scale * 3e9 * np.abs(rng.standard_normal(v.shape)), v)
    choice = choose([one], "float32", 1e-2)
    assert choice.pair is None
    assert "would pass anything: typical results are as large as" in choice.why


def test_results_that_are_not_finite_pass_with_no_tolerance() -> None:
    one = cancelling(2000)
    one.atols[:100] = np.inf
    choice = choose([one], "float32", 1e-2)
    assert choice.pair is None
    assert choice.why == "100 of 2,000 trials have no finite result where the truth has one: no tolerance passes them"


def test_every_input_is_a_certainty() -> None:
    one = cancelling(3)
    choice = choose([one], "float32", 1e-6, complete=True)
    assert choice.pair is not None
    level_ = choice.pair.level
    assert (level_.basis, level_.fails, level_.at_most, level_.kept) == ("every input", 0.0, 0.0, True)
    assert fails(choice.pair, one) == 0


def test_rows_of_an_older_schema_have_rtol_0_only() -> None:
    rng = np.random.default_rng(4)
    v = rng.uniform(1, 2, (2000, 5))
    old = Needs("p", needs(v, v).atols[:, :1], (0,), np.full(2000, np.nan), None, ())
    pair = choose([old, cancelling(2000)], "float32", 1e-2).pair
    assert pair is not None
    assert pair.rtol == 0
    assert pair.atol > 0
