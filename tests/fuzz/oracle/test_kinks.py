"""Derivatives at kinks: what lies between the two sides is accepted there, and nothing else anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fuzz.oracle.arithmetic import ArbArithmetic, MpmathArithmetic
from fuzz.oracle.bound import OutputTruth, bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.kinks import choose, chosen, kink, kinked
from fuzz.oracle.program import Program
from fuzz.oracle.slices import slice_size
from fuzz.oracle.trace import trace

Array = NDArray[Any]
U32 = 2.0**-24


def rectified(x: Any, g: Any) -> Any:
    return kink(x, 0.0, 0.0, g)


def program(size: int, function: Any = rectified) -> Program:
    return trace(function, {"x": (size,), "g": (size,)})


def accepted(output: OutputTruth, values: Array) -> Array:
    """Whether each of `values` is within the bound: rho at most 1."""
    return np.abs(values - output.value) <= U32 * output.excused()


def test_between_the_sides_everything_is_accepted_at_the_kink_and_nothing_outside() -> None:
    x, g = np.zeros(6), np.full(6, 3.0)
    (output,) = bound(program(6), "float32")([x, g]).outputs
    tried = np.array([0.0, 1.5, 3.0, -0.01, 3.01, 4.0])
    assert list(accepted(output, tried)) == [True, True, True, False, False, False]


def test_beside_the_kink_one_side_alone_is_right() -> None:
    least = np.float32(1e-45)
    x, g = np.array([least, -least, 1.0, -1.0]), np.full(4, 3.0)
    (output,) = bound(program(4), "float32")([x, g]).outputs
    assert list(output.value) == [3.0, 0.0, 3.0, 0.0]
    assert not accepted(output, np.array([0.0, 3.0, 0.0, 3.0])).any()
    assert np.all(output.excused() <= 3.0)


def test_a_computed_number_meets_the_kink_within_its_rounding() -> None:
    x, g = np.array([np.nextafter(np.float32(3), np.float32(0)), 2.9]), np.ones(2)
    (output,) = bound(program(2, lambda x, g: kink(x + 3.0, 6.0, 0.0, g)), "float32")([x, g]).outputs
    assert list(accepted(output, np.array([1.0, 1.0]))) == [True, False]


def test_neither_the_side_not_taken_nor_its_error_gets_through() -> None:
    def guarded(x: Any, g: Any) -> Any:
        return kink(x, 0.0, g, np.exp(-1000.0 * x) * g)

    x, g = np.array([-2.0, 2.0]), np.ones(2)
    (output,) = bound(program(2, guarded), "float32")([x, g]).outputs
    assert list(output.value) == [1.0, 0.0]
    assert output.excused()[0] == 1.0


@pytest.mark.parametrize("arithmetic", [ArbArithmetic, MpmathArithmetic])
def test_elements_agree_with_the_function(arithmetic: Any) -> None:
    x, g = np.array([-1.0, 0.0, 2.0]), np.array([3.0, 5.0, 7.0])
    found = [float(evaluate(program(3), 0, (i,), [x, g], arithmetic()).value) for i in range(3)]
    assert found == list(kinked(x, 0.0, 0.0, g)) == [0.0, 2.5, 7.0]


def test_a_number_that_cannot_be_compared_gives_none() -> None:
    assert np.isnan(kinked(np.nan, 0.0, 1.0, 2.0))
    assert np.isnan(chosen(np.array([1.0, np.nan]), np.ones(1), axis=(0,), largest=True)).all()


def selected(largest: bool) -> Any:
    return lambda x, g: choose(x, g.reshape(2, 1), axis=(1,), largest=largest)


def selection(largest: bool = True) -> Program:
    return trace(selected(largest), {"x": (2, 3), "g": (2,)})


def test_of_equal_maxima_each_may_get_all_or_nothing() -> None:
    x, g = np.array([[1.0, 5.0, 5.0], [1.0, 2.0, 3.0]]), np.array([4.0, -6.0])
    (output,) = bound(selection(), "float32")([x, g]).outputs
    assert output.value.tolist() == [[0.0, 2.0, 2.0], [0.0, 0.0, -6.0]]
    assert accepted(output, np.array([[0.0, 0.0, 4.0], [0.0, 0.0, -6.0]])).all()
    assert accepted(output, np.array([[0.0, 2.0, 2.0], [0.0, 0.0, -6.0]])).all()
    wrong = accepted(output, np.array([[4.0, 4.1, -0.1], [-6.0, -6.0, 0.0]]))
    assert not wrong.any()


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("arithmetic", [ArbArithmetic, MpmathArithmetic])
def test_elements_of_a_selection_agree_with_the_function(arithmetic: Any, largest: bool) -> None:
    x, g = np.array([[1.0, 5.0, 5.0], [1.0, 1.0, 3.0]]), np.array([4.0, -6.0])
    found = [float(evaluate(selection(largest), 0, at, [x, g], arithmetic()).value) for at in np.ndindex(2, 3)]
    assert found == chosen(x, g.reshape(2, 1), axis=(1,), largest=largest).reshape(-1).tolist()
    assert slice_size(selection(largest), 0) >= 3


def test_a_neighbour_that_is_smaller_is_not_chosen() -> None:
    x = np.array([[1.0, np.nextafter(np.float32(1), np.float32(2)), 0.5], [0.0, 0.0, 0.0]])
    (output,) = bound(selection(), "float32")([x, np.ones(2)]).outputs
    assert list(output.excused()[0]) == [0.0, 1.0, 0.0]
    assert list(output.value[0]) == [0.0, 1.0, 0.0]


def opened(function: Any, size: int, x: Array, g: Array) -> Array:
    """Elements that an open cotangent leaves open, and those that overflow."""
    kinds = tuple(("g", kind) for kind in ("nan", "inf", "huge"))
    found = bound(program(size, function), "float32", unspecified=kinds, contaminating=True)([x, g])
    return np.asarray(found.overflow(0)).reshape(-1)


def test_an_open_cotangent_leaves_its_own_element_open_even_on_the_side_not_taken() -> None:
    x, g = np.array([-1.0, 2.0, 3.0, -4.0]), np.array([np.inf, 1e20, 1e19, np.nan])
    assert list(opened(rectified, 4, x, g)) == [True, True, False, True]


def test_what_overflows_beside_an_open_element_is_seen_too() -> None:
    x, g = np.array([-1.0, 1e30, 3.0]), np.array([np.inf, 1.0, 1.0])
    assert list(opened(lambda x, g: g / (x * x), 3, x, g)) == [True, True, False]


def test_where_elements_are_added_up_an_open_one_leaves_all_open() -> None:
    x, g = np.ones(3), np.array([1.0, np.nan, 1.0])
    assert opened(lambda x, g: kink(x, 2.0, 0.0 * g, g) + np.sum(x), 3, x, g).all()
    assert not opened(lambda x, g: kink(x, 2.0, 0.0 * g, g) + np.sum(x), 3, x, np.ones(3)).any()
