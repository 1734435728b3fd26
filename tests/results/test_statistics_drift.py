"""Errors of two campaigns compared."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from results.statistics.drift import drift, paired_drift


def test_both_tests_are_scipys() -> None:
    rng = np.random.default_rng(0)
    before, after = rng.gamma(2, 1, 60), np.round(rng.gamma(2, 1.4, 80), 1)
    found = drift(before, after)
    u = stats.mannwhitneyu(after, before)
    ks = stats.ks_2samp(before, after)
    assert (found.shift_p, found.shape_p, found.distance) == pytest.approx((u.pvalue, ks.pvalue, ks.statistic))
    pairs = [(b > a) + 0.5 * (b == a) for a in before for b in after]
    assert found.superiority == pytest.approx(np.mean(pairs))
    assert (found.first, found.second) == (60, 80)
    assert (found.median_first, found.median_second) == (np.median(before), np.median(after))
    assert found.p == min(1, 2 * min(found.shift_p, found.shape_p))


def test_a_shift_and_a_change_of_shape_are_found() -> None:
    rng = np.random.default_rng(1)
    before = rng.normal(0, 1, 400)
    assert drift(before, rng.normal(0.5, 1, 400)).superiority > 0.55
    assert drift(before, rng.normal(0.5, 1, 400)).differs
    wider = drift(before, rng.normal(0, 3, 400))
    assert wider.shift_p > 0.05
    assert wider.differs
    assert not drift(before, rng.normal(0, 1, 400)).differs


def test_equal_and_constant_samples() -> None:
    found = drift([1.0] * 10, [1.0] * 12)
    assert (found.p, found.superiority, found.distance, found.differs) == (1, 0.5, 0, False)
    apart = drift([1.0] * 10, [2.0] * 10)
    assert (apart.superiority, apart.distance, apart.differs) == (1, 1, True)


def test_the_same_draws_are_compared_trial_by_trial() -> None:
    rng = np.random.default_rng(2)
    before = np.exp(rng.normal(0, 2, 50))
    after = before.copy()
    after[:20] *= 1 + np.abs(rng.normal(0.01, 0.001, 20))
    found = paired_drift(before, after)
    assert (found.trials, found.changed, found.rose) == (50, 20, 20)
    assert found.p == pytest.approx(stats.wilcoxon((after - before)[:20]).pvalue)
    assert found.differs
    assert not drift(before, after).differs
    assert paired_drift(after, before).rose == 0


def test_bitwise_equal_trials_have_not_changed() -> None:
    found = paired_drift(np.arange(10.0), np.arange(10.0))
    assert (found.changed, found.rose, found.p, found.differs) == (0, 0, 1, False)


def test_what_cannot_be_compared() -> None:
    values = np.arange(10.0)
    with pytest.raises(ValueError, match="second campaign: needs at least 10 values, got 9"):
        drift(values, values[1:])
    with pytest.raises(ValueError, match="first campaign: 1 of 10 values are not finite, the first is inf"):
        paired_drift(np.append(values[1:], np.inf), values)
    with pytest.raises(ValueError, match="10 trials before, 11 after: pair them by problem, seed and index"):
        paired_drift(values, np.arange(11.0))


def test_nearly_equal_samples_make_no_noise() -> None:
    """SciPy's exact sum overflows on them, says so in a warning and takes the asymptotic law."""
    one, other = ([0.5 + 1e-3 * ((7919 * i + seed) % 400) for i in range(300)] for seed in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drift(one, other).shape_p == pytest.approx(1)
