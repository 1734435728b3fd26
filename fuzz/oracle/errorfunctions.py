"""erf, erfc and erfinv in long double, where SciPy has float64 only.

A truth for float64 implementations must not be one of them: SciPy's erfc flushes subnormal results to 0. Everything
here but the first guess of erfinv is independent of the libraries under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from fuzz.oracle.frames import Real

_K = 3.75
_SCALED = (
    "1.177578934567401754080459",
    "-0.004590054580646477330853356",
    "-0.08424913336651791558350624",
    "0.05920993999819189049807705",
    "-0.02665866843530575227738735",
    "0.009074997670705265093878874",
    "-0.002413163540417608190942522",
    "0.00049077583652580863228587",
    "-0.00006916973302501206367095533",
    "0.000004139027986073010167533729",
    "0.0000007740383066198490668632915",
    "-0.0000002188640104923439566148978",
    "1.07649994656709103771365e-8",
    "4.521959811218286897930918e-9",
    "-7.754400208831351106474482e-10",
    "-6.318088340886684494384997e-11",
    "2.868795010930669898142463e-11",
    "1.945586854577734722952947e-13",
    "-9.654696748433438905851145e-13",
    "3.252548148148739841541959e-14",
    "3.347811948286805387827033e-14",
    "-1.864562880419313101543793e-15",
    "-1.250795053068864708532095e-15",
    "7.418235256624043463048281e-17",
    "5.068148904796111316806933e-17",
    "-2.237056659435999597369047e-18",
    "-2.187342944303017664994983e-18",
    "2.676632739925876174457664e-20",
    "9.736561401741450766549867e-20",
    "3.321484090510130058147972e-21",
    "-4.290286707901327427786238e-21",
    "-4.134279349603023911695547e-22",
)
"""Chebyshev coefficients in t = (x - K) / (x + K) of (1 + 2x) exp(x*x) erfc(x) for all x >= 0 (Shepherd and
Laframboise, Math. Comp. 36 (1981) 249), interpolated at 120 points with 60 digits. Those left out sum up to less than
2^-70."""

_TWO_OVER_ROOT_PI = "1.12837916709551257389615890312154517"
_HALF_ROOT_PI = "0.886226925452758013649083741670572591"
_PI = "3.14159265358979323846264338327950288"

_SERIES_UP_TO = 0.5
_TERMS = 16
"""Of the power series of erf up to 1/2 (DLMF 7.6.1): the first left out is below 2^-75."""

_HIGH = 2.0**36
"""Added and subtracted, it leaves an argument below 2^7 its bits down to 2^-27; their square has 64 bits at most up to
32, and is off by half a unit of its last place beyond."""

_VANISHES = 107.0
"""From here on erfc is below the smallest number of any long double."""

_SMALL = 2.0**-12
"""Up to here four terms of the series of erfinv have 80 bits (DLMF 7.17.2)."""

_BLOCK = 2048
"""Elements at a time."""

_LARGEST_GUESS = 6.0
_MOST_STEPS = 8
_SETTLED = 1e-8
"""A relative step of Halley's method from which on the next would be below 2^-70: it triples the digits."""


def erf(x: Real, out: Real) -> Real:
    """erf x into `out`: SciPy's for float64, this module's for long double."""
    if x.dtype != np.longdouble:
        scipy.special.erf(x, out=out)
        return out
    _by_blocks(_erf, x, out)
    return out


def erfc(x: Real, out: Real) -> Real:
    """erfc x into `out`, likewise."""
    if x.dtype != np.longdouble:
        scipy.special.erfc(x, out=out)
        return out
    _by_blocks(_erfc, x, out)
    return out


def erfinv(x: Real, out: Real) -> Real:
    """The inverse of erf into `out`: SciPy's value for float64, for long double only the first guess."""
    if x.dtype != np.longdouble:
        scipy.special.erfinv(x, out=out)
        return out
    _by_blocks(_erfinv, x, out)
    return out


def _by_blocks(function: Callable[[Any], Any], x: Real, out: Real) -> None:
    """A hundred passes over one block in the cache cost half of those over everything."""
    source, result = np.ascontiguousarray(x).reshape(-1), np.empty(x.size, np.longdouble)
    for start in range(0, x.size, _BLOCK):
        here = slice(start, start + _BLOCK)
        result[here] = function(source[here])
    np.copyto(out, result.reshape(out.shape))


def _erf(x: Any) -> Any:
    return np.copysign(_both(np.abs(x)), x)


def _erfc(x: Any) -> Any:
    magnitude = np.abs(x)
    result = np.empty_like(x)
    near = magnitude <= _SERIES_UP_TO
    result[near] = 1.0 - np.copysign(_series(magnitude[near]), x[near])
    far = ~near
    result[far] = _tail(magnitude[far])
    return np.where(far & (x < 0), 2.0 - result, result)


def _erfinv(x: Any) -> Any:
    magnitude = np.abs(x)
    result = _inverse_series(np.minimum(magnitude, _SMALL))
    inner = (magnitude > _SMALL) & (magnitude < 1.0)
    m = magnitude[inner]
    y: Any = scipy.special.erfinv(m.astype(np.float64)).astype(np.longdouble)
    y = np.minimum(y, _LARGEST_GUESS)  # of arguments that float64 rounds to 1
    low = m <= _SERIES_UP_TO
    for _ in range(_MOST_STEPS):
        residual = np.empty_like(y)
        residual[low] = _both(y[low]) - m[low]
        residual[~low] = (1.0 - m[~low]) - _tail(y[~low])
        step = residual / (np.longdouble(_TWO_OVER_ROOT_PI) * _gauss(y))
        step = step / (1.0 + y * step)
        y = y - step
        if not (np.abs(step) > _SETTLED * y).any():
            break
    result[inner] = y
    result = np.where(magnitude == 1.0, np.inf, np.where(magnitude > 1.0, np.nan, result))
    return np.copysign(np.where(np.isnan(x), x, result), x)


def _both(y: Any) -> Any:
    """erf y for y >= 0."""
    result = np.empty_like(y)
    near = y <= _SERIES_UP_TO
    result[near] = _series(y[near])
    result[~near] = 1.0 - _tail(y[~near])
    return result


def _series(magnitude: Any) -> Any:
    """erf of magnitudes up to 1/2."""
    m = magnitude
    square = m * m
    total = np.zeros_like(m)
    for k in range(_TERMS - 1, -1, -1):
        coefficient = np.longdouble((-1) ** k) / (math.factorial(k) * (2 * k + 1))
        total *= square
        total += coefficient
    return np.longdouble(_TWO_OVER_ROOT_PI) * (m * total)


def _gauss(magnitude: Any) -> Any:
    """exp(-x*x) for x >= 0 with the square in two parts: rounded, it would cost x*x ulp."""
    x = np.minimum(magnitude, _VANISHES)
    high = (x + np.longdouble(_HIGH)) - np.longdouble(_HIGH)
    return np.exp(-high * high) * np.exp((high - x) * (high + x))


def _tail(magnitude: Any) -> Any:
    """erfc x for x >= 0 by its scaled form."""
    x = np.minimum(magnitude, _VANISHES)
    t = (x - _K) / (x + _K)
    twice = t + t
    b, before, scratch = np.zeros_like(x), np.zeros_like(x), np.empty_like(x)
    for coefficient in reversed(_SCALED[1:]):
        np.multiply(twice, b, out=scratch)
        scratch -= before
        scratch += np.longdouble(coefficient)
        b, before, scratch = scratch, b, before
    scaled = (t * b - before) + np.longdouble(_SCALED[0])
    return np.where(magnitude < _VANISHES, scaled / (1.0 + 2.0 * x) * _gauss(x), np.where(np.isnan(x), x, 0.0))


def _inverse_series(magnitude: Any) -> Any:
    """erfinv of small magnitudes: sqrt(pi)/2 (x + w/3 x^3 ...) with w = pi/4 x*x: 1, 1/3, 7/30, 127/630."""
    w = (np.longdouble(_PI) / 4.0) * (magnitude * magnitude)
    third, fourth = np.longdouble(7) / 30, np.longdouble(127) / 630
    total = 1.0 + w * (np.longdouble(1) / 3 + w * (third + w * fourth))
    return np.longdouble(_HALF_ROOT_PI) * magnitude * total
