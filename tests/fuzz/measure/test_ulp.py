"""Errors in units in the last place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from exact_metrics import (
    measure,
    widths,
    yardstick,
)

from fuzz.measure.ulp import over_ulp
from strategies.precision import precision


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("end", [0.0, 1.0, 2.0, 2.0**-100, 1.5])
def test_ulp_at_binade_ends(dtype: str, end: float) -> None:
    """At a power of two the ulp is the one above it; zero has that of the subnormals."""
    p = precision(dtype)
    above, below = (np.nextafter(np.dtype(dtype).type(end), np.dtype(dtype).type(to)) for to in (9, -9))
    tiny = p.smallest_subnormal
    size = tiny if end == 0 else 2.0 ** (math.floor(math.log2(end)) - p.digits + 1)
    for neighbour in (above, below):
        m = measure([neighbour], [end], [abs(end) + 1e-30], dtype)
        assert m.ulp_max == abs(float(neighbour) - end) / size


@widths
def test_ulp_of_subnormal_truth(dtype: str, wide: Any) -> None:
    p = precision(dtype)
    v = 5 * p.smallest_subnormal
    m = measure([7 * p.smallest_subnormal], [v], [v / p.unit_roundoff], dtype, wide=wide)
    assert m.ulp_max == 2.0
    assert m.rel.largest == pytest.approx(0.4)
    low = 2.0 ** (p.minimum_exponent + 1)
    m = measure([low * (1 + 2 * p.unit_roundoff)], [low], [low], dtype, wide=wide)
    assert m.ulp_max == 1.0


@widths
def test_errors_of_tiny_numbers_count(dtype: str, wide: Any) -> None:
    """1 per mille of 1e-300 is as wrong as 1 per mille of 1, with and without a zero beside it."""
    small = 1e-300 if dtype == "float64" else 1e-37
    for beside in (1.0, 0.0):
        m = measure([small * 1.0011, beside], [small, beside], [small * 10, 1.0], dtype, wide=wide)
        assert m.rel.largest == pytest.approx(1.1e-3, rel=1e-3)
        assert m.rho.largest == pytest.approx(1.1e-4 / precision(dtype).unit_roundoff, rel=1e-3)
        assert m.rel.index == m.rho.index == 0
        assert m.above[:4] == (0, 0, 1, 1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_reciprocals_of_the_ulp_by_bits(dtype: str) -> None:
    p, rng = precision(dtype), np.random.default_rng(0)
    edges = [
        0.0,
        -0.0,
        1.0,
        2.0,
        -1.0,
        5e-324,
        p.smallest_normal,
        p.smallest_normal / 2,
        p.largest,
        1 - 2.0**-53,
        1e300,
    ]
    value = np.array([*edges, *rng.normal(size=200) * 10.0 ** rng.integers(-300, 300, 200)])
    kept = value.copy()
    due = [2.0 ** (p.digits - max(math.frexp(v)[1] if v else -9999, p.minimum_exponent + 1)) for v in value.tolist()]
    assert over_ulp(value, p).tolist() == due
    assert value.tolist() == kept.tolist()


@pytest.mark.parametrize("alike", [0, 3, 99])
@pytest.mark.parametrize("subnormal", [False, True])
def test_the_largest_is_found_among_few_and_among_many_candidates(alike: int, subnormal: bool) -> None:
    """Elements with more than half of the largest relative error: a few of a hundred, or all of them."""
    u = 2.0**-23
    value = np.ones(100)
    value[70] = 2.0 - u
    output = value.copy()
    output[:alike] += 3 * u
    output[70] = value[70] - 4 * u  # smaller than the others in units of |v|, larger in ulp
    if subnormal:
        value[0] = output[0] = 2.0**-140
    m = measure(output, value, np.ones(100))
    assert (m.ulp_max, m.ulp_index) == (4.0, 70)
    tool = yardstick(value, np.ones(100), "float32")
    tool.measure(np.float32(output))
    assert tool.largest_ulp_at(np.arange(60, 100, 5)) == (4.0, 70)
    assert tool.largest_ulp_at(np.arange(1, 60)) == ((3.0, 1) if alike else (0.0, 1))
    assert tool.largest_ulp_at(np.arange(0)) == (0.0, -1)
