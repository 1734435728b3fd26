"""psi in long double and the slope behind its bound, against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from fuzz.oracle.polygamma import _trigamma, digamma

POINTS = [1e-10, 0.3, 1.0, 1.4616321449683622, 1.4616, 2.0, 3.7, 11.9, 12.1, 50.0, 1e6, -0.5, -3.3, -20.7, -1e-6]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than float64 here")
def test_long_double_has_more_digits_than_float64() -> None:
    x = np.array(POINTS, np.longdouble)
    with np.errstate(all="ignore"):
        found = digamma(x, np.empty_like(x))
    with mpmath.workdps(40):
        for at, value in zip(POINTS, found, strict=True):
            exact = mpmath.digamma(mpmath.mpf(at))
            terms = abs(exact) + abs(mpmath.log(abs(at) + 1)) + 1
            assert abs(mpmath.mpf(repr(value).split("'")[1]) - exact) <= 2.0**-59 * terms, at


def test_at_its_poles_and_at_infinity() -> None:
    x = np.array([0.0, -0.0, -1.0, -7.0, np.inf, np.nan], np.longdouble)
    with np.errstate(all="ignore"):
        found = digamma(x, np.empty_like(x))
    assert list(found[:2]) == [-np.inf, np.inf]
    assert np.isnan(found[[2, 3, 5]]).all()
    assert found[4] == np.inf


def test_slope() -> None:
    with np.errstate(all="ignore"):
        found = _trigamma(np.array(POINTS))
    for at, value in zip(POINTS, found, strict=True):
        assert value == pytest.approx(float(mpmath.polygamma(1, at)), rel=1e-6), at
