"""How large the error gets once in a million trials, when five thousand were run: extrapolation of the largest ones.

Excesses over a high threshold follow a generalised Pareto law, whatever the law of the values (Pickands, Ann. Stat. 3
(1975) 119-131): of shape xi < 0 where the values have an upper end, 0 for exponential tails, > 0 for power laws.

Which quantity matters more than how. rho is error over the bound that rounding and conditioning excuse: its tail ends.
A relative error is divided by a result that may cancel: its density at 0 is positive, so P(relative error > r) ~ c/r
whatever the implementation, without mean or variance. The same 5,000 trials of a healthy batch_norm give a level of 1.8
[1.7, 1.9] of the error in units of its bound, and of 470 [75, 4770] of the relative error. So relative errors, and
errors in ulp of the result, are refused.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from results.errors import RefusedQuantity
from results.statistics.arguments import check_rate
from results.statistics.pareto import LEAST_EXCESSES, return_level_interval
from results.statistics.samples import Values, sample

Method: TypeAlias = Literal["profile likelihood", "observed maximum"]

_CANCELS = (
    "it is divided by a result that may cancel, so P(error > r) ~ c/r whatever the implementation: it has no finite "
    "moments and its extrapolation is meaningless; extrapolate rho, or count exceedances of a tolerance"
)
QUANTITIES: dict[str, str] = {
    "rho": "",
    "absolute error": "",
    "relative error": _CANCELS,
    "ulp error": _CANCELS,
}
"""What can be extrapolated, and why not."""

SHARE = 0.05
"""Share of the trials that counts as tail."""
LARGEST_REGULAR_SHAPE = -0.5
"""Below this shape the likelihood has no normal limit (Smith, Biometrika 72 (1985) 67-90), nor its ratio a chi-square
one: the end of the range is known from the largest value itself."""


class Tail(Struct, frozen=True):
    """The level that a trial exceeds with a given probability, or why the largest value seen has to do."""

    quantity: str
    trials: int
    probability: float
    """That a trial exceeds the level."""
    method: Method
    level: float | None
    """None with "observed maximum"."""
    low: float | None
    high: float | None
    confidence: float
    shape: float
    """xi of the fitted law."""
    threshold: float
    excesses: int
    """Trials above the threshold: what the fit rests on."""
    maximum: float
    """Largest value seen."""
    beyond: float
    """Upper bound, at the same confidence, on the probability that a trial exceeds the maximum: 1 -
    alpha^(1/trials)."""
    scale: float
    """sigma of the fitted law."""

    def exceedance(self, level: float) -> float:
        """Probability that a trial exceeds `level`, by the fitted law; ValueError for a level below the threshold."""
        if level < self.threshold:
            raise ValueError(f"the level {level:g} lies below the threshold {self.threshold:g}: count what exceeds it")
        y = (level - self.threshold) / self.scale
        if self.shape * y <= -1:
            return 0.0  # beyond the end of the range
        log = math.log1p(self.shape * y) / self.shape if self.shape else y
        return self.excesses / self.trials * math.exp(-log)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        once = f"one trial in {1 / self.probability:,.0f}"
        if self.level is None:
            return (
                f"the largest of {self.trials:,} trials is {self.maximum:.3g}, exceeded by fewer than one in "
                f"{1 / self.beyond:,.0f} ({self.confidence:.0%} confidence); the tail ends too abruptly to extrapolate"
            )
        interval = f"{self.confidence:.0%} interval {self.low:.3g} to {self.high:.3g}"
        return f"{once} exceeds {self.level:.3g} ({interval}), the largest of {self.trials:,} was {self.maximum:.3g}"


def return_level(
    values: Values, probability: float, *, quantity: str, confidence: float = 0.95, share: float = SHARE
) -> Tail:
    """The level that a trial exceeds with `probability`, from one value (the largest) of each trial.

    Estimand: the 1 - probability quantile of the quantity over the trials' population. Maximum likelihood over the top
    `share` of the trials and the profile likelihood interval of the level (`pareto`). Where the fitted shape lies below
    -0.5 the answer is the largest value seen and the exact bound on how often it is exceeded. Assumes independent
    trials of the same thing; compares only trials with equally many elements, for the largest of more elements is
    larger.

    `quantity` says what the values are: "rho" or "absolute error"; RefusedQuantity for "relative error" and "ulp
    error". ValueError for other names, values that are negative or not finite, fewer than 50 different trials above the
    threshold, and a probability that needs no extrapolation (`share` or more).
    """
    if quantity not in QUANTITIES:
        raise ValueError(f"quantity {quantity!r} is unknown: say which it is, {', '.join(QUANTITIES)}")
    if QUANTITIES[quantity]:
        raise RefusedQuantity(f"the {quantity} is not extrapolated: {QUANTITIES[quantity]}")
    check_rate(share, "the share of the tail")
    if not 0 < probability < share:
        raise ValueError(
            f"the probability is {probability!r}: give one between 0 and {share:g}; what is more frequent needs no "
            "extrapolation"
        )
    least = math.ceil(LEAST_EXCESSES / share)
    numbers = sample(values, quantity, least)
    if (numbers < 0).any():
        raise ValueError(f"{quantity}: {int((numbers < 0).sum())} values are negative: give sizes of errors")
    numbers = np.sort(numbers)
    trials = len(numbers)
    threshold = float(numbers[trials - round(share * trials) - 1])
    above = numbers[numbers > threshold]
    excesses = above - threshold
    if len(above) < LEAST_EXCESSES or len(set(above.tolist())) < LEAST_EXCESSES // 2:
        raise ValueError(
            f"{quantity}: only {len(above)} trials, {len(set(above.tolist()))} different ones, lie above the threshold "
            f"{threshold:g}: ties are no tail to fit; count exceedances instead"
        )
    fit = return_level_interval(excesses, probability * trials / len(above), confidence)
    maximum, beyond = float(numbers[-1]), float(-math.expm1(math.log(1 - confidence) / trials))
    common = (fit.shape, threshold, len(above), maximum, beyond, fit.scale)
    if fit.shape < LARGEST_REGULAR_SHAPE:
        return Tail(quantity, trials, probability, "observed maximum", None, None, None, confidence, *common)
    level, low, high = (threshold + part for part in (fit.level, fit.low, fit.high))
    return Tail(quantity, trials, probability, "profile likelihood", level, low, high, confidence, *common)
