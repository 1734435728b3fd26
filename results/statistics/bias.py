"""Whether errors lean to one side: truncation in place of rounding, a constant that is off, a term left out.

The elements of one output share inputs and intermediate results, so a thousand elements of a trial are not a thousand
observations: a t-test over pooled elements calls a bias in 40 % of campaigns that have none. One value a trial enters
here: the mean signed error of its elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.errors import RefusedQuantity
from results.statistics.arguments import error_probability
from results.statistics.proportions import SIGNIFICANCE

if TYPE_CHECKING:
    from results.statistics.samples import Floats, Values


class Bias(Struct, frozen=True):
    """The mean signed error of a trial, in the unit of the values (u, the unit roundoff, for `abs_mean` scaled so)."""

    trials: int
    mean: float
    low: float
    """t interval of the mean."""
    high: float
    confidence: float
    p: float
    """t-test of mean 0."""
    wilcoxon_p: float
    """Wilcoxon's signed-rank test: the same question, not led by a few large values; it takes the values to be
    distributed symmetrically."""

    @property
    def differs(self) -> bool:
        """Whether the mean differs from 0 at the 5 % level."""
        return self.p < SIGNIFICANCE


def signed_bias(means: Values, *, trials: int, confidence: float = 0.95) -> Bias:
    """The bias behind the mean signed errors `means` of so many independent trials, one value a trial.

    Estimand: the expected mean signed error of a trial. Student's t (scipy.stats.ttest_1samp) and Wilcoxon's test
    (scipy.stats.wilcoxon, zeros left out). Assumes trials that are independent draws of the same thing; where several
    share a problem, give one mean a problem. Values that are all equal have a p of 0 (of 1 where they are 0): they do
    not scatter.

    RefusedQuantity for values that are not one a trial (a matrix, or more or fewer than `trials`). ValueError for fewer
    than 3 trials or values that are not finite.
    """
    import numpy as np
    from scipy.special import stdtr, stdtrit

    from results.statistics.samples import sample

    tail = error_probability(confidence) / 2
    shape = np.shape(means)
    if shape != (trials,):
        raise RefusedQuantity(
            f"signed bias of values of shape {shape} from {trials} trials: elements of a trial are not independent, "
            "pooled they find a bias that is none; give the mean of each trial, one value a trial"
        )
    values = sample(means, "signed bias", least=3)
    if values.min() == values.max():
        mean = float(values[0])
        return Bias(trials, mean, mean, mean, confidence, float(mean == 0), _signed_rank(values))
    # Divided by the largest first: squares of 1e-200 would vanish, those of 1e200 overflow.
    unit = float(np.abs(values).max())
    scaled = values / unit
    mean, spread = float(scaled.mean()), float(scaled.std(ddof=1) / trials**0.5)
    reach = float(stdtrit(trials - 1, 1 - tail)) * spread
    p = float(2 * stdtr(trials - 1, -abs(mean) / spread))
    low, high = (mean - reach) * unit, (mean + reach) * unit
    return Bias(trials, mean * unit, low, high, confidence, p, _signed_rank(scaled))


def _signed_rank(values: Floats) -> float:
    from scipy.stats import wilcoxon

    moved = values[values != 0]
    return float(wilcoxon(moved).pvalue) if len(moved) else 1.0
