"""Which factor goes with large errors: one value a cell."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from results.statistics.factors import factor_effects
from results.statistics.multiple import false_discovery

RNG = np.random.default_rng(4)
CELLS = 60
VALUES = np.round(RNG.normal(size=CELLS), 1)  # with ties
LEVELS = RNG.choice(["a", "b", "c"], CELLS).tolist()
STEPS = RNG.integers(1, 6, CELLS).tolist()


def test_labels_are_tested_by_kruskal_and_wallis() -> None:
    (found,) = factor_effects(VALUES, {"schedule": LEVELS})
    groups = [VALUES[[level == name for level in LEVELS]] for name in "abc"]
    h, p = stats.kruskal(*groups)
    assert (found.factor, found.test, found.cells, found.levels) == ("schedule", "Kruskal-Wallis", 60, 3)
    assert found.p == pytest.approx(p)
    assert found.effect == pytest.approx(h / 59)
    assert found.measure == "epsilon squared"


def test_numbers_are_tested_by_spearman() -> None:
    (found,) = factor_effects(VALUES, {"n": STEPS}, ordered=["n"])
    rho, p = stats.spearmanr(VALUES, STEPS)
    assert (found.p, found.effect) == pytest.approx((p, rho))
    assert (found.test, found.measure, found.levels) == ("Spearman", "Spearman's rho", 5)


def test_small_groups_are_permuted() -> None:
    """All 7!/(3! 4!) ways to name three of seven cells, by hand."""
    values, levels = [1.0, 2.0, 9.0, 8.0, 3.0, 4.0, 7.0], ["a", "a", "b", "b", "a", "a", "b"]
    (found,) = factor_effects(values, {"mode": levels})
    ranks = stats.rankdata(values)

    def between(chosen: tuple[int, ...]) -> float:
        inside = np.isin(np.arange(7), chosen)
        return float(3 * (ranks[inside].mean() - 4) ** 2 + 4 * (ranks[~inside].mean() - 4) ** 2)

    seen = between((2, 3, 6))
    share = np.mean([between(chosen) >= seen - 1e-12 for chosen in itertools.combinations(range(7), 3)])
    assert found.test == "Kruskal-Wallis, permuted"
    assert found.p == pytest.approx(share)
    assert found.effect == pytest.approx(stats.kruskal([9.0, 8.0, 7.0], [1.0, 2.0, 3.0, 4.0]).statistic / 6)


def test_few_numbers_are_permuted() -> None:
    (found,) = factor_effects([1.0, 2.0, 3.0, 5.0, 4.0], {"n": [8, 16, 32, 64, 128]}, ordered=["n"])
    exact = stats.permutation_test(
        ([1, 2, 3, 4, 5],), lambda x: stats.spearmanr(x, [1, 2, 3, 5, 4]).statistic, permutation_type="pairings"
    )
    assert found.test == "Spearman, permuted"
    assert (found.effect, found.p) == pytest.approx((0.9, exact.pvalue))


def test_an_effect_is_found_among_factors_that_have_none() -> None:
    rng = np.random.default_rng(5)
    levels = rng.choice(["on", "off"], CELLS)
    factors = {"fma": levels.tolist()} | {f"f{i}": rng.integers(0, 3, CELLS).tolist() for i in range(4)}
    found = factor_effects(rng.normal(size=CELLS) + 2 * (levels == "on"), factors)
    assert [effect.factor for effect in found if effect.matters] == ["fma"]
    assert [effect.adjusted for effect in found] == pytest.approx(false_discovery([effect.p for effect in found]))
    assert found[0].effect is not None
    assert found[0].effect > 0.3
    cautious = factor_effects(VALUES, factors, method="by")
    assert cautious[0].adjusted == pytest.approx(false_discovery([e.p for e in cautious], "by")[0])


def test_a_perfect_order() -> None:
    (found,) = factor_effects(np.arange(30.0), {"n": list(range(30))}, ordered=["n"])
    assert found.effect == pytest.approx(1)
    assert found.p == pytest.approx(0, abs=1e-12)


def test_what_does_not_vary_is_not_tested() -> None:
    found = factor_effects(VALUES, {"eps": [1e-5] * CELLS, "schedule": LEVELS, "n": [3] * CELLS}, ordered=["n"])
    assert [(effect.p, effect.adjusted, effect.effect, effect.matters) for effect in found[::2]] == [
        (None, None, None, False)
    ] * 2
    assert found[1].adjusted == found[1].p
    constant = factor_effects([1.0] * CELLS, {"schedule": LEVELS, "n": STEPS}, ordered=["n"])
    assert [effect.p for effect in constant] == [None, None]
    assert factor_effects(VALUES, {}) == ()


def test_levels_are_told_apart_by_kind_and_value() -> None:
    """None, True, 1 and "1" are four levels."""
    (found,) = factor_effects(np.arange(40.0), {"option": [None, True, 1, "1"] * 10})
    assert found.levels == 4


def test_bad_factors() -> None:
    with pytest.raises(ValueError, match="factor 'n' has 2 levels for 60 cells"):
        factor_effects(VALUES, {"n": [1, 2]})
    with pytest.raises(ValueError, match="ordered factor 'm' is not among the factors: n"):
        factor_effects(VALUES, {"n": STEPS}, ordered=["m"])
    with pytest.raises(ValueError, match="ordered factor 'n' holds something that is no number"):
        factor_effects(VALUES, {"n": ["wide", *STEPS[1:]]}, ordered=["n"])
    with pytest.raises(ValueError, match="ordered factor 'n': 1 of 60 values are not finite"):
        factor_effects(VALUES, {"n": [None, *STEPS[1:]]}, ordered=["n"])
    with pytest.raises(ValueError, match="one value a cell: needs a list of numbers"):
        factor_effects(VALUES.reshape(6, 10), {"n": STEPS})
    with pytest.raises(ValueError, match="one value a cell: 1 of 60 values are not finite"):
        factor_effects(np.append(VALUES[1:], np.nan), {"n": STEPS})
