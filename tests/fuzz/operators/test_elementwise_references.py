"""Each elementwise reference against textbook values in mpmath and against Arb, at landmarks and special values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from elementwise_cases import BINARY, NAMES, SPECIAL, TEXTBOOK, Array, attributes_of, mp, points, program

from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import ArbArithmetic, MpmathArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.lint import lint
from fuzz.oracle.plain import plain
from strategies.contract import Criterion
from strategies.families import FAMILIES, menu
from strategies.precision import precision

U64 = 2.0**-53
MP, ARB = MpmathArithmetic(), ArbArithmetic()
FLUSHED = {"erfc"}
"""SciPy's float64 function gives 0 where the result is subnormal: such elements are decided exactly later."""


SIGNED_ZERO = {"expm1", "log1p", "sqrt", "reciprocal", "sin", "tan", "asinh", "atanh", "sinh", "erf", *BINARY}
"""IEEE 754 or C17 say which zero."""


def test_all_34_are_registered() -> None:
    assert len(NAMES) == 34
    assert set(NAMES) == set(TEXTBOOK) == set(SPECIAL)
    assert set(NAMES) <= set(OPERATORS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", NAMES)
def test_references_agree_with_mpmath_and_arb(operator: str, dtype: str) -> None:
    """The truth errs by no more than two of float64's bounds, for inputs of either precision."""
    arrays = points(operator, dtype)
    wide = [x.astype(np.float64) for x in arrays]
    assert arrays[0].size >= 200
    for attributes in attributes_of(operator):
        traced = program(operator, arrays[0].size, **attributes)
        excused = bound(traced, "float64")(wide).outputs[0].excused().copy()
        value = bound(traced, dtype)(arrays).outputs[0].value
        checked = 0
        for n in range(value.size):
            if not np.isfinite(float(value[n])) or not np.isfinite(float(excused[n])):
                continue
            exact = TEXTBOOK[operator](*(mp.mpf(float(x[n])) for x in arrays), **attributes)
            where = f"{operator}({', '.join(repr(float(x[n])) for x in arrays)})"
            same(traced, wide, n, exact, where)
            checked += 1
            if operator in FLUSHED and abs(exact) < np.finfo(np.float64).tiny:
                continue
            high = float(value[n])
            error = abs(mp.mpf(high) + mp.mpf(float(value[n] - high)) - exact)
            allowed = 2 * U64 * mp.mpf(float(excused[n]))
            if operator == "lgamma" and dtype == "float32":
                allowed *= 4  # SciPy's float64 near the roots, 2^-26 of float32's bound
            assert error <= allowed + mp.mpf(5e-324), f"{where}: {float(error / allowed):.3g}"
        assert checked >= 180


def same(traced: Any, arrays: list[Array], n: int, exact: Any, where: str) -> None:
    """The element in mpmath and in Arb: 40 digits of the textbook value (constants are the same there)."""
    first = evaluate(traced, 0, (n,), arrays, MP).value
    second = mp.mpf(evaluate(traced, 0, (n,), arrays, ARB).value.mid().str(60, radius=False))
    for got in (first, second):
        assert abs(got - exact) <= mp.mpf(10) ** -40 * abs(exact) + mp.mpf(10) ** -400, where


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", NAMES)
def test_special_values_follow_the_contract(operator: str, dtype: str) -> None:
    given = [x for x, _ in SPECIAL[operator]]
    columns = zip(*given, strict=True) if operator in BINARY else [tuple(given)]
    arrays = [np.array([*column, np.nan], dtype) for column in columns]
    traced = program(operator, len(given) + 1, **attributes_of(operator)[0])
    due = [*(right for _, right in SPECIAL[operator]), np.nan]
    for value in (bound(traced, dtype)(arrays).outputs[0].value, plain(traced, arrays, dtype)[0]):
        for x, got, right in zip([*given, "NaN"], value, due, strict=True):
            assert (np.isnan(got) and np.isnan(right)) or got == right, (x, got)
            if right == 0 and operator in SIGNED_ZERO:
                assert np.signbit(got) == np.signbit(right), (x, got)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", NAMES)
def test_references_are_stable(operator: str, dtype: str) -> None:
    arrays = points(operator, dtype)
    for attributes in attributes_of(operator):
        with np.errstate(all="ignore"):
            result = lint(program(operator, arrays[0].size, **attributes), arrays, dtype)
        assert result.stable, (result, [float(x[result.index]) for x in arrays])


@pytest.mark.parametrize("operator", NAMES)
def test_contracts_are_complete(operator: str) -> None:
    contract = OPERATORS[operator].contract
    assert any(source in contract.nonfinite for source in ("IEEE 754-2019", "C17", "array API standard", "no standard"))
    rounded = operator in ("sqrt", *BINARY)
    assert (contract.criterion is Criterion.CORRECTLY_ROUNDED) == rounded
    for spec in contract.inputs:
        for dtype in ("float32", "float64"):
            assert menu(spec, dtype, list(FAMILIES))
            assert menu(spec, dtype, ["default"])  # the default recipe stays in the domain
        assert all(spec.domain.low <= mark.at <= spec.domain.high for mark in spec.landmarks)
        assert all(abs(mark.at) < precision("float64").largest for mark in spec.landmarks)
