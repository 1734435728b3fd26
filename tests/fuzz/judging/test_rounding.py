"""Operations that IEEE 754 requires to be correctly rounded: one wrong bit is found, exact cases are accepted."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.backends import BACKENDS
from fuzz.backends.base import Array
from fuzz.judging.judge import Evidence, Misrounded, judge
from fuzz.judging.rounding import misrounded
from fuzz.measure import Measurement, Spot
from fuzz.oracle.exact import ExactArithmetic
from fuzz.workbench import Bench, Rung
from strategies import make_problem, parse_recipe

SIZE = 600
OPERATORS = {"add": np.add, "multiply": np.multiply, "divide": np.divide, "sqrt": np.sqrt}
floats = st.floats(allow_nan=False, allow_infinity=False)


def rung_of(operator: str, dtype: str, *columns: Any) -> tuple[Bench, Rung, list[Array]]:
    """A bench with the inputs set and the truth computed."""
    from fuzz.operators import operator as named

    contract = named(operator).contract
    recipes = [parse_recipe("constant(1)", (spec.name,)) for spec in contract.inputs]
    size = len(columns[0])
    bench = Bench(make_problem(contract, dims={"n": size}, home=dtype, recipes=recipes))
    rung = bench.rung(dtype)
    for array, column in zip(rung.arena.arrays.values(), columns, strict=True):
        array[...] = column
    rung.refresh()
    return bench, rung, rung.inputs()


def samples(operator: str, dtype: str) -> list[Array]:
    """Ordinary numbers, then results near both ends of the range: subnormal, underflowing, overflowing."""
    rng = np.random.default_rng(5)
    reach = np.log2(float(np.finfo(dtype).max))
    ordinary = rng.normal(size=(2, SIZE // 2))
    extreme = rng.choice([-1, 1], (2, SIZE // 2)) * 2.0 ** (rng.uniform(-reach, reach, (2, SIZE // 2)) * 0.999)
    columns = np.concatenate([ordinary, extreme], axis=1).astype(dtype)
    return [np.abs(columns[0])] if operator == "sqrt" else [columns[0], columns[1]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_the_hardware_is_correctly_rounded(operator: str, dtype: str) -> None:
    bench, rung, inputs = rung_of(operator, dtype, *samples(operator, dtype))
    with np.errstate(all="ignore"):
        values = OPERATORS[operator](*inputs)
    assert misrounded(bench, rung, 0, values) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_one_wrong_bit_is_found_and_sized(operator: str, dtype: str) -> None:
    bench, rung, inputs = rung_of(operator, dtype, *samples(operator, dtype))
    with np.errstate(all="ignore"):
        values = OPERATORS[operator](*inputs)
    at = 17
    values[at] = np.nextafter(values[at], np.array(np.inf, dtype))
    found = misrounded(bench, rung, 0, values)
    assert found is not None
    assert (found.count, found.index) == (1, at)
    assert 0.5 <= found.ulps <= 1.5


@pytest.mark.parametrize("operator", OPERATORS)
def test_rounding_twice_is_found_in_float64(operator: str) -> None:
    """Long double first, then float64, as x87 does: wrong about once in 4,000, by half an ulp and a little."""
    if np.finfo(np.longdouble).nmant != 63:
        pytest.skip("needs the 64-bit significand of x86")
    rng = np.random.default_rng(7)
    columns = [np.abs(rng.normal(size=60000)) for _ in range(1 if operator == "sqrt" else 2)]
    columns[-1] *= 2.0**-13 if operator == "add" else 1.0  # so that the sum has more than 64 bits
    bench, rung, inputs = rung_of(operator, "float64", *columns)
    once = OPERATORS[operator](*inputs)
    twice = OPERATORS[operator](*(x.astype(np.longdouble) for x in inputs)).astype(np.float64)
    found = misrounded(bench, rung, 0, twice)
    assert found is not None
    assert found.count == np.count_nonzero(once != twice)
    assert 0.5 < found.ulps < 0.5 + 2.0**-9


def test_overflow_and_division_by_zero_count() -> None:
    huge, tiny = np.float32(3e38), np.float32(1e-30)
    bench, rung, _ = rung_of("multiply", "float32", [huge, huge, tiny], [huge, 1.0, tiny])
    right = np.array([np.inf, huge, 0.0], np.float32)
    assert misrounded(bench, rung, 0, right) is None
    for wrong in ([np.finfo(np.float32).max, huge, 0], [np.inf, np.inf, 0], [np.inf, huge, np.nan]):
        found = misrounded(bench, rung, 0, np.array(wrong, np.float32))
        assert found is not None
        assert math.isinf(found.ulps)
    bench, rung, _ = rung_of("divide", "float32", [1.0, 0.0, np.nan], [0.0, 0.0, 1.0])
    assert misrounded(bench, rung, 0, np.array([np.inf, np.nan, np.nan], np.float32)) is None
    assert misrounded(bench, rung, 0, np.array([np.nan, np.nan, np.nan], np.float32)) is not None


def test_subnormal_results_count() -> None:
    x = np.array([1.17549435e-38], np.float32)
    bench, rung, _ = rung_of("multiply", "float32", x, [0.3])
    right = x * np.float32(0.3)
    assert 0 < right[0] < 1e-38
    assert misrounded(bench, rung, 0, right) is None
    found = misrounded(bench, rung, 0, np.nextafter(right, np.float32(1)))
    assert found is not None
    assert 0.5 <= found.ulps <= 1.5


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(floats.map(abs))
def test_exact_roots_round_as_the_hardware_does(x: float) -> None:
    arithmetic = ExactArithmetic()
    root = arithmetic.apply("sqrt", arithmetic.number(x))
    assert arithmetic.rounded(root) == math.sqrt(x)
    assert root * root <= Fraction(x)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(floats, floats, st.sampled_from(["add", "subtract", "multiply", "divide"]))
def test_exact_arithmetic_rounds_as_the_hardware_does(x: float, y: float, operation: str) -> None:
    if operation == "divide" and y == 0:
        return
    arithmetic = ExactArithmetic()
    exact = arithmetic.apply(operation, arithmetic.number(x), arithmetic.number(y))
    with np.errstate(all="ignore"):
        assert arithmetic.rounded(exact) == getattr(np, operation)(np.float64(x), np.float64(y))


def test_functions_without_an_exact_value_are_refused() -> None:
    with pytest.raises(TypeError, match="exp has no exact value: use add"):
        ExactArithmetic().apply("exp", Fraction(1))


def test_the_verdict_says_how_many_and_how_much() -> None:
    measured = Measurement(size=10, equal=False, ulp_max=0.75, rho=Spot(0.9, 3))
    verdict = judge(Evidence(measured=measured, u=2.0**-24, misrounded=Misrounded(2, 0.75, 3)))
    assert verdict.verdict == "not_correctly_rounded"
    assert verdict.detail == "2 of 10 elements are not the nearest number: up to 0.75 ulp, the worst at 3"
    assert judge(Evidence(measured=measured, u=2.0**-24)).verdict == "rounding"
    beyond = Measurement(size=10, equal=False, ulp_max=9.0, rho=Spot(5.0, 3))
    assert judge(Evidence(measured=beyond, u=2.0**-24, no_ladder="none")).verdict != "not_correctly_rounded"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch_square_roots_are_not_correctly_rounded_with_avx512(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        pytest.skip("seen with AVX-512 kernels")
    from fuzz.targets import Target

    BACKENDS["torch"].warm_up()
    bench, rung, inputs = rung_of("sqrt", dtype, np.random.default_rng(0).uniform(1, 4, 4000))
    values = bench.prepared(Target("torch", "cpu", dtype)).call()[0]
    found = misrounded(bench, rung, 0, values)
    assert found is not None
    assert found.count == np.count_nonzero(values != np.sqrt(inputs[0]))
    assert 0.5 < found.ulps < 1
