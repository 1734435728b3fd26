"""Kernels that flush subnormal results, partial sums among them, are said to do so by every operator that adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.targets import Target
from strategies.precision import precision

NEAR_THE_SMALLEST = "signed(loguniform(1.18e-38,4e-38))"
ROOTS = "signed(loguniform(1e-19,3e-19))"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def zeroed(x: Array, dtype: str) -> Array:
    return np.where(np.abs(x) < precision(dtype).smallest_normal, x.dtype.type(0), x)


def summed(x: Array, dtype: str) -> Array:
    """Along the last axis, one after another, every partial sum flushed."""
    total = np.zeros(x.shape[:-1], x.dtype)
    for k in range(x.shape[-1]):
        total = zeroed(total + x[..., k], dtype)
    return total


def running(x: Array) -> Array:
    return np.stack([summed(x[..., : k + 1], "float32") for k in range(x.shape[-1])], -1)


def product(a: Array, b: Array, dtype: str) -> Array:
    return summed(zeroed(a[:, None, :] * b.T[None, :, :], dtype), dtype)


KERNELS: dict[str, tuple[Callable[..., Array], dict[str, str], dict[str, int]]] = {
    "sum": (lambda x, axis: summed(x, "float32"), {"x": NEAR_THE_SMALLEST}, {"rows": 100, "n": 3}),
    "cumsum": (lambda x, axis: running(x), {"x": NEAR_THE_SMALLEST}, {"rows": 100, "n": 6}),
    "mean": (
        lambda x, axis: zeroed(summed(x, "float32") / np.float32(x.shape[-1]), "float32"),
        {"x": NEAR_THE_SMALLEST},
        {"rows": 100, "n": 5},
    ),
    "matmul": (lambda a, b: product(a, b, "float32"), {"a": ROOTS, "b": ROOTS}, {"M": 9, "K": 6, "N": 9}),
}


@pytest.mark.parametrize("operator", KERNELS)
def test_a_flushing_kernel_is_flushing_and_nothing_worse(lab: Lab, operator: str) -> None:
    kernel, inputs, dims = KERNELS[operator]
    row = lab.run(operator, kernel, inputs, dims=dims)
    assert row["verdict"] == "subnormals_flushed", row["detail"]


@pytest.mark.parametrize("operator", KERNELS)
def test_what_else_is_wrong_shows_through_it(lab: Lab, operator: str) -> None:
    kernel, inputs, dims = KERNELS[operator]

    def off(*arrays: Any, **attributes: Any) -> Array:
        return kernel(*arrays, **attributes) * np.float32(40.0)

    assert lab.run(operator, off, inputs, dims=dims)["verdict"] not in ("subnormals_flushed", "rounding")


@pytest.mark.parametrize("operator", ["sum", "cumsum", "matmul", "dense", "avg_pool2d"])
def test_jax_flushes_and_is_not_called_unstable(lab: Lab, operator: str) -> None:
    pytest.importorskip("jax")
    sizes = {"rows": 50, "n": 3, "M": 9, "K": 6, "N": 9, "C": 3, "H": 12, "W": 12}
    products = operator in ("matmul", "dense")
    from fuzz.operators import OPERATORS

    contract = OPERATORS[operator].contract
    dims = {name: sizes[name] for name in contract.dim_names}
    inputs = {spec.name: ROOTS if products and spec.name != "bias" else NEAR_THE_SMALLEST for spec in contract.inputs}
    row = lab.trial(lab.problem(operator, inputs, dims), Target("jax", "cpu", "float32")).rows[0]
    assert row["verdict"] == "subnormals_flushed", row["detail"]


def test_who_returns_subnormal_numbers_does_not_flush_them(lab: Lab) -> None:
    """Wrong in the fifth digit, with a result that is itself subnormal."""
    row = lab.run("exp", lambda x: np.exp(x) * np.float32(1 + 1e-4), {"x": "uniform(-90,-89)"}, dims={"n": 64})
    assert row["verdict"] == "wrong"


def test_who_passes_a_subnormal_number_on_may_flush_where_it_computes(lab: Lab) -> None:
    """A slope that is not applied because x >= 0 is asked of zero in the place of x."""

    def kernel(x: Array, **attributes: float) -> Array:
        (slope,) = attributes.values()
        return np.where(zeroed(x, "float32") >= 0, x, x * np.float32(slope))

    row = lab.run("leaky_relu", kernel, {"x": "signed(loguniform(1e-40,1e-39))"}, dims={"n": 64})
    assert row["verdict"] == "subnormals_flushed"
