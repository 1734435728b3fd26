"""Whether errors changed between two campaigns: another version of a library, another machine, another option.

One value a trial, its largest rho for instance. Two campaigns with different draws are two independent samples. Two
campaigns on the same draws (same problem, seed and index) are better compared trial by trial: `paired_drift` is not
misled by the scatter of the inputs, and bitwise equal trials count as unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.statistics.proportions import SIGNIFICANCE

if TYPE_CHECKING:
    from results.statistics.samples import Values

LEAST = 10
"""Values a side."""


class Drift(Struct, frozen=True):
    """Two independent samples compared."""

    first: int
    second: int
    median_first: float
    median_second: float
    superiority: float
    """Probability that a trial of the second has a larger value than one of the first, ties counted half."""
    distance: float
    """Largest difference of the two distribution functions (Kolmogorov-Smirnov), 0 to 1."""
    shift_p: float
    """Mann-Whitney: one sample tends to larger values."""
    shape_p: float
    """Kolmogorov-Smirnov: the distributions differ in any way."""

    @property
    def p(self) -> float:
        """Of both tests together (Bonferroni)."""
        return min(1.0, 2 * min(self.shift_p, self.shape_p))

    @property
    def differs(self) -> bool:
        """Whether the distributions differ at the 5 % level."""
        return self.p < SIGNIFICANCE


class PairedDrift(Struct, frozen=True):
    """The same trials, before and after."""

    trials: int
    changed: int
    rose: int
    """Of the changed trials, those whose value is larger afterwards."""
    median_first: float
    median_second: float
    p: float
    """Wilcoxon's signed-rank test of the changed trials."""

    @property
    def differs(self) -> bool:
        """Whether values tend to be larger on one side at the 5 % level."""
        return self.p < SIGNIFICANCE


def drift(first: Values, second: Values) -> Drift:
    """Compare one value a trial of two campaigns on different draws of the same problem or population.

    Mann and Whitney, Ann. Math. Stat. 18 (1947) 50-60, for a shift, with the probability of superiority U/(n m) as its
    size; Kolmogorov-Smirnov for any other change, such as a heavier tail (conservative with ties). By
    scipy.stats.mannwhitneyu and ks_2samp. Assumes independent trials and independent samples. ValueError for fewer than
    10 values or one that is not finite.
    """
    import warnings

    import numpy as np
    from scipy.stats import ks_2samp, mannwhitneyu

    from results.statistics.samples import sample

    one, other = sample(first, "first campaign", LEAST), sample(second, "second campaign", LEAST)
    pairs = len(one) * len(other)
    with warnings.catch_warnings():
        # Nearly equal samples make SciPy's exact sum overflow; it then takes the asymptotic law, and p is near 1.
        warnings.filterwarnings("ignore", "ks_2samp: Exact calculation unsuccessful", RuntimeWarning)
        distance = ks_2samp(one, other)
    shift = mannwhitneyu(other, one)
    return Drift(
        len(one),
        len(other),
        float(np.median(one)),
        float(np.median(other)),
        float(shift.statistic / pairs),
        float(distance.statistic),
        float(shift.pvalue),
        float(distance.pvalue),
    )


def paired_drift(first: Values, second: Values) -> PairedDrift:
    """Compare one value a trial of two campaigns on the same draws, paired by position.

    Wilcoxon, Biometrics Bull. 1 (1945) 80-83, on the differences of the values, trials without a difference left out
    (scipy.stats.wilcoxon). Assumes independent trials. ValueError for samples of different length, fewer than 10 values
    or one that is not finite.
    """
    import numpy as np
    from scipy.stats import wilcoxon

    from results.statistics.samples import sample

    one, other = sample(first, "first campaign", LEAST), sample(second, "second campaign", LEAST)
    if len(one) != len(other):
        raise ValueError(f"{len(one)} trials before, {len(other)} after: pair them by problem, seed and index")
    moved = (other - one)[other != one]
    p = float(wilcoxon(moved).pvalue) if len(moved) else 1.0
    medians = float(np.median(one)), float(np.median(other))
    return PairedDrift(len(one), len(moved), int((moved > 0).sum()), *medians, p)
