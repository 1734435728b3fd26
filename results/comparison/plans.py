"""How many trials a comparison or a claim needs, how the figure was got, and what it assumes."""

from __future__ import annotations

from msgspec import Struct

from results.statistics.planning import (
    exact_power,
    failure_free_trials,
    power_of_comparison,
    trials_against_published,
    trials_to_tell,
)
from results.statistics.proportions import SIGNIFICANCE, one_sided_upper

CONFIDENCE = 0.95


class Told(Struct, frozen=True, kw_only=True):
    """Trials that tell one rate from another."""

    rate: float
    against: float
    published: tuple[int, int] | None
    """The count behind `against`, where it is a published one; else both campaigns are run."""
    power: float
    tests: int
    significance: float
    """Of one test: 0.05/tests."""
    trials: int | None
    """In each campaign, or of one's own against a published count; None where no number suffices."""
    approximate_power: float | None
    """At that number, by the normal approximation."""
    exact_power: float | None
    """At that number, summed over all outcomes; None where there are too many of them."""
    raised: bool
    """Whether the number is not that of the normal approximation, whose exact power is less than asked for."""


class Excluded(Struct, frozen=True, kw_only=True):
    """Trials without a failure that exclude a rate."""

    rate: float
    confidence: float
    trials: int
    upper: float
    """What so many trials without a failure exclude: rates of this and more, exactly (Clopper and Pearson)."""
    upper_before: float
    """The same with one trial less."""


class Planned(Struct, frozen=True):
    """Answers to what was asked."""

    told: Told | None = None
    excluded: Excluded | None = None


def to_tell(
    rate: float, against: float, power: float, tests: int = 1, published: tuple[int, int] | None = None
) -> Told:
    """Trials a side that tell `rate` from `against` with probability `power`, in a comparison of so many tests.

    With `published` (k, n) the other side is that count and only one's own trials are planned. A comparison adjusts its
    p-values for all its tests; what it leaves to a single real difference is a significance of 0.05/tests (Bonferroni).
    ValueError for rates or powers that are none, or equal rates.
    """
    if tests < 1:
        raise ValueError(f"the number of tests is {tests}: needs one at least")
    significance = SIGNIFICANCE / tests
    if published is None:
        trials: int | None = trials_to_tell(rate, against, power, significance)
        other = trials
    else:
        trials = trials_against_published(rate, *published, power, significance)
        other = published[1]
    facts = {"rate": rate, "against": against, "published": published, "power": power, "tests": tests}
    approximate = exact = None
    raised = False
    if trials is not None and other is not None:
        approximate = power_of_comparison(rate, trials, against, other, significance)
        fewer = max(trials - 1, 1)
        before = power_of_comparison(rate, fewer, against, other if published else fewer, significance)
        raised = approximate < power or (trials > 1 and before >= power)
        exact = exact_power(rate, trials, against, other, significance)
    return Told(
        **facts,  # type: ignore[arg-type]
        significance=significance,
        trials=trials,
        approximate_power=approximate,
        exact_power=exact,
        raised=raised,
    )


def to_exclude(rate: float) -> Excluded:
    """Trials without a failure that exclude rates of `rate` and more with 95 % confidence. ValueError for no rate."""
    trials = failure_free_trials(rate, CONFIDENCE)
    before = one_sided_upper(0, trials - 1, CONFIDENCE) if trials > 1 else 1.0
    return Excluded(
        rate=rate,
        confidence=CONFIDENCE,
        trials=trials,
        upper=one_sided_upper(0, trials, CONFIDENCE),
        upper_before=before,
    )
