"""log |Gamma(x)| in long double, where SciPy has float64 only.

SciPy's own float64 values are up to six of their bounds off around the roots 1 and 2, too far for a truth that float64
implementations are compared with. Power series up to 4.5 (DLMF 5.7.3), beyond it Stirling's series after a shift by
recurrence (DLMF 5.11.1, 5.5.1), reflection for negative x (DLMF 5.5.3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from fuzz.oracle.frames import Real

_SHIFTED = 10
"""Stirling's series is used from here on; its tenth term is below 2^-62 there, 0.003 of float64's bound."""

_BERNOULLI = (
    (1, 6),
    (-1, 30),
    (1, 42),
    (-1, 30),
    (5, 66),
    (-691, 2730),
    (7, 6),
    (-3617, 510),
    (43867, 798),
    (-174611, 330),
)
"""B_2, B_4, ... as fractions."""

_SLOPE_AT_2 = "0.4227843350984671393934879"
"""1 - Euler's constant."""

_SERIES = (
    "0.3224670334241132182362076",
    "0.06735230105319809513324605",
    "0.02058080842778454787900092",
    "0.007385551028673985266273097",
    "0.002890510330741523285752988",
    "0.001192753911703260977113936",
    "0.0005096695247430424223356548",
    "0.0002231547584535793797614188",
    "0.00009945751278180853371459589",
    "0.0000449262367381331417002075",
    "0.0000205072127756706915531665",
    "0.000009439488275268395903987425",
    "0.000004374866789907487804181793",
    "0.000002039215753801366236781901",
    "0.000000955141213040741983285718",
    "0.000000449246919876456604329429",
    "0.0000002120718480555466586923136",
    "0.0000001004322482396809960872083",
    "4.769810169363980565760193e-8",
    "2.271109460894316491031998e-8",
    "1.083865921489695409107492e-8",
    "5.183475041970046655121249e-9",
    "2.483674543802478317185009e-9",
    "1.192140140586091207442548e-9",
    "5.731367241678862013330195e-10",
    "2.75952288512423314517815e-10",
    "1.330476437424448948149716e-10",
    "6.422964563838100022082448e-11",
    "3.104424774732227276239216e-11",
    "1.502138408075414217093301e-11",
    "7.27597448023907966250455e-12",
)
"""(zeta(k) - 1) / k for k = 2, 3, ...: the terms left out are below 2^-70 for arguments up to 1/2."""

_SERIES_UP_TO = 4.5
"""The series about 2 holds for |x - 2| <= 1/2; up to two steps of the recurrence lead there."""

_PI = "3.14159265358979323846264338327950288"
_HALF_LOG_TWO_PI = "0.91893853320467274178032973640561764"


def loggamma(x: Real, out: Real) -> Real:
    """log |Gamma(x)| into `out`: SciPy's for float64, this module's for long double."""
    if x.dtype != np.longdouble:
        scipy.special.gammaln(x, out=out)
        np.copyto(out, np.inf, where=np.isinf(x))  # SciPy gives -inf at -inf
        return out
    reflected = x < 0
    y = np.where(reflected, 1.0 - x, x)
    np.copyto(out, _positive(y))
    if reflected.any():
        nearest = np.round(x)
        sine = np.abs(np.sin(np.longdouble(_PI) * (x - nearest)))
        np.copyto(out, np.log(np.longdouble(_PI) / sine) - out, where=reflected)
    np.copyto(out, np.inf, where=np.isinf(x) | ((x <= 0) & (x == np.round(x))))
    return out


def _positive(x: Any) -> Any:
    """For x >= 0. Around the roots 1 and 2 the series keeps the digits that Stirling's formula cancels."""
    return np.where(x <= _SERIES_UP_TO, _series(np.minimum(x, _SERIES_UP_TO)), _stirling(x))


def _series(x: Any) -> Any:
    """log Gamma(2 + z) by powers of z, then - log(1 + z) and - log x below, + log (x - 1)(x - 2) above."""
    above = np.where(x > 3.5, (x - 1.0) * (x - 2.0), np.where(x > 2.5, x - 1.0, 1.0))
    x = x - np.where(x > 3.5, 2.0, np.where(x > 2.5, 1.0, 0.0))
    below = x < 1.5
    lowest = x < 0.5
    z = x - np.where(lowest, 0.0, np.where(below, 1.0, 2.0))
    total = np.zeros_like(x)
    for coefficient in reversed(_SERIES):
        total = np.longdouble(coefficient) - z * total
    y = z * (np.longdouble(_SLOPE_AT_2) + z * total)
    y = np.where(below, y - np.log1p(z), y)
    return np.where(lowest, y - np.log(x), y) + np.log(above)


def _stirling(x: Any) -> Any:
    """For x > 0: log Gamma(x + k) - log(x (x + 1) ... (x + k - 1)), with x + k >= _SHIFTED."""
    product = np.ones_like(x)
    shifted = x.copy()
    for _ in range(_SHIFTED):
        small = shifted < _SHIFTED
        if not small.any():
            break
        product = np.where(small, product * shifted, product)
        shifted = np.where(small, shifted + 1.0, shifted)
    inverse = 1.0 / (shifted * shifted)
    series = np.zeros_like(x)
    for k in range(len(_BERNOULLI), 0, -1):
        numerator, denominator = _BERNOULLI[k - 1]
        coefficient = np.longdouble(numerator) / np.longdouble(denominator * 2 * k * (2 * k - 1))
        series = series * inverse + coefficient
    main = (shifted - 0.5) * np.log(shifted) - shifted + np.longdouble(_HALF_LOG_TWO_PI)
    return main + series / shifted - np.log(product)


def digamma(x: Real) -> Real:
    """Slope of `loggamma` to the few digits that a bound needs: SciPy's takes 3 us an element around the root at 1.46.

    psi(y) = psi(y + 6) - sum of 1/(y + k) (DLMF 5.5.2), psi(y + 6) by its asymptotic series (5.11.2) to 1e-9,
    psi(x) = psi(1 - x) - pi / tan(pi x) for negative x (5.5.4).
    """
    reflected = x < 0
    some = bool(reflected.any())
    y = np.where(reflected, 1.0 - x, x) if some else x
    shifted = y + 6.0
    square = 1.0 / (shifted * shifted)
    slope: Real = np.log(shifted) - 0.5 / shifted - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
    for k in range(6):
        slope = slope - 1.0 / (y + k)
    if some:
        slope = np.where(reflected, slope - math.pi / np.tan(math.pi * (x - np.round(x))), slope)
    return slope
