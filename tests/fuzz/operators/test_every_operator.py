"""What holds for every operator: one meaning in all interpreters, a stable reference, NaN that arrives, no gaps."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_cases import CASES
from elementwise_cases import NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import ArbArithmetic, DependencyArithmetic, MpmathArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.lint import lint
from fuzz.oracle.plain import plain
from fuzz.oracle.program import Program
from fuzz.oracle.trace import trace
from strategies.sizes import fitted

sys.path.append(str(Path(__file__).parents[1] / "oracle"))
from oracle_cases import SMALL, TEXTBOOK

Array = NDArray[Any]
U32, U64 = 2.0**-24, 2.0**-53
MOST = 5
RECIPES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "offset": lambda rng, shape: 1000 + rng.normal(size=shape),
    "large": lambda rng, shape: 30 * rng.normal(size=shape),
    "wide": lambda rng, shape: rng.choice([-1, 1], shape) * 10.0 ** rng.uniform(-9, 3, shape),
    "positive": lambda rng, shape: rng.uniform(size=shape),
}


class Drawn:
    """A random small problem of one operator: its program and float32 numbers (in float64) for its inputs."""

    def __init__(self, operator: str, recipe: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.operator = OPERATORS[operator]
        contract = self.operator.contract
        sizes = {dim.name: max(dim.minimum, int(rng.integers(1, MOST + 1))) for dim in contract.dims}
        self.attributes = {name: rng.choice([spec.default, *spec.usual]).item() for name, spec in contract.attributes}
        if "kernel" in self.attributes:  # a pool within its image
            sizes |= {name: max(size, self.attributes["kernel"]) for name, size in sizes.items() if name in "HW"}
        if {"low", "high"} <= set(self.attributes):
            self.attributes |= {"low": -1.0, "high": 1.0}
        shapes = contract.shapes(fitted(contract, sizes))
        self.program: Program = trace(self.operator.reference, shapes, self.attributes)
        self.arrays = [self._numbers(spec, RECIPES[recipe](rng, shapes[spec.name])) for spec in contract.inputs]

    @staticmethod
    def _numbers(spec: Any, values: Array) -> Array:
        inside = np.abs(values) if spec.domain.low >= 0 else values
        if np.isfinite(spec.domain.high):
            inside = np.remainder(inside, 1.0) * 0.99
        elif np.isfinite(spec.domain.low):
            inside = np.maximum(inside, spec.domain.low)
        return np.asarray(inside, np.float32).astype(np.float64)


def direct(drawn: Drawn) -> tuple[Array, ...]:
    """The reference called as the NumPy function that it is, without tracing."""
    with np.errstate(all="ignore"):
        result = drawn.operator.reference(*drawn.arrays, **drawn.attributes)
    return result if isinstance(result, tuple) else (result,)


def disagreements(drawn: Drawn, arithmetic: Any, scale: float = 1.0) -> list[str]:
    """Where tracing, bound and element interpreters differ by more than float64 and the bound allow.

    The element interpreter gets the first input times `scale`.
    """
    scaled = [drawn.arrays[0] * scale, *drawn.arrays[1:]]
    found = []
    truth = bound(drawn.program, "float32")(drawn.arrays)
    values = plain(drawn.program, drawn.arrays, "float64")
    for number, (output, traced, called) in enumerate(zip(truth.outputs, values, direct(drawn), strict=True)):
        if not np.array_equal(traced, called, equal_nan=True):
            found.append(f"output {number}: traced and called differ")
        excused = output.excused()
        for at in list(np.ndindex(output.value.shape))[:: max(1, output.value.size // 4)]:
            value = float(output.value[at])
            with contextlib.suppress(ZeroDivisionError, ValueError, OverflowError):  # poles of mpmath
                exact = arithmetic.rounded(evaluate(drawn.program, number, at, scaled, arithmetic).value)
                allowed = 4 * U64 * float(excused[at]) + 1e-300
                if np.isfinite(value) and np.isfinite(exact) and not abs(exact - value) <= allowed:
                    found.append(f"output {number} at {at}: {value!r} and {exact!r}, {allowed:.2g} allowed")
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_all_interpreters_agree_on_random_problems(operator: str) -> None:
    @settings(max_examples=12, deadline=None, derandomize=True, database=None)
    @given(st.sampled_from(sorted(RECIPES)), st.integers(0, 10**6))
    def check(recipe: str, seed: int) -> None:
        drawn = Drawn(operator, recipe, seed)
        assert not disagreements(drawn, MpmathArithmetic())
        assert not disagreements(drawn, ArbArithmetic())

    check()


@pytest.mark.parametrize("operator", sorted(set(OPERATORS) - {"sign"}))
def test_an_interpreter_that_errs_is_noticed(operator: str) -> None:
    """(Signs do not change.) Elements of saturated functions may not either: one of five kinds has to show it."""
    drawn = [Drawn(operator, recipe, seed) for recipe in RECIPES for seed in range(3)]
    assert any(disagreements(one, MpmathArithmetic(), 1 + 1e-9) for one in drawn)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_reference_is_a_stable_formulation(operator: str) -> None:
    for recipe in ("normal", "offset", "large", "positive"):
        for seed in range(3):
            drawn = Drawn(operator, recipe, seed)
            with np.errstate(all="ignore"):
                assert (found := lint(drawn.program, drawn.arrays, "float32")).stable, (recipe, found)


@pytest.mark.parametrize("operator", OPERATORS)
def test_nan_reaches_what_depends_on_it_and_nothing_else(operator: str) -> None:
    for seed in range(4):
        drawn = Drawn(operator, "positive", seed)
        rng = np.random.default_rng(seed)
        which = int(rng.integers(len(drawn.arrays)))
        at = tuple(int(rng.integers(size)) for size in drawn.arrays[which].shape)
        place = (drawn.program.inputs[which], at)
        before = [output.value.copy() for output in bound(drawn.program, "float32")(drawn.arrays).outputs]
        reached = [
            np.array([place in used(drawn, number, index) for index in np.ndindex(values.shape)]).reshape(values.shape)
            for number, values in enumerate(before)
        ]
        drawn.arrays[which][at] = np.nan
        for number, output in enumerate(bound(drawn.program, "float32")(drawn.arrays).outputs):
            assert np.isnan(output.value[reached[number]]).all()
            np.testing.assert_array_equal(output.value[~reached[number]], before[number][~reached[number]])


def used(drawn: Drawn, output: int, index: tuple[int, ...]) -> set[tuple[str, tuple[int, ...]]]:
    found = evaluate(drawn.program, output, index, drawn.arrays, DependencyArithmetic())
    return {(name, at) for name, at, _ in found.inputs}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("special", [np.inf, -np.inf, 0.0, -0.0])
def test_infinities_and_zeros_mean_what_the_formula_says(operator: str, special: float) -> None:
    for seed in range(3):
        drawn = Drawn(operator, "normal", seed)
        for array in drawn.arrays:
            array[tuple(np.random.default_rng(seed).integers(size) for size in array.shape)] = special
        with np.errstate(all="ignore"):
            outputs = bound(drawn.program, "float32")(drawn.arrays).outputs
        for output, called in zip(outputs, direct(drawn), strict=True):
            np.testing.assert_array_equal(np.isnan(output.value), np.isnan(called))
            infinite = np.isinf(called)
            right = np.abs(called) if operator == "lgamma" else called  # SciPy: -inf at -inf; C17 says inf
            np.testing.assert_array_equal(output.value[infinite], right[infinite])


def test_every_reference_is_checked_against_a_textbook_formula() -> None:
    """The three tables whose tests compare 200 points and more with mpmath and Arb."""
    assert {*NAMES, *CASES, *TEXTBOOK} == set(OPERATORS)
    assert set(SMALL) == set(TEXTBOOK)
