"""Signed bias: one value a trial."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from results.errors import NotPermitted, RefusedQuantity
from results.statistics.bias import signed_bias


@pytest.mark.parametrize("trials", [3, 30, 200])
def test_both_tests_are_scipys(trials: int) -> None:
    values = np.random.default_rng(trials).normal(0.05, 0.2, trials)
    found = signed_bias(values, trials=trials, confidence=0.9)
    t = stats.ttest_1samp(values, 0)
    interval = t.confidence_interval(0.9)
    assert found.p == pytest.approx(t.pvalue, rel=1e-9)
    assert found.wilcoxon_p == pytest.approx(stats.wilcoxon(values).pvalue)
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), interval.low, interval.high))
    assert (found.trials, found.confidence) == (trials, 0.9)


def test_students_sleep_data() -> None:
    """Student, Biometrika 6 (1908) 1-25: ten differences of hours of sleep, t = 4.06, p = 0.0028."""
    found = signed_bias([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4], trials=10)
    assert found.mean == pytest.approx(1.58)
    assert found.p == pytest.approx(0.00283, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((0.7001, 2.4599), abs=1e-4)
    assert found.differs


@pytest.mark.parametrize("unit", [1e-300, 1e300, 5e-321])
def test_errors_of_any_size(unit: float) -> None:
    values = np.array([1.0, 2.0, -1.0, 4.0, 3.0])
    found, usual = signed_bias(values * unit, trials=5), signed_bias(values, trials=5)
    assert found.p == pytest.approx(usual.p, rel=1e-2)
    assert found.wilcoxon_p == usual.wilcoxon_p
    assert (found.mean, found.low, found.high) == pytest.approx(
        (usual.mean * unit, usual.low * unit, usual.high * unit), rel=1e-2
    )


def test_pooled_elements_are_refused() -> None:
    elements = np.zeros((5, 40))
    for pooled in (elements, elements.ravel()):
        with pytest.raises(RefusedQuantity, match="pooled they find a bias that is none; give the mean of each trial"):
            signed_bias(pooled, trials=5)
    assert issubclass(RefusedQuantity, ValueError)
    assert issubclass(RefusedQuantity, NotPermitted)


def test_values_that_do_not_scatter() -> None:
    none = signed_bias([0.0] * 5, trials=5)
    assert (none.mean, none.p, none.wilcoxon_p, none.differs) == (0, 1, 1, False)
    same = signed_bias([0.25] * 8, trials=8)
    assert (same.low, same.high, same.p, same.differs) == (0.25, 0.25, 0, True)
    assert same.wilcoxon_p < 0.05


def test_too_little_or_no_numbers() -> None:
    with pytest.raises(ValueError, match="at least 3 values, got 2"):
        signed_bias([1.0, 2.0], trials=2)
    with pytest.raises(ValueError, match="not finite, the first is inf at index 2"):
        signed_bias([1.0, 2.0, np.inf], trials=3)
    with pytest.raises(ValueError, match="confidence is 0"):
        signed_bias([1.0, 2.0, 3.0], trials=3, confidence=0)
