"""The atol that a trial needs beside a given rtol, against one element at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from exact_metrics import WIDE, Array, cases, close, exactly, measure, quick, yardstick
from hypothesis import given

from fuzz.measure import PairYardstick
from fuzz.measure.allowance import BITS, rounded_up
from results.columns import ALLOWANCES
from strategies.precision import precision


def expected(output: Array, against: Array, dtype: str) -> tuple[float, ...]:
    u = exactly(precision(dtype).unit_roundoff)
    pairs = [(exactly(y), exactly(v)) for y, v in zip(output, against, strict=True)]
    return tuple(float(max(0, *(abs(y - v) - k * u * abs(v) for y, v in pairs))) for k in ALLOWANCES)


UP = 1 + 2.0 ** (1 - BITS)
"""Twelve bits, rounded up."""


def alike(found: tuple[float, ...], due: tuple[float, ...], largest: float) -> bool:
    """Equal but for the rounding of the subtractions, and of the result upwards."""
    slack = 1e-9 * largest
    return all(b - slack - 1e-300 <= a <= UP * b + 2 * slack + 1e-300 for a, b in zip(found, due, strict=True))


def up(value: float) -> Any:
    return pytest.approx(value, rel=UP - 1)


@quick
@given(cases("float32"))
def test_float32_allowances_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    m = measure(output, value, bound)
    assert alike(m.atols, expected(output, value, "float32"), m.abs_max)


@quick
@given(cases("float64"))
def test_float64_allowances_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    m = measure(output, value, bound, "float64")
    assert alike(m.atols, expected(output, value, "float64"), m.abs_max)


@pytest.mark.parametrize("seed", range(4))
def test_allclose_passes_from_the_allowance_on_and_not_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    value = rng.normal(size=3000) * 10.0 ** rng.uniform(-6, 1, 3000)
    output = np.float32(value + rng.normal(size=3000) * 2e-7 * (1 + np.abs(value)))
    m = measure(output, value, np.abs(value))
    assert m.truth_mean == pytest.approx(np.abs(value).mean())
    assert m.atols[0] > m.atols[4] > 0
    for k, atol in zip(ALLOWANCES, m.atols, strict=True):
        for factor, passes in ((1.0, True), (1 / UP - 1e-9, atol == 0)):
            assert np.allclose(output, value, rtol=k * 2.0**-24, atol=atol * factor) == passes, (k, factor)


def test_exact_and_barely_wrong_outputs_need_nothing() -> None:
    value = np.array([1.0, 2.0, 3.0])
    assert measure(np.float32(value), value, value).atols == (0.0,) * len(ALLOWANCES)
    one_ulp = np.nextafter(np.float32(value), np.float32(9))
    assert measure(one_ulp, value, value).atols == (2.0**-23, *(0.0,) * (len(ALLOWANCES) - 1))


def test_a_truth_of_zero_needs_its_whole_error_whatever_rtol_is() -> None:
    m = measure([1e-20, 3e-20, 5.0], [0.0, 0.0, 4.0], [1.0, 1.0, 1.0])
    assert m.atols[-1] == up(1 - 2048 * 4 * 2.0**-24)
    m = measure([1e-20, 3e-20, 4.0], [0.0, 0.0, 4.0], [1.0, 1.0, 1.0])
    assert m.atols == (up(3e-20),) * len(ALLOWANCES)


def test_what_is_not_finite_takes_no_part() -> None:
    value = np.array([np.nan, np.inf, 1e30, 2.0, 0.5])
    m = measure([1.0, np.inf, np.nan, 2.0, 0.75], value, np.ones(5))
    assert m.truth_mean == pytest.approx((1e30 + 2.5) / 3)
    assert m.atols == tuple(up(0.25 - k * 0.5 * 2.0**-24) for k in ALLOWANCES)


@quick
@given(cases("float32"))
def test_pairs_are_allowed_for_in_units_of_the_second(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    other = np.float32(value)
    m = PairYardstick(output.size, WIDE["float32"]).compare(output, other, yardstick(value, bound, "float32"))
    assert alike(m.atols, expected(output, other, "float32"), m.abs_max)
    assert close(m.truth_mean, float(np.abs(other.astype(np.float64)).mean()))


def test_rounding_up_keeps_twelve_bits() -> None:
    for x in (1.0, 1 + 2.0**-11, 0.1, 3e-310, 5e-324, 1.7e308, 0.0):
        found = rounded_up(x)
        assert x <= found <= x * UP + 5e-324
        assert found == 0 or found < 2e-308 or math.ldexp(math.frexp(found)[0], BITS).is_integer()
    assert rounded_up(1 + 2.0**-11) == 1 + 2.0**-11
    assert rounded_up(1 + 2.0**-12) == 1 + 2.0**-11
    for beyond in (1.7976e308, math.inf):
        assert rounded_up(beyond) == beyond
