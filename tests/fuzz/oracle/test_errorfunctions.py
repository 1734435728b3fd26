"""The oracle's own erf, erfc and erfinv, and constants beyond float64: 1/128 of a float64 unit at most off mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle_cases import Array, mp, program

from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import MpmathArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.errorfunctions import erf, erfc, erfinv
from fuzz.oracle.named import REMAINDERS, exact_constant, inexact
from fuzz.oracle.trace import trace

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is float64")
U = 2.0**-53


def exact(value: Any) -> Any:
    significand, exponent = np.frexp(np.longdouble(value))
    high = float(significand)
    return mp.ldexp(mp.mpf(high) + mp.mpf(float(significand - np.longdouble(high))), int(exponent))


def arguments(name: str) -> Array:
    rng = np.random.default_rng(3)
    signs = rng.choice([-1.0, 1.0], 400)
    if name == "erfinv":
        near_one = 1 - 2.0 ** -rng.uniform(1, 53, 500)
        marks = [0.5, -0.5, 2.0**-12, np.nextafter(2.0**-12, 1), 0.9966, 1 - 2**-53, 1e-300, 5e-324, 0.1]
        small = signs * 2.0 ** -rng.uniform(1, 60, 400)
        return np.concatenate([rng.uniform(-1, 1, 1200), near_one, small, marks])
    marks = [0.5, -0.5, np.nextafter(0.5, 1), 3.75, 3.79, 5.92, 9.19, 10.05, 26.54, 26.7, 27.2, 27.3, 5e-324, 1e-310]
    small = signs * 10.0 ** rng.uniform(-300, 0, 400)
    return np.concatenate([rng.uniform(-6, 27.3, 1300), rng.normal(0, 1, 500), small, marks])


@pytest.mark.parametrize(("function", "truth"), [(erf, mp.erf), (erfc, mp.erfc), (erfinv, mp.erfinv)])
def test_two_thousand_points_agree_with_mpmath(function: Callable[..., Any], truth: Callable[[Any], Any]) -> None:
    x = arguments(function.__name__).astype(np.longdouble)
    if function is not erfinv:
        x[::2] *= 1 - np.longdouble(2.0) ** -60  # arguments of 64 bits, as inside gelu
    assert x.size >= 2000
    values = function(x, np.empty_like(x))
    for argument, value in zip(x, values, strict=True):
        right = truth(exact(argument))
        assert abs(exact(value) - right) <= U / 128 * max(abs(right), mp.mpf(2) ** -1022), argument


def test_erfc_keeps_its_digits_where_float64_results_are_subnormal() -> None:
    x = np.linspace(26.6, 27.2, 50).astype(np.longdouble)
    for argument, value in zip(x, erfc(x, np.empty_like(x)), strict=True):
        value = value * np.longdouble(2.0) ** 200
        right = mp.erfc(exact(argument)) * mp.mpf(2) ** 200
        assert abs(exact(value) - right) <= 2.0**-60 * right


@pytest.mark.parametrize(
    ("function", "limits"),
    [(erf, [np.nan, 1, -1, 0.0, -0.0]), (erfc, [np.nan, 0, 2, 1, 1]), (erfinv, [np.nan, np.nan, np.nan, 0.0, -0.0])],
)
def test_special_values(function: Callable[..., Any], limits: list[float]) -> None:
    for kind in (np.longdouble, np.float64):
        x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], kind)
        with np.errstate(all="ignore"):
            values = function(x, np.empty_like(x))
        np.testing.assert_array_equal(values.astype(float), limits)
        if kind is np.longdouble:  # SciPy's erfinv(-0) is 0
            assert (np.signbit(values) == np.signbit(np.array(limits)))[3:].all()
    ends = np.array([1, -1, 1.5, -2], np.longdouble)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            erfinv(ends, np.empty_like(ends)).astype(float), [np.inf, -np.inf, np.nan, np.nan]
        )


def test_views_and_shapes_are_kept() -> None:
    x = np.linspace(-1, 1, 24).reshape(4, 6).astype(np.longdouble)
    transposed = erf(x.T, np.empty((6, 4), np.longdouble))
    np.testing.assert_array_equal(transposed, erf(x, np.empty_like(x)).T)


def test_gelu_in_float64_is_known_to_a_128th_of_its_bound() -> None:
    """sqrt(1/2) as a float64 number alone would cost half of it in the tails."""
    x = np.linspace(-38.4, 6, 300)
    truth = bound(program("gelu", {"n": x.size}), "float64")([x]).outputs[0]
    for argument, value, excused in zip(x, truth.value, truth.excused(), strict=True):
        right = mp.mpf(argument) * mp.erfc(-mp.mpf(argument) / mp.sqrt(2)) / 2
        assert abs(exact(value) - right) <= U / 128 * max(exact(excused), abs(right))


def test_no_operator_s_float64_truth_has_the_digits_of_float64_only() -> None:
    sizes = {"rows": 3, "n": 4, "N": 2, "C": 2, "M": 3, "K": 9, "B": 2, "G": 2, "D": 2, "I": 2, "O": 2}
    sizes |= {"H": 6, "W": 6, "L": 6, "KL": 3, "KH": 3, "KW": 3, "T": 2, "R": 3, "J": 3, "Q": 2, "depth": 3}
    for name, operator in OPERATORS.items():
        dims = {dim: sizes[dim] for dim in operator.contract.dim_names}
        attributes = {key: spec.default for key, spec in operator.contract.attributes}
        traced = trace(operator.reference, operator.contract.shapes(dims), attributes)
        assert bound(traced, "float64").known_by == "longdouble (63 bits)", name


def test_named_constants() -> None:
    a = MpmathArithmetic()
    for value, right in ((math.sqrt(0.5), mp.sqrt(0.5)), (0.044715, mp.mpf("0.044715"))):
        assert abs(exact_constant(-value, a) + right) < mp.mpf(2) ** -150
        assert inexact(-value)
    assert abs(exact_constant(math.sqrt(2 / math.pi), a) - mp.sqrt(2 / mp.pi)) < mp.mpf(2) ** -150
    assert exact_constant(0.1, a) == mp.mpf(0.1)
    assert len(REMAINDERS) == 3
