"""What a reference may not do, and what it is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fuzz.oracle.bound import bound
from fuzz.oracle.trace import TraceError, trace

X = {"x": (3, 4)}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (lambda x: x if x > 0 else -x, "may not branch on values .*np.where"),
        (lambda x: max(x, 0.0), "may not branch on values"),
        (lambda x: math.exp(x), "plain numbers or arrays"),
        (lambda x: np.asarray(x) * 2, "plain numbers or arrays"),
        (lambda x: np.sin(x), "sin is not a primitive of the oracle: use absolute, add"),
        (lambda x: x**2, "power is not a primitive"),
        (lambda x: np.cumsum(x), "cumsum is not a primitive"),
        (lambda x: np.add.accumulate(x), "add.accumulate is not a primitive"),
        (lambda x: x + np.ones(4), "scalars only, not ndarray"),
        (lambda x: np.add(x, [1.0, 2.0, 3.0, 4.0]), "scalars only, not list"),
        (lambda x: np.zeros((3, 4)), "returned ndarray, not an array computed from its inputs"),
        (lambda x: (x, 3.0), "returned float"),
        (lambda x: np.sum(x, axis=0, dtype=np.float32), "sum: argument dtype is not supported"),
        (lambda x: np.add(x, 1.0, out=x), "argument out is not supported"),
        (lambda x: np.sum(x, 0, None, None), "sum takes 1 arrays here, got 4"),
        (lambda x: np.where(x > 0), "where takes 3 arrays here, got 1"),
    ],
)
def test_what_has_no_error_rule_is_refused(reference: Callable[..., Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        trace(reference, X)


def test_an_axis_by_position_is_the_axis() -> None:
    traced = trace(lambda x: np.sum(x, 0), X)
    assert traced.output_shapes() == ((4,),)
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(bound(traced, "float32")([x]).outputs[0].value, x.sum(0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.transpose(x) + 0.0,
        lambda x: x[1:] - x[:-1],
        lambda x: np.expand_dims(x, -1) * 2.0,
        lambda x: np.broadcast_to(x, (2, 3, 4)) * 1.0,
        lambda x: x.reshape(-1) + 1.0,
        lambda x: np.reshape(x, (2, 6)) / 3.0,
        lambda x: np.min(x, axis=0) + np.max(x, axis=(0, 1)),
        lambda x: np.add.reduce(x, axis=1),
        lambda x: np.where(x >= 0.0, np.minimum(x, 1.0), -x),
        lambda x: np.var(x, axis=0, ddof=1) + np.mean(x),
        lambda x: np.matmul(x, np.transpose(x)),
    ],
)
def test_values_of_the_traced_program_are_numpy_s(function: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    output = bound(trace(function, X), "float32")([x]).outputs[0]
    np.testing.assert_allclose(output.value, function(x), rtol=1e-14)
    assert output.excused().shape == output.value.shape
    assert (output.excused()[output.value != 1.0] > 0).all()  # np.minimum took the exact 1 there


def test_several_outputs_and_an_input_passed_through() -> None:
    traced = trace(lambda x: (x, np.sum(x, axis=0)), X)
    x = np.ones((3, 4))
    first, second = bound(traced, "float32")([x]).outputs
    np.testing.assert_array_equal(first.excused(), 1.0)
    np.testing.assert_array_equal(second.value, 3.0)
