"""Return levels: the generalised Pareto law over a high threshold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from results.errors import NotPermitted, RefusedQuantity
from results.statistics.pareto import return_level_interval
from results.statistics.tail import QUANTITIES, return_level


def excesses(shape: float, n: int = 250, seed: int = 0) -> np.ndarray:
    return stats.genpareto.rvs(shape, size=n, random_state=np.random.default_rng(seed))


def profile(y: np.ndarray, probability: float, level: float) -> float:
    """Least negative log likelihood among laws with this return level, by brute force over the shape."""
    rarity = -np.log(probability)

    def at(shape: float) -> float:
        scale = level * shape / np.expm1(shape * rarity) if abs(shape) > 1e-9 else level / rarity
        inside = 1 + shape * y / scale > 0
        return stats.genpareto.nnlf((shape, 0, scale), y) if inside.all() else 1e9

    coarse = np.linspace(-1, 3, 401)
    best = coarse[int(np.argmin([at(shape) for shape in coarse]))]
    return float(optimize.minimize_scalar(at, bounds=(max(-1, best - 0.01), best + 0.01), method="bounded").fun)


@pytest.mark.parametrize("shape", [-0.4, -0.2, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [60, 250])
def test_the_fit_is_the_maximum_likelihood_of_scipy(shape: float, n: int) -> None:
    y = excesses(shape, n)
    found = return_level_interval(y, 2e-4)
    other, _, scale = stats.genpareto.fit(y, floc=0)
    likelihoods = [stats.genpareto.nnlf((a, 0, b), y) for a, b in ((found.shape, found.scale), (other, scale))]
    assert likelihoods[0] <= likelihoods[1] + 1e-6
    assert (found.shape, found.scale) == pytest.approx((other, scale), abs=2e-3)
    assert found.level == pytest.approx(stats.genpareto.isf(2e-4, found.shape, scale=found.scale))


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_ends_are_where_the_profile_likelihood_has_fallen_as_far_as_it_may(shape: float, confidence: float) -> None:
    y = excesses(shape, 120, seed=1)
    found = return_level_interval(y, 1e-3, confidence)
    lowest = stats.genpareto.nnlf((found.shape, 0, found.scale), y)
    fall = stats.chi2.ppf(confidence, 1) / 2
    for end in (found.low, found.high):
        assert profile(y, 1e-3, end) - lowest == pytest.approx(fall, rel=2e-3)
    assert found.low < found.level < found.high


def test_a_bounded_law_is_not_stopped_at_a_floor() -> None:
    found = return_level_interval(excesses(-0.85, 2000), 1e-3)
    assert found.shape == pytest.approx(-0.85, abs=0.05)
    uniform = return_level_interval(np.linspace(0.001, 1, 200), 1e-3)
    assert -1 <= uniform.shape < -0.9


@pytest.mark.parametrize("shape", [-0.85, -2.0])
def test_the_floor_of_the_shape_bounds_the_interval(shape: float) -> None:
    """Without it the likelihood would have no maximum, and the interval would reach farther."""
    y = excesses(shape, 120, seed=2)
    found = return_level_interval(y, 1e-3)
    lowest = profile(y, 1e-3, found.level)
    assert found.shape == pytest.approx(max(shape, -1), abs=0.1)
    assert found.shape >= -1
    assert profile(y, 1e-3, found.high) - lowest == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, rel=5e-3)
    assert found.low <= found.level < found.high


def test_units_do_not_matter() -> None:
    y = excesses(0.3)
    one, other = return_level_interval(y, 1e-3), return_level_interval(y * 1e-8, 1e-3)
    assert other.shape == pytest.approx(one.shape, abs=1e-7)
    assert np.array([other.low, other.level, other.high]) * 1e8 == pytest.approx(
        [one.low, one.level, one.high], rel=1e-6
    )


def test_the_level_lies_over_the_threshold_by_the_conditional_probability() -> None:
    values = np.abs(np.random.default_rng(3).standard_normal(5000))
    found = return_level(values, 1e-5, quantity="rho")
    ordered = np.sort(values)
    fit = return_level_interval(ordered[-250:] - ordered[-251], 1e-5 / 0.05)
    assert (found.threshold, found.excesses, found.maximum) == (ordered[-251], 250, ordered[-1])
    assert (found.level, found.low, found.high) == pytest.approx(
        tuple(ordered[-251] + z for z in (fit.level, fit.low, fit.high))
    )
    assert found.method == "profile likelihood"
    assert found.low is not None
    assert found.high is not None
    assert found.low <= stats.halfnorm.isf(1e-5) <= found.high
    assert found.sentence.startswith("one trial in 100,000 exceeds ")
    assert "the largest of 5,000 was" in found.sentence


def test_a_tail_that_ends_abruptly_has_its_largest_value_only() -> None:
    values = np.random.default_rng(4).random(5000)
    found = return_level(values, 1e-5, quantity="absolute error")
    assert found.shape < -0.5
    assert (found.method, found.level, found.low, found.high) == ("observed maximum", None, None, None)
    assert found.maximum == values.max()
    assert found.beyond == pytest.approx(1 - 0.05 ** (1 / 5000))
    assert "the largest of 5,000 trials is 0.999, exceeded by fewer than one in 1,670" in found.sentence


@pytest.mark.parametrize("quantity", ["relative error", "ulp error"])
def test_errors_divided_by_a_result_that_may_cancel_are_refused(quantity: str) -> None:
    values = 1 / np.abs(np.random.default_rng(5).standard_normal(5000))
    with pytest.raises(
        RefusedQuantity, match=f"the {quantity} is not extrapolated: .* P\\(error > r\\) ~ c/r .* meaningless"
    ):
        return_level(values, 1e-5, quantity=quantity)
    assert issubclass(RefusedQuantity, ValueError)
    assert issubclass(RefusedQuantity, NotPermitted)
    assert QUANTITIES[quantity]


def test_relative_errors_have_a_shape_of_one_whatever_the_implementation() -> None:
    """What the refusal says: the shape of 1/|N| is 1, its interval spans an order of magnitude and more."""
    found = return_level(1 / np.abs(np.random.default_rng(6).standard_normal(5000)), 1e-5, quantity="rho")
    assert found.shape == pytest.approx(1, abs=0.25)
    assert found.low is not None
    assert found.high is not None
    assert found.high / found.low > 10


def test_what_cannot_be_extrapolated() -> None:
    values = np.abs(np.random.default_rng(7).standard_normal(1000))
    assert return_level(values, 1e-4, quantity="rho").excesses == 50
    with pytest.raises(ValueError, match="quantity 'error' is unknown: say which it is, rho, absolute error"):
        return_level(values, 1e-4, quantity="error")
    with pytest.raises(ValueError, match="rho: needs at least 1000 values, got 999"):
        return_level(values[1:], 1e-4, quantity="rho")
    for probability in (0.05, 0.5, 0.0, np.nan):
        with pytest.raises(ValueError, match=r"give one between 0 and 0\.05"):
            return_level(values, probability, quantity="rho")
    with pytest.raises(ValueError, match="1 values are negative"):
        return_level(np.append(values, -1), 1e-4, quantity="rho")
    with pytest.raises(ValueError, match="not finite, the first is nan"):
        return_level(np.append(values, np.nan), 1e-4, quantity="rho")
    with pytest.raises(ValueError, match="only 0 trials, 0 different ones, lie above the threshold 1"):
        return_level(np.ones(1000), 1e-4, quantity="rho")
    with pytest.raises(ValueError, match=r"100 trials, 2 different ones.* ties are no tail to fit"):
        return_level(np.repeat([1.0, 2.0, 3.0], [1900, 50, 50]), 1e-4, quantity="rho")
    with pytest.raises(ValueError, match="at least 50, all positive"):
        return_level_interval(np.zeros(60), 1e-4)


def test_the_values_are_left_in_their_order() -> None:
    values = np.abs(np.random.default_rng(8).standard_normal(1000))
    before = values.copy()
    return_level(values, 1e-4, quantity="rho")
    assert (values == before).all()
