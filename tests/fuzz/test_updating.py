"""Variances updated term by term (Welford): n roundings of the mean, a choice; one pass over squares: unstable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trial_cases import Lab

from fuzz.oracle.bound import bound
from fuzz.oracle.models import Model
from fuzz.oracle.trace import trace

Array = np.ndarray[Any, Any]
DIMS = {"rows": 8, "n": 257}


def updated(x: Array, *, axis: int = -1, ddof: int = 0) -> Array:
    """Welford (1962), line by line in the dtype of x."""
    lines = np.moveaxis(x, axis, -1)
    mean, total = lines[..., 0].copy(), np.zeros(lines.shape[:-1], x.dtype)
    for k in range(1, lines.shape[-1]):
        before = lines[..., k] - mean
        mean = mean + before / x.dtype.type(k + 1)
        total = total + before * (lines[..., k] - mean)
    return total / x.dtype.type(lines.shape[-1] - ddof)


def one_pass(x: Array, *, axis: int, ddof: int) -> Array:
    return (x * x).mean(axis) - x.mean(axis) ** 2


def two_passes(x: Array, *, axis: int, ddof: int) -> Array:
    return x.var(axis, ddof=ddof)


@pytest.mark.parametrize(
    ("kernel", "due"),
    [(updated, "accumulation_order"), (one_pass, "unstable"), (two_passes, "rounding")],
    ids=["updated", "one_pass", "two_passes"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_three_ways_to_a_variance_of_rising_numbers(kernel: Any, due: str, dtype: str) -> None:
    """Every term moves the mean the same way: its roundings add up."""
    with Lab() as lab:
        row = lab.run("var", kernel, {"x": "ramp(500,560)"}, dims=DIMS, dtype=dtype)
    assert row["verdict"] == due, row["detail"]
    assert (row["rho_max"] > 2) == (due != "rounding")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_float64_accumulator_for_both_formats_is_not_wrong(dtype: str) -> None:
    """torch.var: no error in float32 beside that of float64, so the slope of the error is 0.5 and more."""

    def kernel(x: Array, *, axis: int, ddof: int) -> Array:
        return updated(x.astype(np.float64), axis=axis, ddof=ddof).astype(x.dtype)

    with Lab() as lab:
        row = lab.run("var", kernel, {"x": "ramp(3,9)"}, dims=DIMS | {"rows": 16}, dtype=dtype)
    assert row["verdict"] == ("exact" if dtype == "float32" else "accumulation_order"), row["detail"]


ROWS = {
    "rising": lambda rng, n: np.sort(3 + rng.normal(size=(3, n)), axis=1),
    "ramp": lambda rng, n: np.linspace(1, 1.5, n) + np.arange(3)[:, None],
    "normal": lambda rng, n: rng.normal(size=(3, n)),
    "offset": lambda rng, n: 1000 + rng.normal(size=(3, n)),
    "wide": lambda rng, n: rng.choice([-1, 1], (3, n)) * 10.0 ** rng.uniform(-9, 3, (3, n)),
}


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(ROWS)), st.integers(2, 400), st.integers(0, 10**6), st.sampled_from([0, 1]))
def test_updating_stays_within_its_bound(kind: str, n: int, seed: int, ddof: int) -> None:
    x = ROWS[kind](np.random.default_rng(seed), n).astype(np.float32)
    traced = trace(lambda x: np.var(x, axis=1, ddof=ddof), {"x": x.shape})
    output = bound(traced, "float32", updating=True)([x]).outputs[0]
    error = np.abs(updated(x, ddof=ddof).astype(np.float64) - output.value)
    assert (error <= 2.0**-24 * output.excused(Model.SEQUENTIAL)).all()


def test_the_bound_of_a_variance_itself_does_not_excuse_updating() -> None:
    x = np.linspace(500, 560, 8 * 257, dtype=np.float32).reshape(8, 257)
    traced = trace(lambda x: np.var(x, axis=1), {"x": x.shape})
    output = bound(traced, "float32")([x]).outputs[0]
    error = np.abs(updated(x).astype(np.float64) - output.value)
    assert (error > 2.0**-24 * output.excused(Model.SEQUENTIAL)).any()
