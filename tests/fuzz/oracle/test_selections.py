"""Errors of what takes some elements and leaves others: the quick rules against slow, obvious ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fuzz.oracle.bound import bound
from fuzz.oracle.passes import only
from fuzz.oracle.trace import trace

U32 = 2.0**-24
Array = np.ndarray[Any, Any]


def rows(kind: str) -> Array:
    """40 rows of 64 float32 numbers, in float64."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(40, 64))
    if kind == "near ties":
        x[:, 1] = x.max(axis=1) * (1 - rng.choice([0, 1, 2, 3, 4], 40) * U32)
    elif kind == "constant":
        x[:] = 1.25
    elif kind == "some constant":
        x[:5] = -3.0
    elif kind == "nonfinite":
        x[3, 5], x[4, 6], x[5, 7] = np.nan, np.inf, -np.inf
    elif kind == "huge":
        x *= 5e37
    elif kind == "zero":
        x[:] = 0.0
    return x.astype(np.float32).astype(np.float64)


def extreme_error(x: Array, e: Array, kept: Array, axis: int) -> Array:
    """The largest E of the elements within two bounds of the extreme one."""
    with np.errstate(all="ignore"):
        candidates = np.abs(x - np.expand_dims(kept, axis)) <= 2 * U32 * e
    return np.max(np.where(candidates, e, 0.0), axis=axis)


KINDS = ("normal", "near ties", "constant", "some constant", "huge", "zero")


@pytest.mark.parametrize("reduce", [np.max, np.min])
@pytest.mark.parametrize("kind", [*KINDS, "nonfinite"])
@pytest.mark.parametrize("axis", [0, 1])
def test_extremes_have_the_largest_error_of_their_candidates(reduce: Callable[..., Any], kind: str, axis: int) -> None:
    x = rows(kind)
    program = trace(lambda a: reduce(a, axis=axis), {"a": x.shape}, {})
    output = bound(program, "float32")([x]).outputs[0]
    kept = reduce(x, axis=axis)
    np.testing.assert_array_equal(output.value, kept)
    seeds = np.where(np.isfinite(x), np.abs(x), 0.0)
    expected = np.where(np.isfinite(kept), extreme_error(x, seeds, kept, axis), 0.0)
    np.testing.assert_array_equal(output.excused(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_extremes_of_sums_keep_the_parts_apart(kind: str) -> None:
    x = np.stack([rows(kind)] * 3, axis=-1)
    traced = bound(trace(lambda a: np.max(np.sum(a, axis=2), axis=1), {"a": x.shape}, {}), "float32")
    parts = traced([x]).outputs[0].parts
    summed = x.sum(axis=2)
    total = bound(trace(lambda a: np.sum(a, axis=2), {"a": x.shape}, {}), "float32")([x]).outputs[0]
    kept = summed.max(axis=1)
    candidates = np.abs(summed - kept[:, None]) <= 2 * U32 * total.excused()
    for n, part in parts.items():
        np.testing.assert_array_equal(part, np.where(candidates, total.parts[n], 0.0).max(axis=1))


def test_an_infinite_error_of_what_is_left_is_no_error() -> None:
    errors = np.array([np.inf, np.inf, 2.0, np.nan])
    where = np.array([True, False, True, False])
    np.testing.assert_array_equal(only(errors, where), [np.inf, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(only(0.5, where), [0.5, 0.0, 0.5, 0.0])
