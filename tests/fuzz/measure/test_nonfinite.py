"""NaN, infinities and overflow, in the output and in the truth."""

from __future__ import annotations

import numpy as np
import pytest
from exact_metrics import (
    WIDE,
    measure,
)

from fuzz.measure import Yardstick
from fuzz.oracle.bound import OutputTruth
from strategies.precision import precision


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_overflow_rounds_at_half_an_ulp_beyond_the_largest_number(dtype: str) -> None:
    p = precision(dtype)
    wide = WIDE[dtype].type
    largest = wide(p.largest)
    halfway = largest + np.ldexp(wide(1), p.maximum_exponent - p.digits)
    beyond, before = halfway * (1 + wide(2.0**-60)), halfway * (1 - wide(2.0**-60))
    if dtype == "float32":
        beyond, before = np.nextafter(halfway, np.inf), np.nextafter(halfway, 0)
    assert measure([np.inf], [beyond], [largest], dtype).nonfinite_mismatch == 0
    assert measure([np.inf], [halfway], [largest], dtype).nonfinite_mismatch == 0
    assert measure([np.inf], [before], [largest], dtype).nonfinite_mismatch == 1
    assert measure([p.largest], [largest], [largest], dtype).nonfinite_mismatch == 0
    assert measure([p.largest, np.inf], [largest, wide(np.inf)], [largest, 0], dtype).nonfinite_mismatch == 0
    assert measure([p.largest], [beyond], [largest], dtype).nonfinite_mismatch == 1


def test_nonfinite_values_are_compared_and_left_out() -> None:
    y = [np.nan, 1.0, np.nan, np.inf, -np.inf, np.inf, 1.5, np.inf, 2.0]
    v = [np.nan, np.nan, 1.0, np.inf, np.inf, 1.0, 1.0, np.nan, np.inf]
    m = measure(y, v, [1.0] * 9)
    assert m.nan_count == 2
    assert m.inf_count == 4
    assert m.nonfinite_mismatch == 6
    assert m.first_mismatch == 1
    assert (m.abs_max, m.abs_mean, m.rel.largest, m.rel.index) == (0.5, 0.5 / 9, 0.5, 6)
    assert m.rho.largest == pytest.approx(0.5 * 2**24)
    assert not m.equal


def test_mismatches_where_the_formula_overflows_are_explained() -> None:
    m = measure([np.inf, np.nan, 1.0], [1e30, 1.0, 1.0], [1.0] * 3, overflow=[True, False, False])
    assert (m.overflow_explained, m.nonfinite_mismatch, m.first_mismatch) == (1, 1, 1)
    assert not m.equal


def test_a_finite_error_is_explained_only_if_the_formula_makes_it_too() -> None:
    """1/inf is 0: an overflow inside can leave a finite result."""
    value, bound = np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0])
    tool = Yardstick(3, "float32", WIDE["float32"])
    tool.refresh(
        OutputTruth(value, {0: bound}),
        lambda: np.array([True, True, False]),
        lambda squares: np.array([0, 0, 0], np.float32),
    )
    m = tool.measure(np.array([0.0, 0.5, 0.0], np.float32))
    assert m.overflow_explained == 1  # the second differs from the formula's 0, the third does not overflow
    assert (m.flagged, m.nonfinite_mismatch) == (2, 0)
    assert m.rho.largest == pytest.approx(2**24)
    assert m.rho.index == 2
