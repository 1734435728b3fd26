"""How often, where trials come in cells: several trials share a problem, a schedule, a shape.

Trials of one cell are alike, so a hundred cells of twenty trials are not two thousand independent trials. There are two
rates to ask for, and they have different intervals:

* the rate of **this plan's cells**: the mean of the cells' own rates, weighted with their trials. Only the draws inside
  the cells are random. `plan_rate`.
* the rate of **the generator** that drew the cells: what the next trial of a new cell will do. The cells are random,
  too. `generator_rate`. The exact interval of the pooled counts covers it in two thirds of all campaigns.

With one trial a cell both are `proportions.rate_interval`, exact: the best design for estimating.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from results.statistics.arguments import error_probability
from results.statistics.proportions import one_sided_upper, rate_interval
from results.statistics.samples import Counts, Floats, cell_counts

Estimand: TypeAlias = Literal["the cells of this plan", "the generator of the cells"]


class ClusteredRate(Struct, frozen=True):
    """A rate over cells with its two-sided interval, and what it is a rate of."""

    of: Estimand
    k: int
    n: int
    cells: int
    rate: float
    low: float
    high: float
    upper: float
    """One-sided upper bound at the same confidence: what zero events exclude."""
    confidence: float
    effective: float
    """The number of independent trials that would tell as much."""


def plan_rate(events: Counts, trials: Counts | int, confidence: float = 0.95) -> ClusteredRate:
    """The rate in the cells of this plan: `events[i]` of `trials[i]` independent trials in cell i.

    Estimand: sum_i trials_i p_i / sum_i trials_i, p_i the rate of cell i, which may differ. The interval is the exact
    one of the pooled counts (Clopper and Pearson 1934): a sum of events of unlike rates varies less than one of equal
    rates (Hoeffding, Ann. Math. Stat. 27 (1956) 713-721), so it covers at least as often. Assumes independent trials
    within each cell. ValueError for impossible counts.
    """
    counts, totals = cell_counts(events, trials, "the rate of cells")
    k, n = int(counts.sum()), int(totals.sum())
    pooled = rate_interval(k, n, confidence)
    upper = one_sided_upper(k, n, confidence)
    return ClusteredRate(
        "the cells of this plan", k, n, len(counts), k / n, pooled.low, pooled.high, upper, confidence, float(n)
    )


def generator_rate(events: Counts, trials: Counts | int, confidence: float = 0.95) -> ClusteredRate:
    """The rate of the generator from which the cells were drawn independently: `events[i]` of `trials[i]` in cell i.

    Estimand: the expected events of a cell over its expected trials. The counts are scaled to the number of independent
    trials whose variance is that between the cells, with an adjustment for how well so few cells tell it, and then have
    the exact interval: Korn and Graubard, Survey Methodology 24 (1998) 193-201. The variance is that of a ratio of two
    means, v = C/(C-1) sum_i (k_i - rate n_i)^2 / n^2.

    Without an event that variance is 0 and only the cells count: the rate is below 1 - alpha^(1/C), because a cell of
    mean rate p stays without event with probability at most 1 - p (Jensen). In the same way with nothing but events.

    Assumes independent cells, as in a survey; nothing about trials inside a cell. Covers 0.90 with 30 very unlike cells
    and its nominal 0.95 with 300 (docs/statistics.md). ValueError for fewer than two cells or impossible counts.
    """
    counts, totals = cell_counts(events, trials, "the rate of the generator", least=2)
    cells, alpha = len(counts), error_probability(confidence)
    k, n = int(counts.sum()), int(totals.sum())
    low = _bound(counts, totals, alpha / 2, upper=False)
    high = _bound(counts, totals, alpha / 2, upper=True)
    upper = _bound(counts, totals, alpha, upper=True)
    effective = float(cells) if k in (0, n) else _effective(counts, totals)
    return ClusteredRate("the generator of the cells", k, n, cells, k / n, low, high, upper, confidence, effective)


def _bound(k: Floats, n: Floats, tail: float, *, upper: bool) -> float:
    """One end of the interval, wrong with probability `tail`."""
    from scipy.special import betaincinv, stdtrit

    events, trials, cells = k.sum(), n.sum(), len(k)
    if events == 0:
        return float(1 - tail ** (1 / cells)) if upper else 0.0
    if events == trials:
        return 1.0 if upper else float(tail ** (1 / cells))
    size = _effective(k, n) * (stdtrit(trials - 1, tail) / stdtrit(cells - 1, tail)) ** 2
    x = size * events / trials
    return float(betaincinv(x + 1, size - x, 1 - tail) if upper else betaincinv(x, size - x + 1, tail))


def _effective(k: Floats, n: Floats) -> float:
    """The number of independent trials whose rate varies as much as that of the cells; at most their number."""
    events, trials, cells = k.sum(), n.sum(), len(k)
    rate = events / trials
    variance = cells / (cells - 1) * ((k - rate * n) ** 2).sum() / trials**2
    return float(min(rate * (1 - rate) / variance, trials)) if variance > 0 else float(trials)
