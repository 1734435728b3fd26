"""The bound of chains of products: healthy networks of any depth lie within it, and small faults do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fuzz.operators import OPERATORS
from fuzz.oracle.bound import Truth, bound
from fuzz.oracle.lint import lint
from fuzz.oracle.models import Model
from fuzz.oracle.trace import trace

Array = NDArray[Any]
DEPTHS = (1, 10, 40)
Weights = Callable[[np.random.Generator, tuple[int, int, int]], Array]


def _normal(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    return rng.standard_normal(shape) / shape[1] ** 0.5


def _rank_one(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """The same matrix u u^T in each layer: the errors of a layer are all alike in the next one."""
    u = rng.standard_normal((shape[1], 1))
    return np.broadcast_to(u * u.T / (u * u).sum(), shape)


WEIGHTS: dict[str, Weights] = {
    "normal": _normal,
    "positive": lambda rng, shape: rng.uniform(0, 2 / shape[1], shape),
    "constant": lambda rng, shape: np.full(shape, 0.1),
    "rank one": _rank_one,
    "sparse": lambda rng, shape: _normal(rng, shape) * (rng.uniform(size=shape) < 0.05),
}


def network(x: Array, w: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in w:
            x = x @ layer
    return x


def convolved(x: Array, w: Array) -> Array:
    """Each layer by shifts: another order of addition than that of the reference."""
    for layer in w:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        h, width = x.shape[2:]
        x = sum(
            np.einsum("nchw,oc->nohw", padded[:, :, i : i + h, j : j + width], layer[:, :, i, j])
            for i in range(3)
            for j in range(3)
        )
    return x


def truth(operator: str, x: Array, w: Array) -> Truth:
    traced = OPERATORS[operator].program({"x": x.shape, "w": w.shape}, {})
    return bound(traced, x.dtype.name)([x, w])


def rho(found: Truth, y: Array) -> Array:
    unit = np.finfo(y.dtype).eps / 2
    with np.errstate(all="ignore"):
        error = np.abs(y - found.outputs[0].value) / (unit * found.outputs[0].excused())
    return np.where(found.overflow(0), 0.0, error)


def drawn(depth: int, kind: str = "normal", n: int = 96, dtype: str = "float32", seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((8, n)).astype(dtype)
    return x, np.ascontiguousarray(WEIGHTS[kind](rng, (depth, n, n))).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_healthy_networks_lie_within_the_bound_at_any_depth(kind: str, dtype: str) -> None:
    for depth in DEPTHS:
        for seed in range(2):
            x, w = drawn(depth, kind, 96 if dtype == "float32" else 32, dtype, seed)
            assert rho(truth("dense_chain", x, w), network(x, w)).max() <= 1.0, (depth, seed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_chains_of_convolutions_lie_within_the_bound_at_any_depth(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for depth in DEPTHS:
        x = rng.standard_normal((2, 4, 5, 6)).astype(dtype)
        w = (rng.standard_normal((depth, 4, 4, 3, 3)) / 6).astype(dtype)
        assert rho(truth("conv_chain", x, w), convolved(x, w)).max() <= 1.0, depth


def test_the_bound_grows_like_the_depth_not_like_a_power_of_it() -> None:
    """By magnitudes it would be (0.8 sqrt n)^depth: 8^40 here."""
    excused = {}
    for depth in DEPTHS:
        x, w = drawn(depth)
        found = truth("dense_chain", x, w).outputs[0]
        excused[depth] = float(np.median(found.excused()) / np.abs(found.value).mean())
        healthy = rho(truth("dense_chain", x, w), network(x, w)).max()
        assert healthy > 0.01, depth
    assert excused[10] < 10 * excused[1]
    assert excused[40] < 4 * excused[10]


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_layer_that_is_off_by_a_thousandth_is_seen(depth: int) -> None:
    x, w = drawn(depth)
    faulty = w.copy()
    faulty[depth // 2] *= np.float32(1.001)
    assert rho(truth("dense_chain", x, w), network(x, faulty)).max() > 2.0


def test_one_product_has_the_bound_it_always_had() -> None:
    x, w = drawn(1)
    chain = truth("dense_chain", x, w).outputs[0].excused()
    program = OPERATORS["matmul"].program({"a": x.shape, "b": w[0].shape}, {})
    np.testing.assert_array_equal(chain, bound(program, "float32")([x, w[0]]).outputs[0].excused())


def test_errors_of_alike_columns_add_up_by_magnitude() -> None:
    """Two equal columns are rounded alike: in the next layer their errors are one error, twice."""
    x = np.array([[1.0, 3.0]], np.float32)
    ones = np.ones((2, 2, 2), np.float32)
    found = truth("dense_chain", x, ones).outputs[0].excused(Model.IDEAL)
    first = bound(OPERATORS["matmul"].program({"a": (1, 2), "b": (2, 2)}, {}), "float32")([x, ones[0]])
    error = float(first.outputs[0].excused(Model.IDEAL)[0, 0])
    assert (found >= 2 * error).all()


def test_a_rectifier_between_products_keeps_the_chain() -> None:
    def reference(x: Any, v: Any, w: Any) -> Any:
        return np.matmul(np.maximum(np.matmul(x, v), 0.0), w)

    x, w = drawn(2)
    shapes = {"x": x.shape, "v": w[0].shape, "w": w[1].shape}
    found = bound(trace(reference, shapes), "float32")([x, w[0], w[1]])
    assert 0.01 < rho(found, np.maximum(x @ w[0], 0) @ w[1]).max() <= 1.0


def test_a_sum_between_products_is_carried_by_magnitude() -> None:
    """A common term's error is the same in all elements: it is not independent."""

    def reference(x: Any, v: Any, w: Any) -> Any:
        y = np.matmul(x, v)
        return np.matmul(y - np.mean(y, axis=-1, keepdims=True), w)

    x, w = drawn(2)
    x = x + np.float32(1e3)
    w = np.abs(w)
    shapes = {"x": x.shape, "v": w[0].shape, "w": w[1].shape}
    found = bound(trace(reference, shapes), "float32")([x, w[0], w[1]])
    y = x @ w[0]
    assert rho(found, (y - y.mean(-1, keepdims=True)) @ w[1]).max() <= 1.0


def test_infinities_show_and_zeros_stay_exact() -> None:
    x, w = drawn(3, n=4)
    w[0, 0, 0] = np.inf
    found = truth("dense_chain", x, w).outputs[0]
    assert not np.isfinite(found.value).all()
    zero = truth("dense_chain", x * 0, drawn(3, n=4)[1]).outputs[0]
    assert not zero.value.any()
    assert zero.excused().max() < 1e-30  # underflow alone


@pytest.mark.parametrize("operator", ["dense_chain", "conv_chain"])
def test_references_are_stable_at_depth(operator: str) -> None:
    rng = np.random.default_rng(2)
    dims = {"M": 2, "n": 8, "N": 1, "C": 2, "H": 3, "W": 3, "depth": 40}
    contract = OPERATORS[operator].contract
    arrays = [rng.standard_normal(shape) / 3 for shape in contract.shapes(dims).values()]
    assert lint(OPERATORS[operator].program(contract.shapes(dims), {}), arrays, "float32").stable


def test_a_draw_leaves_nothing_to_the_next_one() -> None:
    x, w = drawn(5)
    program = OPERATORS["dense_chain"].program({"x": x.shape, "w": w.shape}, {})
    interpreter = bound(program, "float32")
    first = interpreter([x, w]).outputs[0].excused().copy()
    interpreter([x, np.ones_like(w)])
    np.testing.assert_array_equal(interpreter([x, w]).outputs[0].excused(), first)
