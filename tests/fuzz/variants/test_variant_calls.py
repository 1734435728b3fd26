"""What a kernel is given under a variant, and what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import structs
from trial_cases import Lab

from fuzz.backends.base import Unsupported
from fuzz.operators import OPERATORS
from fuzz.workbench import Bench
from strategies.sampling import draw

Array = np.ndarray[Any, Any]


def _called(name: str, operator: str = "tanh", dtype: str = "float32", **dims: int) -> tuple[list[Any], Array, Array]:
    """The input arrays of every call under a variant, its output, and the unwrapped one. The kernel sees copies."""
    seen: list[Any] = []

    def kernel(*inputs: Array, **attributes: Any) -> Array:
        seen.append([(array.copy(order="K"), array.strides, array.ctypes.data) for array in inputs])
        return np.asarray(_REFERENCE[operator](*inputs, **attributes))

    with Lab() as lab:
        target = lab.target(operator, kernel, dtype=dtype)
        problem = lab.problem(operator, dims=dims or None, dtype=dtype)
        bench = Bench(problem)
        draw(problem, bench.contract, 0, 0, bench.rung(dtype).arena.arrays)
        plain = bench.prepared(target).call()[0].copy()
        seen.clear()
        return seen, bench.varied(target, name).call()[0], plain


_REFERENCE: dict[str, Any] = {
    "tanh": lambda x: x * 2,
    "relu": lambda x: x * 2,
    "sum": lambda x, axis: x.sum(axis=axis, dtype=np.float64).astype(x.dtype),
    "cumsum": lambda x, axis: np.cumsum(x, axis=axis),
    "matmul": lambda a, b: np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype),
    "softmax": lambda x, axis: np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True),
    "batch_norm": lambda x, mean, var, gamma, beta, eps: x + 1,
    "layer_norm": lambda x, gamma, beta, eps: (x - x.mean(-1, keepdims=True)) * gamma + beta,
}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("batch[8]", [8, 8, 4]),
        ("batch[1]", [1] * 20),
        ("batch[n-1]", [19, 1]),
        ("length[5]", [5, 15]),
        ("padding[7]", [27]),
        ("position[3]", [23]),
        ("repeat[3]", [20, 20, 20]),
    ],
)
@pytest.mark.parametrize(
    ("operator", "dims", "axis"),
    [("tanh", {"n": 20}, 0), ("sum", {"rows": 20, "n": 6}, 0), ("batch_norm", {"N": 20, "C": 2, "H": 2, "W": 2}, 0)],
)
def test_the_batch_goes_in_pieces_and_comes_back_whole(
    name: str, sizes: list[int], operator: str, dims: dict[str, int], axis: int
) -> None:
    seen, varied, plain = _called(name, operator, **dims)
    assert [inputs[0][0].shape[axis] for inputs in seen] == sizes
    np.testing.assert_array_equal(varied, plain)


def test_what_has_no_batch_goes_with_every_piece() -> None:
    seen, varied, plain = _called("batch[3]", "matmul", M=8, K=5, N=4)
    assert [[array.shape for array, _, _ in inputs] for inputs in seen] == [[(n, 5), (5, 4)] for n in (3, 3, 2)]
    assert all((inputs[1][0] == seen[0][1][0]).all() for inputs in seen)
    np.testing.assert_array_equal(varied, plain)


def test_rows_before_the_batch_are_its_own() -> None:
    seen, _, _ = _called("position[3]", n=5)
    longer = seen[0][0][0]
    np.testing.assert_array_equal(longer, np.concatenate([longer[-3:], longer[3:]]))


@pytest.mark.parametrize("operator", ["sum", "batch_norm", "tanh"])
@pytest.mark.parametrize("layout", ["strided", "offset", "F", "negative", "channels_last"])
def test_kernels_get_arrays_that_really_lie_so(operator: str, layout: str) -> None:
    dims = {"sum": {"rows": 4, "n": 6}, "batch_norm": {"N": 2, "C": 3, "H": 4, "W": 5}, "tanh": {"n": 12}}[operator]
    rank = {"sum": 2, "batch_norm": 4, "tanh": 1}[operator]
    if (layout == "F" and rank < 2) or (layout == "channels_last" and rank != 4):
        with pytest.raises(Unsupported):
            _called(f"layout[{layout}]", operator, **dims)
        return
    seen, varied, plain = _called(f"layout[{layout}]", operator, **dims)
    ((array, strides, address),) = [seen[0][0]]
    items = np.array(strides) // array.itemsize
    shape = array.shape
    if layout == "strided":
        assert items[-1] == 2
    elif layout == "offset":
        assert address % 64 == array.itemsize
    elif layout == "F":
        assert items[0] == 1
        assert items[-1] == np.prod(shape[:-1])
    elif layout == "negative":
        assert items[-1] == -1
    else:
        assert items[1] == 1
    np.testing.assert_array_equal(varied, plain)


def test_between_the_elements_of_a_strided_array_there_are_no_numbers() -> None:
    beside: list[bool] = []

    def kernel(x: Array) -> Array:
        if x.strides[-1] != x.itemsize:
            gap = np.lib.stride_tricks.as_strided(x, (1,), (x.itemsize,), writeable=False)
            whole = np.lib.stride_tricks.as_strided(gap, (2,), (x.itemsize,), writeable=False)
            beside.append(bool(np.isnan(whole[1])))
        return x * 2

    with Lab() as lab:
        target, problem = lab.target("tanh", kernel), lab.problem("tanh")
        bench = Bench(problem)
        draw(problem, bench.contract, 0, 0, bench.rung("float32").arena.arrays)
        bench.varied(target, "layout[strided]").call()
    assert beside == [True]


def test_a_matrix_is_transposed_with_its_axis() -> None:
    seen, varied, plain = _called("layout[transposed]", "softmax", rows=3, n=5)
    assert seen[0][0][0].shape == (5, 3)
    np.testing.assert_allclose(varied, plain, rtol=1e-6)


@pytest.mark.parametrize("name", ["permuted[reversed]", "permuted[shuffled]"])
def test_summands_change_places_and_outputs_keep_theirs(name: str) -> None:
    seen, varied, plain = _called(name, "matmul", M=3, K=16, N=2)
    (a, _, _), (b, _, _) = seen[0]
    assert a.shape == (3, 16)
    np.testing.assert_allclose(varied, plain, rtol=1e-5)
    seen, varied, plain = _called(name, "layer_norm", rows=3, n=16)
    np.testing.assert_allclose(varied, plain, rtol=1e-5, atol=1e-6)
    assert len(seen[0]) == 3
    assert not np.array_equal(b, np.sort(b))


def test_an_order_that_the_formula_depends_on_is_not_changed() -> None:
    with pytest.raises(Unsupported, match="any order"):
        _called("permuted[reversed]", "cumsum", rows=4, n=8)


@pytest.mark.parametrize(
    ("name", "said"),
    [("batch[20]", "has 20"), ("batch[64]", "has 20"), ("batch[vmap]", "no option batch"), ("threads[2]", "threads")],
)
def test_why_a_variant_does_not_apply_is_one_line(name: str, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        _called(name, n=20)


def test_a_batch_is_not_cut_into_thousands_of_calls() -> None:
    with pytest.raises(Unsupported, match="more than 256 calls"):
        _called("batch[1]", n=4096)


def test_repeated_calls_give_the_one_that_is_furthest_off() -> None:
    calls = iter([0.0, 0.0, 1.0, 3.0, 2.0, 0.0])

    with Lab() as lab:
        target = lab.target("tanh", lambda x: x + x.dtype.type(next(calls)))
        problem = lab.problem("tanh", {"x": "constant(0)"}, dims={"n": 4})
        bench = Bench(problem)
        draw(problem, bench.contract, 0, 0, bench.rung("float32").arena.arrays)
        bench.prepared(target).call()
        varied = bench.varied(target, "repeat[5]")
        assert varied.call()[0].tolist() == [3.0] * 4
        assert varied.told() == "3 of 4 calls differ in their bits from the first"


def test_kernels_are_compiled_once_and_shared() -> None:
    with Lab() as lab:
        target, problem = lab.target("tanh", lambda x: x), lab.problem("tanh", dims={"n": 9})
        bench = Bench(problem)
        draw(problem, bench.contract, 0, 0, bench.rung("float32").arena.arrays)
        for name in ("batch[8]", "batch[n-1]", "padding[1]", "position[1]", "length[1]"):
            bench.varied(target, name)
        assert len(bench._parts[target]) == 3  # of 8, 1 and 10 elements


def test_a_formula_that_holds_for_its_own_sizes_only_has_no_pieces() -> None:
    def formula(x: Any) -> Any:
        if x.shape != (20,):
            raise ValueError("20 elements are due")
        return np.tanh(x)

    fixed = structs.replace(OPERATORS["tanh"], reference=formula)
    with Lab() as lab, pytest.MonkeyPatch.context() as patch:
        patch.setitem(OPERATORS, "tanh", fixed)
        target, problem = lab.target("tanh", np.tanh), lab.problem("tanh", dims={"n": 20})
        bench = Bench(problem)
        with pytest.raises(Unsupported, match="does not take other sizes: 20 elements are due"):
            bench.varied(target, "batch[8]")
        bench.varied(target, "layout[strided]")
