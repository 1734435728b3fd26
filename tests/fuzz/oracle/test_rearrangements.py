"""Views stay views, copies and padding become one gather; products, running sums, counts, roots near zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fuzz.oracle.arithmetic import MpmathArithmetic
from fuzz.oracle.bound import Truth, bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.models import Model
from fuzz.oracle.plain import plain
from fuzz.oracle.products import prefix_classes, scaled_product
from fuzz.oracle.program import Program
from fuzz.oracle.trace import TraceError, trace

Array = NDArray[Any]
windows = np.lib.stride_tricks.sliding_window_view
U32 = 2.0**-24


def traced(function: Callable[..., Any], *arrays: Array) -> Program:
    return trace(function, {f"x{i}": a.shape for i, a in enumerate(arrays)})


def truth(function: Callable[..., Any], *arrays: Array, dtype: str = "float32") -> Truth:
    return bound(traced(function, *arrays), dtype)(arrays)


def primitives(program: Program) -> list[str]:
    return [node.primitive for node in program.nodes if node.primitive != "input"]


PADDED = ((1, 2), (0, 1))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x[:, ::2], ["getitem"]),
        (lambda x: np.transpose(x), ["transpose"]),
        (lambda x: np.transpose(x).reshape(-1), ["gather"]),
        (lambda x: x[::2].reshape(-1), ["gather"]),
        (lambda x: x.reshape(-1), ["reshape"]),
        (lambda x: windows(x, (2, 3)), ["sliding_window_view"]),
        (lambda x: windows(x, (2, 3)).reshape(-1, 6), ["gather"]),
        (lambda x: np.pad(x, PADDED), ["gather"]),
        (lambda x: np.pad(x, PADDED)[::2], ["gather", "getitem"]),
        (lambda x: windows(np.pad(x, PADDED), (2, 3))[::2].reshape(-1, 6), ["gather"]),
        (lambda x: np.pad(np.transpose(x)[1:], PADDED, constant_values=7.0), ["gather"]),
        (lambda x: np.pad(np.pad(x, 1), 1, constant_values=2.0), ["gather", "gather"]),
        (lambda x: np.pad(np.pad(x, 1), 1).reshape(-1), ["gather", "reshape"]),
    ],
)
def test_a_rearrangement_is_a_view_or_one_gather(function: Callable[..., Any], expected: list[str]) -> None:
    x = np.arange(20.0).reshape(4, 5) + 0.1
    program = traced(function, x)
    assert primitives(program) == expected
    output = bound(program, "float64")([x]).outputs[0]
    np.testing.assert_array_equal(output.value, function(x))
    np.testing.assert_array_equal(plain(program, [x], "float64")[0], function(x))
    inside = np.isin(function(x), x)
    np.testing.assert_array_equal(output.excused(), np.where(inside, function(x), 0.0))
    at = tuple(size - 1 for size in output.value.shape)
    assert float(evaluate(program, 0, at, [x], MpmathArithmetic()).value) == function(x)[at]


def test_padding_is_exact_and_other_modes_are_refused() -> None:
    e = truth(lambda x: np.pad(x, 1, constant_values=0.1), np.ones(2)).outputs[0].excused()
    np.testing.assert_array_equal(e, [0.1, 1, 1, 0.1])  # 0.1 is no float32 number
    assert truth(lambda x: np.pad(x, 1), np.ones(0)).outputs[0].value.tolist() == [0, 0]
    with pytest.raises(TraceError, match="mode 'reflect'"):
        traced(lambda x: np.pad(x, 1, "reflect"), np.ones(3))


@pytest.mark.parametrize(("constant", "error"), [(0.0, 0.0), (7.0, 0.0), (-np.inf, 0.0), (0.1, 0.1)])
def test_copies_of_inputs_share_their_seed_beside_any_padding(constant: float, error: float) -> None:
    x, y = np.array([1.0, 2.0]), np.array([[3.0], [4.0]])
    e = truth(lambda x: np.pad(x, 1, constant_values=constant), x).outputs[0].excused()
    np.testing.assert_array_equal(e, [error, 1.0, 2.0, error])
    products = truth(lambda x, y: np.pad(x, ((1, 0), (0, 0))) @ y, x[None, :], y).outputs[0]
    assert {n: part[:, 0].tolist() for n, part in products.parts.items()}[2] == [0.0, 11.0]
    again = truth(lambda x: np.transpose(np.pad(x, 1)), x).outputs[0].excused()
    np.testing.assert_array_equal(again, [0.0, 1.0, 2.0, 0.0])


def test_what_no_output_needs_is_left_out() -> None:
    def function(x: Any) -> Any:
        np.exp(x)
        return x + 1.0

    assert primitives(traced(function, np.ones(3))) == ["add"]


def test_overflow_travels_through_a_gather_to_the_elements_taken() -> None:
    x = np.array([1e38, 1.0, 2.0])
    found = truth(lambda x: np.pad(x * 10.0, 1)[::2].reshape(-1), x)
    assert found.overflow(0).tolist() == [False, False, False]
    assert truth(lambda x: np.pad(x * 10.0, 1)[:2].reshape(-1), x).overflow(0).tolist() == [False, True]


def test_padding_beside_an_infinite_weight_may_be_left_out() -> None:
    x, w = np.ones((1, 4)), np.array([[np.inf, 1.0]])

    def function(x: Any, w: Any) -> Any:
        columns = np.transpose(windows(np.pad(x, ((0, 0), (1, 1))), (1, 2))[0], (1, 2, 0)).reshape(2, 5)
        return np.matmul(w, columns)

    found = truth(function, x, w)
    assert np.isnan(found.outputs[0].value[0, 0])
    assert found.overflow(0).tolist() == [[True, False, False, False, False]]


def test_relative_errors_of_a_product_add() -> None:
    x = np.array([[3.0, -2.0, 0.5], [0.0, 2.0, 4.0], [0.0, 0.0, 4.0]])
    output = truth(lambda x: np.prod(x, axis=1), x).outputs[0]
    z = np.abs(np.prod(x, axis=1))
    assert output.excused() == pytest.approx(z * (3 + np.sqrt(3)))  # seeds of 1 u each, 3 roundings
    assert output.excused(Model.SEQUENTIAL) == pytest.approx(z * 6)
    shifted = truth(lambda x: np.prod(x - 1.0, axis=0), np.array([1.0, 3.0, 3.0])).outputs[0]
    assert shifted.excused()[()] == pytest.approx(1.0 * 4)  # one factor is 0 with the error of its seed


def test_partial_products_out_of_range_do_not_spoil_the_product() -> None:
    x = np.array([1e300, 1e300, 1e-300, 1e-300, 1e-300, 1e300])
    assert scaled_product(x, (0,), False) == pytest.approx(1.0)
    found = truth(lambda x: np.prod(x, axis=0), np.array([1e30, 1e30, 1e-30, 1e-30]))
    assert found.outputs[0].value == pytest.approx(1.0)
    assert found.overflow(0)[()]
    assert found.outputs[0].excused() > 1e20  # in another order a partial product underflows, too


@pytest.mark.parametrize(("n", "classes"), [(1, ()), (2, (2,)), (5, (2, 4, 5)), (8, (2, 4, 8)), (9, (2, 4, 8, 9))])
def test_prefixes_are_charged_under_the_next_power_of_two(n: int, classes: tuple[int, ...]) -> None:
    assert prefix_classes(n) == classes
    output = truth(lambda x: np.cumsum(x, axis=1), np.ones((2, n))).outputs[0]
    own = np.arange(1, n + 1)
    sequential = output.excused(Model.SEQUENTIAL)[0] / own
    assert (sequential >= own).all()
    assert (sequential[1:] <= 1 + 2 * own[1:]).all()
    assert sequential[0] == 1  # the first prefix is a copy


def test_running_sums_stay_within_their_own_bound() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3, 4096)).astype(np.float32)
    output = truth(lambda x: np.cumsum(x, axis=-1), x.astype(float)).outputs[0]
    rho = np.abs(np.cumsum(x, axis=-1) - output.value) / (U32 * output.excused())
    assert 0.1 < rho.max() < 1
    assert rho[:, :64].max() > 0.1


def test_counts_are_exact() -> None:
    x = np.array([[1.0, 2.0, 2.0]])
    output = truth(lambda x: np.count_nonzero(x >= np.max(x, axis=1, keepdims=True), axis=1) * 1.0, x).outputs[0]
    assert output.value.tolist() == [2]
    assert output.excused() == pytest.approx([2.0], abs=1e-25)  # the rounding of * 1.0


def test_a_variance_of_roundings_alone_has_a_root() -> None:
    """float32 sees 0.1 plus and minus one ulp around the mean: the bound of the root must cover it."""
    x = np.full(7, float(np.float32(0.1)))
    root = truth(lambda x: np.sqrt(np.var(x, axis=0)), x).outputs[0]
    variance = truth(lambda x: np.var(x, axis=0), x).outputs[0].excused()
    assert U32 * root.excused() == pytest.approx(np.sqrt(U32 * variance), rel=0.5)
    assert truth(np.sqrt, np.array([0.0, 4.0])).outputs[0].excused() == pytest.approx([0.0, 3.0])


def test_finite_terms_that_overflow_beside_an_infinity_excuse_nan() -> None:
    a, b = np.array([[-np.inf, 3.0, 3.0], [-np.inf, 1.0, 1.0]]), np.array([[1.0], [2e38], [1e38]])
    found = truth(np.matmul, a, b)
    assert found.outputs[0].value.tolist() == [[-np.inf], [-np.inf]]
    assert found.overflow(0).tolist() == [[True], [False]]
