"""psi, the derivative of log |Gamma|, in long double, where SciPy has float64 only, and its slope for error bounds.

psi(y) = psi(y + k) - sum of 1/(y + i) (DLMF 5.5.2), with the asymptotic series (5.11.2) from 12 on, and
psi(x) = psi(1 - x) - pi / tan(pi x) for negative x (5.5.4).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from fuzz.oracle.frames import Frame, Real

_SHIFTED = 12
"""The series is used from here on; the first term left out is below 2^-67 there."""
_TERMS = ((1, 12), (-1, 120), (1, 252), (-1, 240), (1, 132), (-691, 32760), (1, 12), (-3617, 8160), (43867, 14364))
"""B_2k / 2k for k = 1, 2, ... as fractions."""
_PI = "3.14159265358979323846264338327950288"


def digamma(x: Real, out: Real) -> Real:
    """psi(x) into `out`: SciPy's for float64, this module's for long double; NaN at -1, -2, ..., infinite at 0."""
    if x.dtype != np.longdouble:
        scipy.special.psi(x, out=out)
        return out
    reflected = x < 0
    shifted = np.where(reflected, 1.0 - x, x)
    total = np.zeros_like(x)
    for _ in range(_SHIFTED):
        small = shifted < _SHIFTED
        if not small.any():
            break
        total = np.where(small, total - 1.0 / shifted, total)
        shifted = np.where(small, shifted + 1.0, shifted)
    inverse = 1.0 / (shifted * shifted)
    series = np.zeros_like(x)
    for numerator, denominator in reversed(_TERMS):
        series = (series + np.longdouble(numerator) / denominator) * inverse
    np.copyto(out, np.where(np.isposinf(x), x, np.log(shifted) - 0.5 / shifted - series + total))
    if reflected.any():
        pi = np.longdouble(_PI)
        np.copyto(out, out - pi / np.tan(pi * (x - np.round(x))), where=reflected)
        np.copyto(out, np.nan, where=reflected & (x == np.round(x)))
    np.copyto(out, np.copysign(np.inf, -x), where=x == 0)
    return out


def _trigamma(x: Any) -> Any:
    """The derivative of psi, by zeta(2, x) and reflection (DLMF 5.15.6): a few digits are enough."""
    narrow = np.asarray(x, np.float64)
    positive = scipy.special.zeta(2.0, np.where(narrow < 0.5, 1.0 - narrow, narrow))
    sine = np.sin(math.pi * (narrow - np.round(narrow)))
    return np.where(narrow < 0.5, (math.pi / sine) ** 2 - positive, positive)


_TERM = 4.0
"""Units of u that each term of the formula errs by: 3.5 is the largest seen among the healthy (torch and jax, float32
and float64). Every library adds up these terms; beside the root 1.46 they cancel."""
_STEPS = 6


def _terms(x: Any) -> Any:
    """Sum of the magnitudes of what psi is added up from: log x + ..., 1/x, 1/(x + 1), ..., and pi / tan(pi x)."""
    narrow = np.asarray(x, np.float64)
    y = np.where(narrow < 0, 1.0 - narrow, narrow)
    total = np.abs(scipy.special.psi(y + _STEPS)) + sum(1.0 / (y + k) for k in range(_STEPS))
    tangent = np.tan(math.pi * (narrow - np.round(narrow)))
    return np.where(narrow < 0, total + np.abs(math.pi / tangent), total)


def psi(f: Frame) -> None:
    """z = psi(x). At its roots the errors of x and of the terms remain, at a pole the first order is void."""
    (x,) = f.operands
    digamma(x.value, out=f.value)
    f.carry(x, np.asarray(np.absolute(_trigamma(x.value)), f.value.dtype))
    f.put(0, f.charges.rounding * _TERM * np.asarray(_terms(x.value), f.value.dtype))
    f.local(f.charges.constants["psi"])
