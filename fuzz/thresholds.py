"""Every threshold of a verdict, with its derivation. Nothing else in the engine holds such a number."""

from __future__ import annotations

from typing import Final

ACCEPT: Final = 1.0
"""rho up to which the bound itself excuses the error. 4,255 healthy float32 trials stayed below 0.97."""

FLAG: Final = 2.0
"""rho above which an element is flagged. Rounding errors of a sum have standard deviation 0.22 in units of
u sqrt(n) sum|x|, so 2 is nine standard deviations; between 1 and 2 a trial is `borderline`."""

ORDER: Final = 4.0
"""rho under the pairwise model above which the order of accumulation is questioned: healthy pairwise sums stay
below 2.1, a sequential sum of 65,536 positive terms reaches 8."""

WRONG_SLOPE: Final = 0.5
"""s = log2(rho64/rho32)/29 above which the error does not shrink with precision (other pairs likewise, by the bits
between their formats). Rounding and instability measure |s| <= 0.31, a wrong constant or formula 1.00."""

LOST: Final = 0.5
"""Relative error from which an element has no correct digit: its error cannot grow with precision any more, so its
slope is 1 whether the formula is wrong or merely loses all digits in this region."""


def lost_at_most(u: float, inputs: float) -> float:
    """Largest error that an unstable formula can leave of inputs up to `inputs` in the format with unit roundoff `u`.

    To lose e it must round an intermediate of e/u: above this limit one 1/sqrt(u) times larger than the squares of the
    inputs, and than 1. One-pass variances round squares, differences of exponentials and 1 - erf numbers of about 1.
    """
    return float(u**0.5) * max(1.0, inputs) ** 2


REPRESENTABLE_SHARE: Final = 0.99
"""Share of the higher rung's outputs that are numbers of the lower format, or that ignore the extra low bits of the
inputs, from which on the work was done in the lower format. Genuine float64 results measure 0.00."""

DOWNCAST_RMS: Final = (1e-3, 2.0)
"""Range of the rms error in bounds of the lower format that its arithmetic inside a result of the higher one shows:
0.05-0.6 where all of it is float32, 0.003-0.06 where one intermediate is."""

REPEATS: Final = 1.0 - 1e-6
"""Correlation of the float64 errors on two draws that differ in bits 25 and beyond only, from which on they are no
roundings in float32: those measure 0.3-0.98 (0.9999 for a single row), a wrong formula or constant 1 - 1e-15."""

COARSE_UNITS: Final = ((2.0**-11, "2^-11 (TF32 or float16)"), (2.0**-8, "2^-8 (bfloat16)"))
"""Unit roundoffs of narrower formats that hardware mixes in."""

COARSE_SPAN: Final = 2.0**-10
"""Share of a coarser unit that its roundings leave at least in units of E on small samples: E holds up to some hundred
roundings. What errs by less, such as a few roundings of float64, does not come from that unit."""

LOW_PRECISION_SHARE: Final = 0.5
"""Share of elements above FLAG, on benign data with reductions of at most two terms, from which a coarser unit is the
cause: with one every element is affected, with cancellation only few."""

LOW_PRECISION_ELEMENTS: Final = 16
"""Elements from which on that share is looked at where reductions cannot be shortened. jax's lgamma exceeds FLAG at 22
% of N(0,1) numbers in float32 alone: half of 16 do so by chance in 1 % of the draws, half of 8 in 7 %."""


def ill_conditioned_above(u: float) -> float:
    """Relative error that calls for an explanation: sqrt(u), half of the digits are gone."""
    return float(u**0.5)
