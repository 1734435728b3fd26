"""Passes done in another way than NumPy's give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.oracle.passes import absolute, largest, smallest

EDGES = [0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -1e308]
wide = pytest.mark.parametrize("dtype", ["float64", "longdouble"])


def bits(values: Any) -> list[tuple[bool, str]]:
    """Sign and value of every element: neither padding bytes nor the sign of NaN count."""
    return [(bool(np.signbit(v)) and not np.isnan(v), str(abs(v))) for v in np.asarray(values).ravel()]


@wide
def test_magnitudes_have_the_other_bits_of_their_numbers(dtype: str) -> None:
    x = np.array([*EDGES, *np.random.default_rng(0).normal(size=20)], dtype)
    x[-1] *= 1 + np.finfo(dtype).eps  # digits that float64 has not
    kept = x.copy()
    out = np.empty_like(x)
    assert absolute(x, out) is out
    assert bits(out) == bits(np.abs(x))
    assert bits(x) == bits(kept)
    assert absolute(x, x) is x
    assert bits(x) == bits(np.abs(kept))


@wide
def test_magnitudes_of_any_layout(dtype: str) -> None:
    x = -np.arange(24, dtype=dtype).reshape(4, 6)
    for source, out in ((x.T, np.empty((6, 4), dtype)), (x[:, ::2], np.empty((4, 6), dtype)[:, ::2])):
        np.testing.assert_array_equal(absolute(source, out), -source)
    np.testing.assert_array_equal(absolute(np.float64([-2]), np.empty(1, dtype)), [2])
    assert absolute(np.empty((0, 3), dtype), np.empty((0, 3), dtype)).size == 0


@wide
def test_extremes_are_those_of_max_and_min(dtype: str) -> None:
    x = np.array([[3, -7, 2], [np.inf, 5, -np.inf]], dtype)
    for array in (x, x.T, x[:1], x[:, 1:2]):
        assert (largest(array), smallest(array)) == (array.max(), array.min())
    x[1, 1] = np.nan
    assert np.isnan(largest(x))
    assert np.isnan(smallest(x))
