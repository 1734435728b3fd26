"""Metrics against a slow, obvious implementation in exact fractions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from exact_metrics import (
    WIDE,
    Array,
    cases,
    compare,
    measure,
    quick,
    slow,
    widths,
    yardstick,
)
from hypothesis import given

from strategies.precision import precision


@quick
@given(cases("float32"))
def test_float32_figures_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    compare(measure(output, value, bound), slow(output, value, bound, "float32"))


@quick
@given(cases("float64"))
def test_float64_figures_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    compare(measure(output, value, bound, "float64"), slow(output, value, bound, "float64"))


@quick
@given(cases("float64"))
def test_screens_measure_the_same(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case[0], case[1].astype(np.float64), case[2].astype(np.float64)
    m = measure(output, value, bound, "float64", wide=np.dtype(np.float64))
    compare(m, slow(output, value.astype(np.longdouble), bound.astype(np.longdouble), "float64"))


def test_signed_means_and_rms() -> None:
    m = measure([1.5, 2.0, 2.5, 4.0], [1.0, 2.0, 3.0, 3.0], [1.0, 1.0, 2.0, 4.0])
    u = 2.0**-24
    assert m.abs_mean == pytest.approx((0.5 + 0 - 0.5 + 1) / 4)
    assert m.abs_rms == pytest.approx(math.sqrt((0.25 + 0.25 + 1) / 4))
    assert m.rho_mean == pytest.approx((0.5 + 0 - 0.25 + 0.25) / 4 / u)
    assert (m.rel.index, m.rho.index, m.ulp_index) == (0, 0, 0)
    assert (m.rel.value, m.rel.truth, m.rel.amplification) == (1.5, 1.0, 1.0)


def test_figures_do_not_depend_on_what_was_measured_before() -> None:
    rng = np.random.default_rng(0)
    value = rng.normal(size=50)
    tool = yardstick(value, np.abs(value), "float32")
    first, other = (np.float32(value * (1 + e * rng.normal(size=50))) for e in (1e-6, 1e-2))
    spoilt = other.copy()
    spoilt[3] = np.nan
    once = tool.measure(first)
    tool.measure(other)
    tool.measure(spoilt)
    assert tool.measure(first) == once


@widths
def test_zero_truth(dtype: str, wide: Any) -> None:
    m = measure([0.0, 1e-20, -0.0, 3.0], [0.0, 0.0, 0.0, 3.0], [0.0, 1.0, 0.0, 3.0], dtype, wide=wide)
    assert (m.rel.largest, m.rel.index) == (math.inf, 1)
    assert m.above == (1,) * 12
    assert not m.equal
    assert math.isfinite(m.rho.largest)
    m = measure([1e-20], [0.0], [0.0], dtype, wide=wide)
    assert m.rho.largest > 1e9
    assert m.flagged == 1
    m = measure([0.0, -0.0], [0.0, 0.0], [0.0, 0.0], dtype, wide=wide)
    assert (m.rel.largest, m.rho.largest, m.ulp_max, m.equal) == (0.0, 0.0, 0.0, True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_means_correctly_rounded(dtype: str) -> None:
    p = precision(dtype)
    unit = 2.0 * p.unit_roundoff
    wide = WIDE[dtype].type
    one = wide(1)
    half = wide(unit) / 2
    cases = [
        (1.0, one, True),
        (1.0 - unit / 2, one, False),  # half an ulp below a power of two, and not the nearest
        (1.0 + unit, one, False),
        (1.0, one + half, True),  # a tie goes to even
        (1.0 + unit, one + half, False),
        (1.0 + 2 * unit, one + 3 * half, True),
        (1.0 + unit, one + 3 * half, False),
        (1.0 + unit, one + half * wide(1.01), True),
        (1.0, one + half * wide(0.99), True),
        (1e-30, wide(0), False),
        (np.nan, wide(np.nan), True),
        (np.inf, wide(np.inf), True),
    ]
    for y, v, equal in cases:
        assert measure([y], [v], [1.0], dtype).equal is equal, (y, v)


@pytest.mark.parametrize("hole", [np.inf, np.nan])
def test_elements_without_a_bound_are_counted_not_measured(hole: float) -> None:
    m = measure([1.5, 1.0, 2.0], [1.0, 1.0, 2.0], [hole, hole, 1.0])
    assert m.unbounded == 1
    assert m.rho.largest == 0.0
    assert m.abs_max == 0.5


def test_empty_output() -> None:
    m = measure(np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 3)))
    assert (m.size, m.equal, m.rho.index) == (0, True, -1)


def test_shapes_do_not_matter() -> None:
    value = np.arange(1.0, 7.0).reshape(2, 3)
    assert measure(value * 1.01, value, value) == measure((value * 1.01).ravel(), value.ravel(), value.ravel())
