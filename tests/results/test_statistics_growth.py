"""Growth laws of rounding errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from results.statistics.growth import Law, fitted_law, growth_law

SIZES = [2.0**k for k in range(6, 14)]


def errors(exponent: float, trials: int = 10, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.abs(rng.standard_normal(trials)) * n**exponent for n in SIZES]


def test_slope_and_interval_are_those_of_linregress() -> None:
    values = errors(0.5)
    found = growth_law(SIZES, values, confidence=0.9)
    line = stats.linregress(np.log(SIZES), [0.5 * np.log(np.mean(v**2)) for v in values])
    reach = stats.t.ppf(0.95, 6) * line.stderr
    assert found.slope == pytest.approx(line.slope)
    assert (found.low, found.high) == pytest.approx((line.slope - reach, line.slope + reach))
    assert (found.sizes, found.trials, found.confidence) == (8, 80, 0.9)


@pytest.mark.parametrize(
    ("exponent", "law"),
    [
        (-0.5, "decreasing"),
        (0.0, "constant"),
        (0.25, "in between"),
        (0.5, "square root"),
        (0.75, "in between"),
        (1.0, "linear"),
        (2.0, "faster"),
    ],
)
def test_laws_have_names(exponent: float, law: Law) -> None:
    assert growth_law(SIZES, errors(exponent, trials=100)).law == law


def test_scattered_errors_are_indeterminate() -> None:
    rng = np.random.default_rng(1)
    values = [v * 10.0 ** rng.normal(0, 1.5) for v in errors(0.5)]
    assert growth_law(SIZES, values).law == "indeterminate"


def test_float32_sums_grow_as_their_order_says() -> None:
    """A running sum like sqrt(n), NumPy's pairwise one not at all; positive data."""
    rng = np.random.default_rng(2)
    sizes = [2**k for k in range(7, 14)]
    running, pairwise = [], []
    for n in sizes:
        x = rng.random((20, n), dtype=np.float32)
        true = x.sum(1, dtype=np.float64)
        running.append((np.cumsum(x, 1, dtype=np.float32)[:, -1] - true) / true)
        pairwise.append((x.sum(1, dtype=np.float32) - true) / true)
    assert growth_law(sizes, running).law == "square root"
    assert growth_law(sizes, pairwise).law == "constant"


def test_tiny_errors_do_not_vanish_in_their_squares() -> None:
    values = errors(0.5)
    assert growth_law(SIZES, [v * 1e-200 for v in values]).slope == pytest.approx(growth_law(SIZES, values).slope)


def test_from_root_mean_squares_it_is_the_same() -> None:
    random = np.random.default_rng(5)
    sizes = [10.0, 100.0, 1e3, 1e4]
    errors = [random.standard_normal(12) * n**0.4 for n in sizes]
    rms = [float(np.sqrt(np.mean(e**2))) for e in errors]
    one, other = growth_law(sizes, errors), fitted_law(sizes, rms, 48)
    assert (one.slope, one.low, one.high) == pytest.approx((other.slope, other.low, other.high))
    assert (one.trials, one.law) == (other.trials, other.law)
    for wrong in (([1, 2, 3], [1, 1, 1]), ([1, 2, 3, 3], [1, 1, 1, 1]), ([1, 2, 3, 4], [1, 1, 0, 1])):
        with pytest.raises(ValueError, match="different positive sizes"):
            fitted_law(*wrong, trials=40)


def test_what_has_no_growth_law() -> None:
    values = errors(0.5)
    with pytest.raises(ValueError, match="at least 4 different positive sizes"):
        growth_law(SIZES[:3], values[:3])
    with pytest.raises(ValueError, match="at least 4 different positive sizes"):
        growth_law([64.0, 64.0, 128.0, 256.0], values[:4])
    with pytest.raises(ValueError, match="at least 4 different positive sizes"):
        growth_law([0.0, 64.0, 128.0, 256.0], values[:4])
    with pytest.raises(ValueError, match="errors at size 64: needs at least 10 values, got 9"):
        growth_law(SIZES, [values[0][:9], *values[1:]])
    with pytest.raises(ValueError, match="all errors are 0 at size 128: results that are exact"):
        growth_law(SIZES, [values[0], np.zeros(10), *values[2:]])
    with pytest.raises(ValueError, match="8 sizes, but errors of 7"):
        growth_law(SIZES, values[1:])
    with pytest.raises(ValueError, match="errors at size 64: 1 of 10 values are not finite"):
        growth_law(SIZES, [np.append(values[0][1:], np.nan), *values[1:]])
