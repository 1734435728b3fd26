"""Which factor goes with large errors: the operator's attributes, the shape, the recipe, an option of the target.

The unit is the cell (a problem, a schedule): one value a cell, such as its rate of flagged trials or the log of its
largest rho. Trials of a cell share its factors and its luck; a test over them calls an effect in 60 % of campaigns that
have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from results.statistics.multiple import Method, false_discovery
from results.statistics.proportions import SIGNIFICANCE

if TYPE_CHECKING:
    from results.statistics.samples import Floats, Values

Levels: TypeAlias = Sequence[str | float | bool | None]
Measure: TypeAlias = Literal["epsilon squared", "Spearman's rho"]

SMALL_GROUP = 5
"""With fewer cells in a group the chi-square law of Kruskal and Wallis is not trusted: pairings are permuted."""
SMALL_SAMPLE = 20
"""With fewer cells the t law of Spearman's coefficient is not trusted: pairings are permuted."""
RESAMPLES = 9_999


class FactorEffect(Struct, frozen=True):
    """One factor: how strongly it goes with the values, and whether that could be chance."""

    factor: str
    test: str
    cells: int
    levels: int
    p: float | None
    """None where the factor or the values do not vary: there is nothing to test."""
    adjusted: float | None
    """p with all factors of the table taken into account (`multiple.false_discovery`)."""
    measure: Measure
    effect: float | None
    """Epsilon squared: the share of the variance of the ranks that the factor explains, 0 to 1. Spearman's rho: -1 to
    1."""

    @property
    def matters(self) -> bool:
        """Whether the factor is called one that matters, at a false discovery rate of 5 %."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE


def factor_effects(
    values: Values,
    factors: Mapping[str, Levels],
    ordered: Sequence[str] = (),
    method: Method = "bh",
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[FactorEffect, ...]:
    """The effect of every factor on `values`, one value a cell; `factors[name][i]` is the level of cell i.

    Factors named in `ordered` are numbers: Spearman's rank correlation, which sees what rises or falls throughout.
    Others are labels: the test of Kruskal and Wallis, J. Am. Stat. Assoc. 47 (1952) 583-621, with epsilon squared
    H/(cells - 1) as effect (Tomczak and Tomczak, Trends in Sport Sciences 21 (2014) 19-25). Small groups are tested by
    permuting the pairing of values and levels (scipy.stats.permutation_test, permutation_type="pairings", with `seed`).
    Each factor by itself: one that goes along with another shows the other's effect. Assumes independent cells.

    ValueError for values that are not finite or not one a cell, and for an ordered factor that is no number.
    """
    from results.statistics.samples import sample

    numbers = sample(values, "one value a cell")
    unknown = [name for name in ordered if name not in factors]
    if unknown:
        raise ValueError(f"ordered factor {unknown[0]!r} is not among the factors: {', '.join(factors)}")
    raw: list[FactorEffect] = []
    for name, levels in factors.items():
        if len(levels) != len(numbers):
            raise ValueError(f"factor {name!r} has {len(levels)} levels for {len(numbers)} cells: needs one a cell")
        measured = _ordered if name in ordered else _labelled
        raw.append(measured(name, numbers, levels, resamples, seed))
    adjusted = false_discovery([effect.p for effect in raw], method)
    return tuple(
        FactorEffect(e.factor, e.test, e.cells, e.levels, e.p, q, e.measure, e.effect)
        for e, q in zip(raw, adjusted, strict=True)
    )


def _labelled(name: str, values: Floats, levels: Levels, resamples: int, seed: int) -> FactorEffect:
    import numpy as np
    from scipy.special import chdtrc
    from scipy.stats import rankdata

    names = sorted({repr(level) for level in levels})
    place = {text: at for at, text in enumerate(names)}
    codes = np.array([place[repr(level)] for level in levels])
    members = np.bincount(codes)
    groups, cells = len(names), len(values)
    if groups < 2 or np.ptp(values) == 0:
        return FactorEffect(name, "Kruskal-Wallis", cells, groups, None, None, "epsilon squared", None)
    ranks = rankdata(values)
    chosen = np.eye(groups)[codes] / np.sqrt(members)  # its products with the ranks are sums / sqrt(members)
    scale = (cells - 1) / ((ranks - ranks.mean()) ** 2).sum()

    def statistic(shuffled: Floats, axis: int = -1) -> Floats:
        centred = np.moveaxis(np.asarray(shuffled), axis, -1) - (cells + 1) / 2
        return np.asarray(scale * ((centred @ chosen) ** 2).sum(-1))

    h = float(statistic(ranks))
    if members.min() >= SMALL_GROUP:
        test, p = "Kruskal-Wallis", float(chdtrc(groups - 1, h))
    else:
        test, p = "Kruskal-Wallis, permuted", _permuted(ranks, statistic, "greater", resamples, seed)
    return FactorEffect(name, test, cells, groups, p, None, "epsilon squared", h / (cells - 1))


def _ordered(name: str, values: Floats, levels: Levels, resamples: int, seed: int) -> FactorEffect:
    import numpy as np
    from scipy.special import stdtr
    from scipy.stats import rankdata

    from results.statistics.samples import sample

    try:
        numbers = np.asarray(levels, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"ordered factor {name!r} holds something that is no number: leave it out of `ordered`"
        ) from None
    x = sample(numbers, f"ordered factor {name!r}")
    cells, different = len(values), len(np.unique(x))
    if different < 2 or np.ptp(values) == 0:
        return FactorEffect(name, "Spearman", cells, different, None, None, "Spearman's rho", None)
    ranks, other = rankdata(values), rankdata(x)
    weights = (other - other.mean()) / np.sqrt(
        ((other - other.mean()) ** 2).sum() * ((ranks - ranks.mean()) ** 2).sum()
    )

    def statistic(shuffled: Floats, axis: int = -1) -> Floats:
        return np.asarray(np.moveaxis(np.asarray(shuffled), axis, -1) @ weights)

    rho = float(np.clip(statistic(ranks), -1, 1))
    if cells >= SMALL_SAMPLE:
        unexplained = 1 - rho * rho
        t = abs(rho) * np.sqrt((cells - 2) / unexplained) if unexplained > 0 else np.inf
        test, p = "Spearman", float(2 * stdtr(cells - 2, -t))
    else:
        test, p = "Spearman, permuted", _permuted(ranks, statistic, "two-sided", resamples, seed)
    return FactorEffect(name, test, cells, different, p, None, "Spearman's rho", rho)


def _permuted(ranks: Floats, statistic: object, alternative: str, resamples: int, seed: int) -> float:
    import numpy as np
    from scipy.stats import permutation_test

    found = permutation_test(
        (ranks,),
        statistic,
        permutation_type="pairings",
        n_resamples=resamples,
        vectorized=True,
        alternative=alternative,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)
