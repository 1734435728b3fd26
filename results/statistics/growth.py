"""How errors grow with the number n of terms: not at all (compensated, or a balanced tree), like sqrt(n), or like n.

Rounding errors of a sum of n terms of one sign, relative to u sum |x|, stay about constant in pairwise and blocked
sums, grow like sqrt(n) in a running sum, whose roundings are independent, and like n where they are not: a constant
added again and again, an accumulator that no longer moves. Measure on positive data: with signs the law of all is
flatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from results.statistics.arguments import error_probability

if TYPE_CHECKING:
    from results.statistics.samples import Values

Law: TypeAlias = Literal["decreasing", "constant", "square root", "linear", "in between", "faster", "indeterminate"]

LAWS: tuple[tuple[Law, float], ...] = (("constant", 0.0), ("square root", 0.5), ("linear", 1.0))
"""Exponents that have a name."""

NEAR = 0.05
"""An interval that lies whole within this distance of a named exponent is called by it, too: with little scatter it may
be 0.50 to 0.52, and over sizes of 1 to 40 no law shows its exponent to two digits."""

LEAST_TRIALS = 10
"""A size: the log of a root mean square of fewer scatters too unevenly for a normal law."""
LEAST_SIZES = 4


class Growth(Struct, frozen=True):
    """error ~ n^slope, with the t interval of the slope and what it says."""

    sizes: int
    trials: int
    """In all."""
    slope: float
    low: float
    high: float
    confidence: float
    law: Law
    """The named exponent inside the interval, or within 0.05 of all of it; "indeterminate" where there are several, "in
    between" where there is none (below 0: "decreasing", above 1: "faster")."""


def growth_law(sizes: Sequence[float], errors: Sequence[Values], confidence: float = 0.95) -> Growth:
    """The exponent of the growth of errors: `errors[i]` holds one value a trial at size `sizes[i]`.

    The values are errors of any sign and unit (rms or largest of a trial, in u E, in u sum |x|). Least squares of the
    log of their root mean square at each size against log n; the interval is Student's with sizes - 2 degrees of
    freedom, as scipy.stats.linregress gives the standard error. Assumes trials that are independent and equally
    scattered, on a log scale, at all sizes. ValueError for fewer than 4 different sizes, fewer than 10 trials at one,
    values that are not finite, or a size at which all errors are 0.
    """
    import numpy as np

    from results.statistics.samples import sample

    n = sample(sizes, "sizes")
    if len(n) != len(errors):
        raise ValueError(f"{len(n)} sizes, but errors of {len(errors)}")
    if (n <= 0).any() or len(set(n.tolist())) != len(n) or len(n) < LEAST_SIZES:
        raise ValueError(f"sizes {n.tolist()}: the growth law needs at least {LEAST_SIZES} different positive sizes")
    values = [sample(trials, f"errors at size {size:g}", LEAST_TRIALS) for size, trials in zip(n, errors, strict=True)]
    largest = [float(np.abs(trials).max()) for trials in values]
    exact = [f"{size:g}" for size, most in zip(n, largest, strict=True) if most == 0]
    if exact:
        raise ValueError(f"all errors are 0 at size {', '.join(exact)}: results that are exact have no growth law")
    # Divided by the largest first: squares of errors of 1e-200 would vanish.
    rms = [m * float(np.sqrt(np.mean((v / m) ** 2))) for m, v in zip(largest, values, strict=True)]
    return fitted_law(n.tolist(), rms, sum(map(len, values)), confidence)


def fitted_law(sizes: Sequence[float], errors: Sequence[float], trials: int, confidence: float = 0.95) -> Growth:
    """The same from the root mean square of the errors at each size, of so many trials in all; all positive.

    For those who have them already, such as a database.
    """
    import numpy as np
    from scipy.special import stdtrit

    if len(set(sizes)) != len(sizes) or len(sizes) < LEAST_SIZES or min(*sizes, *errors) <= 0:
        raise ValueError(f"sizes {list(sizes)}: needs {LEAST_SIZES} different positive sizes, and positive errors")
    x, y = np.log(sizes), np.log(errors)
    x -= x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    freedom = len(sizes) - 2
    error = float(np.sqrt(rest @ rest / freedom / (x @ x)))
    reach = float(stdtrit(freedom, 1 - error_probability(confidence) / 2)) * error
    low, high = slope - reach, slope + reach
    return Growth(len(sizes), trials, slope, low, high, confidence, _law(low, high))


def _law(low: float, high: float) -> Law:
    inside = [law for law, exponent in LAWS if low <= exponent <= high]
    if not inside:
        inside = [law for law, exponent in LAWS if exponent - NEAR <= low and high <= exponent + NEAR]
    if inside:
        return inside[0] if len(inside) == 1 else "indeterminate"
    return "decreasing" if high < 0 else "faster" if low > 1 else "in between"
