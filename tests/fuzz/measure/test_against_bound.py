"""Figures in units of the bound alone: those among all figures, from fewer passes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from exact_metrics import Array, cases, quick, yardstick
from hypothesis import given

from fuzz.measure import BoundFigures, Yardstick


def alike(tool: Yardstick, output: Array) -> BoundFigures:
    """The figures of `output`, asserted to be those that all figures have, and the rho of every element with them."""
    found = tool.bound_figures(output)
    rho = tool.rho.copy()
    every = tool.measure(output)
    assert msgspec.structs.asdict(found) == {name: getattr(every, name) for name in BoundFigures.__struct_fields__}
    np.testing.assert_array_equal(rho, tool.rho)
    assert tool.bound_figures(output) == found
    return found


@quick
@given(cases("float32"))
def test_float32(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    alike(yardstick(value, bound, "float32"), output)


@quick
@given(cases("float64"))
def test_float64(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    alike(yardstick(value, bound, "float64"), output)


def test_what_is_not_finite() -> None:
    y = np.array([np.nan, 1.0, np.nan, np.inf, -np.inf, np.inf, 1.5, np.inf, 2.0, 0.0], np.float32)
    v = [np.nan, np.nan, 1.0, np.inf, np.inf, 1.0, 1.0, np.nan, np.inf, 0.0]
    found = alike(yardstick(v, [1.0] * 8 + [np.inf, 0.0], "float32"), y)
    assert (found.nonfinite_mismatch, found.first_mismatch, found.flagged) == (6, 1, 1)


def test_overflows_that_explain_an_error() -> None:
    tool = yardstick([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], "float32", overflow=[True, True, False])
    tool._plain = lambda squares: np.zeros(3, np.float32)
    found = alike(tool, np.array([0.0, 0.5, 0.0], np.float32))
    assert (found.overflow_explained, found.flagged, found.rho.index) == (1, 2, 2)


def test_other_models_of_accumulation() -> None:
    value = np.full(4, 3.0)
    parts: dict[int, Any] = {0: np.ones(4), 1000: np.full(4, 0.5)}
    found = alike(yardstick(value, None, "float32", parts=parts), np.float32([3, 3, 3.001, 3]))
    assert found.rho_tree_max is not None
    assert found.rho_ideal > found.rho_tree > found.rho.largest > found.rho_sequential


def test_no_elements() -> None:
    assert alike(yardstick([], [], "float32"), np.empty(0, np.float32)).rho.index == -1


@pytest.mark.parametrize("size", [1, 100])
def test_what_was_asked_for_before_does_not_matter(size: int) -> None:
    """Reciprocals, the rounded truth and 1/ulp are computed when first needed: after a new draw they are new, too."""
    rng = np.random.default_rng(1)
    tool = yardstick(rng.normal(size=size), np.ones(size), "float32")
    for scale in (1e-42, 1.0, 1e30, 0.0):
        fresh = yardstick(rng.normal(size=size) * scale, np.full(size, scale), "float32")
        assert fresh.truth is not None
        tool.refresh(fresh.truth, lambda: np.zeros(size, bool))
        output = np.float32(fresh.value * 1.0001 + 1e-44)
        assert tool.bound_figures(output) == fresh.bound_figures(output)
        nearest = np.float32(fresh.value)
        assert tool.measure(nearest).equal
        assert fresh.measure(nearest).equal
        assert tool.measure(output) == fresh.measure(output)
        near = np.arange(0, size, 3)
        assert tool.largest_ulp_at(near) == fresh.largest_ulp_at(near)
