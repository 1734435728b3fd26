"""Two outputs against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact_metrics import (
    WIDE,
    Array,
    cases,
    close,
    quick,
    slow,
    yardstick,
)
from hypothesis import given
from hypothesis import strategies as st

from fuzz.measure import PairYardstick


@quick
@given(cases("float32"), st.integers(0, 2**32))
def test_pairs_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array], seed: int) -> None:
    a, value, bound = case
    rng = np.random.default_rng(seed)
    b = np.where(rng.random(a.size) < 0.5, a, np.nextafter(a, np.float32(1)))
    m = PairYardstick(a.size, WIDE["float32"]).compare(a, b, yardstick(value, bound, "float32"))
    expected = slow(a, b.astype(np.float64), bound, "float32")
    assert close(m.abs_max, expected["abs_max"])
    assert close(m.rel.largest, expected["rel"])
    assert close(m.rho.largest, expected["rho"] / 2)
    assert m.above == expected["above"]
    assert m.equal == (expected["abs_max"] == 0)
    assert close(m.abs_mean, expected["abs_mean"])


def test_pairs_with_nonfinite_values() -> None:
    a = np.array([np.nan, np.inf, np.inf, np.nan, 0.0, 2.0, 1.0], np.float32)
    b = np.array([np.nan, np.inf, -np.inf, 1.0, 0.0, 1.0, 0.0], np.float32)
    m = PairYardstick(7, WIDE["float32"]).compare(a, b, yardstick(np.ones(7), np.ones(7), "float32"))
    assert m.nonfinite_mismatch == 2
    assert m.first_mismatch == 2
    assert (m.rel.largest, m.rel.index) == (math.inf, 6)
    assert m.above == (2,) * 12
    assert m.abs_max == 1.0
    assert not m.equal
    same = PairYardstick(2, WIDE["float32"]).compare(a[:2], b[:2], yardstick(np.ones(2), np.ones(2), "float32"))
    assert same.equal
    assert same.first_mismatch == -1


def test_pairs_where_the_truth_is_not_finite_have_no_rho() -> None:
    truth = yardstick([np.inf, 1.0], [0.0, 1.0], "float32")
    m = PairYardstick(2, WIDE["float32"]).compare(np.float32([1e38, 1]), np.float32([2e38, 1]), truth)
    assert m.rho.largest == 0.0
    assert m.rel.largest == pytest.approx(0.5)
