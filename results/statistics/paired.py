"""Which of two backends fails more often, when both ran the same trials.

Only the trials on which they disagree tell: those that both pass or both fail cancel. With independent trials that is
McNemar's test; with several trials a cell, cells are what is compared: McNemar's test fed with them calls a difference
in every sixth campaign in which there is none.
"""

from __future__ import annotations

from msgspec import Struct

from results.statistics.arguments import check_counts, error_probability
from results.statistics.proportions import SIGNIFICANCE, Interval, rate_interval
from results.statistics.samples import Counts, Floats, Values, cell_counts, sample

RESAMPLES = 9_999
"""Sign patterns drawn where there are too many to try all: p is then known to within 0.004 at 0.05."""


class PairedTrials(Struct, frozen=True):
    """Failures of two backends on the same independent trials."""

    trials: int
    only_first: int
    only_second: int
    difference: float
    """Rate of the first less that of the second: (only_first - only_second)/trials."""
    share: Interval | None
    """Of the trials on which they disagree, those on which the first fails; exact; 0.5 where neither is worse. None
    where they never disagree."""
    p: float
    test: str = "exact McNemar test"

    @property
    def differs(self) -> bool:
        """Whether one fails more often than the other, at the 5 % level."""
        return self.p < SIGNIFICANCE


class PairedCells(Struct, frozen=True):
    """Two backends compared over cells."""

    cells: int
    differing: int
    """Cells in which the two have different values."""
    first: float
    """Mean over cells."""
    second: float
    difference: float
    """first - second."""
    low: float | None
    """t interval of the difference over cells, for its size; None with fewer than two cells."""
    high: float | None
    p: float
    confidence: float
    test: str = "sign-flip permutation test over cells"

    @property
    def differs(self) -> bool:
        """Whether the two differ at the 5 % level."""
        return self.p < SIGNIFICANCE


def compare_trials(only_first: int, only_second: int, trials: int, confidence: float = 0.95) -> PairedTrials:
    """Two backends on the same independent trials, of which `only_first` fail in the first only, and so on.

    McNemar, Psychometrika 12 (1947) 153-157, in its exact form: a disagreement is as likely to fall on either side
    where both fail equally often, so p = scipy.stats.binomtest(only_first, only_first + only_second, 0.5). Assumes
    trials that are independent of each other (one problem of a fixed plan, or a survey with one trial a problem).
    ValueError unless the counts are possible.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"{only_first} and {only_second} disagreements: counts are not negative")
    disagreements = only_first + only_second
    check_counts(disagreements, trials)
    if not disagreements:
        return PairedTrials(trials, 0, 0, 0.0, None, 1.0)
    share = rate_interval(only_first, disagreements, confidence)
    difference = (only_first - only_second) / trials
    return PairedTrials(trials, only_first, only_second, difference, share, sign_test(only_first, only_second))


def compare_cells(
    events_first: Counts,
    events_second: Counts,
    trials: Counts | int,
    confidence: float = 0.95,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedCells:
    """Two backends on the same cells: cell i has `trials[i]` trials, of which each fails in so many.

    Compares the cells' rates, each cell counting once, as `compare_values` does; ValueError for impossible counts.
    """
    first, n = cell_counts(events_first, trials, "events of the first backend")
    second, _ = cell_counts(events_second, trials, "events of the second backend")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} cells of the first backend, {len(second)} of the second: pair them by cell")
    return compare_values(first / n, second / n, confidence, resamples=resamples, seed=seed)


def compare_values(
    first: Values, second: Values, confidence: float = 0.95, *, resamples: int = RESAMPLES, seed: int = 0
) -> PairedCells:
    """Two backends with one value a cell each (a rate, a mean, a log rms), paired by position.

    Null hypothesis: within every cell the two values could as well be exchanged. p is the share of sign patterns of the
    differences whose mean is as far from 0 (Fisher 1935; scipy.stats.permutation_test, permutation_type="samples"): all
    patterns where there are no more than `resamples`, else so many drawn with `seed`. Assumes cells that are
    independent of each other; says something about the cells at hand, and about their generator if they were drawn from
    one.
    """
    one, other = sample(first, "values of the first backend"), sample(second, "values of the second backend")
    if len(one) != len(other):
        raise ValueError(f"{len(one)} values of the first backend, {len(other)} of the second: pair them by cell")
    differences = one - other
    moved = differences[differences != 0]
    low, high = _t_interval(differences, confidence)
    p = _flips(moved, resamples, seed) if len(moved) > 1 else 1.0  # one difference is as far from 0 with either sign
    means = float(one.mean()), float(other.mean()), float(differences.mean())
    return PairedCells(len(one), len(moved), *means, low, high, p, confidence)


def sign_test(one: int, other: int) -> float:
    """p of scipy.stats.binomtest(one, one + other, 0.5), which takes a second to import; 1 where both are 0."""
    from scipy.special import bdtr

    return float(min(1.0, 2 * bdtr(min(one, other), one + other, 0.5))) if one + other else 1.0


def _flips(differences: Floats, resamples: int, seed: int) -> float:
    """Two-sided p of the mean of the differences when signs are exchanged at random."""
    import numpy as np
    from scipy.stats import permutation_test

    # With one sample "samples" changes the signs of its values, which is what exchanging a pair does to its difference.
    found = permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def _t_interval(differences: Floats, confidence: float) -> tuple[float | None, float | None]:
    from scipy.special import stdtrit

    tail = error_probability(confidence) / 2
    cells = len(differences)
    if cells < 2:
        return None, None
    reach = float(stdtrit(cells - 1, 1 - tail) * differences.std(ddof=1) / cells**0.5)
    mean = float(differences.mean())
    return mean - reach, mean + reach
