"""The primitive for functions that cannot be looked into: value, conditioning, what it refuses to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fuzz.oracle.arithmetic import DependencyArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.element import SliceTooLarge, evaluate
from fuzz.oracle.opaque import OPERATIONS, SAMPLES, Opaque, program_of
from fuzz.oracle.slices import UNAFFORDABLE, slice_size


def opaque(function: Any, independent: Sequence[Sequence[int]] = ()) -> Opaque:
    return Opaque("f", lambda inputs: (function(*inputs),), independent)


BOTH = ((0,), (0,))


def test_the_value_is_that_of_float64_and_the_bound_holds_the_condition() -> None:
    x = np.linspace(-3, 3, 50, dtype=np.float32)
    call = opaque(np.exp, ((0,),))
    truth = bound(program_of(call, {"x": x.shape}, [x.shape]), "float32")([x])
    assert np.array_equal(truth.outputs[0].value, np.exp(x.astype(np.float64)))
    assert truth.known_by == "float64 of f"
    expected = OPERATIONS * (np.abs(x) + 1) * np.exp(x.astype(np.float64))
    assert truth.outputs[0].excused() == pytest.approx(expected, rel=1e-3)


def test_a_sum_of_one_sign_is_granted_the_roundings_of_its_partial_sums() -> None:
    call = opaque(lambda x: x.sum(axis=1), [(0,)])
    x = np.ones((2, 10_000))
    truth = bound(program_of(call, {"x": x.shape}, [(2,)]), "float32")([x])
    assert (truth.outputs[0].excused() >= 100 * x.sum(axis=1)).all()


def test_without_a_result_there_is_no_truth() -> None:
    def refuses(x: Any) -> Any:
        raise ValueError("no")

    truth = bound(program_of(opaque(refuses, [(0,)]), {"x": (3,)}, [(3,)]), "float32")([np.ones(3)])
    assert np.isinf(truth.outputs[0].excused()).all()


def test_cancellation_is_seen() -> None:
    a = np.full(8, 1000.0)
    call = opaque(lambda a, b: a - b, BOTH)
    truth = bound(program_of(call, {"a": (8,), "b": (8,)}, [(8,)]), "float32")([a, a * (1 - 1e-6)])
    amplification = truth.outputs[0].excused() / np.abs(truth.outputs[0].value)
    assert amplification.max() > 5e5  # 2e6 where the two signs differ in one of SAMPLES draws


def test_sums_are_granted_the_root_of_their_length() -> None:
    call = opaque(lambda x: x.sum(axis=1), ((0,),))
    assert call.terms([(4, 100)]) == 100
    assert opaque(np.tanh, ((0, 1),)).terms([(4, 100)]) == 1
    assert opaque(np.matmul).terms([(4, 100), (100, 5)]) == 900
    assert opaque(np.matmul, ((0,), (1,))).terms([(4, 100), (100, 5)]) == 200


def test_a_float64_result_is_judged_by_the_double() -> None:
    x = np.linspace(1, 2, 5)
    call = opaque(np.sqrt, ((0,),))
    narrow = bound(program_of(call, {"x": (5,)}, [(5,)]), "float32")([x]).outputs[0].excused()
    wide = bound(program_of(call, {"x": (5,)}, [(5,)]), "float64")([x]).outputs[0].excused()
    assert wide == pytest.approx(2 * narrow, rel=1e-6)


def test_nothing_is_computed_twice_for_the_same_inputs() -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return np.stack([x, x])

    call = Opaque("f", lambda inputs: tuple(counted(*inputs)))
    program = program_of(call, {"x": (3,)}, [(3,), (3,)])
    bound(program, "float32")([np.ones(3)])
    assert len(calls) == 1 + SAMPLES


def test_an_element_cannot_be_evaluated_by_itself() -> None:
    program = program_of(opaque(np.tanh, ((0,),)), {"x": (3,)}, [(3,)])
    assert slice_size(program, 0) == UNAFFORDABLE
    with pytest.raises(SliceTooLarge):
        evaluate(program, 0, (1,), [np.ones(3)], DependencyArithmetic())


@pytest.mark.parametrize("call", [opaque(np.tanh, ((0,),)), opaque(lambda x: x - x.sum())])
def test_a_nan_that_was_given_is_no_overflow(call: Opaque) -> None:
    truth = bound(program_of(call, {"x": (3,)}, [(3,)]), "float32")([np.array([1.0, np.nan, 2.0])])
    assert not truth.overflow(0).any()
