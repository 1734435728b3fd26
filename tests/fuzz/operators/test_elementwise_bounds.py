"""The excused error of elementwise functions: what rounding an input does at roots, poles, periods and jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from elementwise_cases import BINARY, NAMES, attributes_of, points, program

from fuzz.oracle.arithmetic import ArbArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.constants import PROFILES
from fuzz.oracle.rules import RULES
from fuzz.oracle.trace import trace

U32 = 2.0**-24
ARB = ArbArithmetic()
PRIMITIVE = {"asinh": "arcsinh", "atanh": "arctanh", "lgamma": "gammaln"}
FUNCTIONS = tuple(
    name for name in NAMES if PRIMITIVE.get(name, name) in PROFILES["measured"] and name not in (*BINARY, "sqrt")
)


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_the_bound_covers_one_rounding_of_the_input(operator: str) -> None:
    """f(x (1 +- u)) in Arb stays within E wherever the first order is not called void."""
    (x,) = points(operator, "float32")
    truth = bound(program(operator, x.size), "float32")([x])
    value, excused, void = truth.outputs[0].value, truth.outputs[0].excused(), truth.void(0)
    checked = 0
    for n in np.flatnonzero(np.isfinite(value) & np.isfinite(excused) & ~void):
        here = ARB.apply(PRIMITIVE.get(operator, operator), ARB.number(float(x[n])))
        for moved in (float(x[n]) * (1 + U32), float(x[n]) * (1 - U32)):
            there = ARB.rounded(ARB.apply(PRIMITIVE.get(operator, operator), ARB.number(moved)))
            if not np.isfinite(there):
                continue  # past the end of the domain
            change = abs(ARB.rounded(ARB.apply("subtract", ARB.number(there), here)))
            assert change <= 1.15 * U32 * excused[n] + 2.0**-52 * abs(there), (float(x[n]), change)
            checked += 1
    assert checked > 150


def excused_at(operator: str, *x: float) -> Any:
    truth = bound(program(operator, len(x)), "float32")([np.array(x, np.float32)])
    return truth.outputs[0].excused(), truth.outputs[0].value, truth.void(0)


def test_at_a_root_the_error_of_the_input_remains() -> None:
    """Relative errors are unbounded there; E is absolute."""
    for operator, root, slope in (
        ("lgamma", 1.0, 0.5772156649),
        ("lgamma", 2.0, 0.4227843351),
        ("lgamma", -2.4570247, 1.5),
        ("sin", 3.1415927, 1.0),
        ("cos", 1.5707964, 1.0),
        ("tan", 3.1415927, 1.0),
        ("log", 1.0, 1.0),
        ("log2", 1.0, 1.4426950),
    ):
        excused, value, void = excused_at(operator, root)
        assert abs(value[0]) < 1e-6, operator
        assert excused[0] == pytest.approx(slope * abs(root), rel=0.05 if root > 0 else 0.5), operator
        assert not void[0], operator


def test_large_arguments_of_waves_excuse_everything_but_no_more() -> None:
    """From 1/u on one rounding of x is a whole period: any value in [-1, 1] is right, 3 is not."""
    for operator in ("sin", "cos"):
        excused, value, _ = excused_at(operator, 1e3, 1e6, 1e9, 3e38)
        assert np.all(U32 * excused[2:] >= 1 - np.abs(value[2:]))
        assert np.all(U32 * excused[2:] <= 2.3)
        assert U32 * excused[0] < 1e-3


@pytest.mark.parametrize(
    ("operator", "near", "away"),
    [
        ("tan", (1.5707963, -4.712389, 3e8), (1.5, 100.0)),
        ("atanh", (1 - 2**-24, -1 + 2**-23), (0.99, -0.5)),
        ("erfinv", (1 - 2**-24, -1 + 2**-23), (0.99, -0.5)),
        ("lgamma", (-3.0000002, -20.000002), (-2.5, -0.3, 1e-30, -1e-30)),
    ],
)
def test_next_to_a_pole_the_first_order_is_void(
    operator: str, near: tuple[float, ...], away: tuple[float, ...]
) -> None:
    assert excused_at(operator, *near)[2].all()
    assert not excused_at(operator, *away)[2].any()


def test_sign_takes_either_side_only_where_its_argument_may_be_zero() -> None:
    excused, value, _ = excused_at("sign", 0.0, -0.0, 1e-38, -3.0)
    assert list(value) == [0, 0, 1, -1]
    assert np.all(excused <= 2.0)

    def sign_of_difference(x: Any, y: Any) -> Any:
        return np.sign(x - y)

    x = np.array([1.0, 1.0, 1.0], np.float32)
    y = np.array([np.nextafter(np.float32(1), np.float32(2)), 1.001, 0.5], np.float32)
    output = bound(trace(sign_of_difference, {"x": (3,), "y": (3,)}), "float32")([x, y]).outputs[0]
    assert list(U32 * output.excused() >= 2) == [True, False, False]


def test_branches_take_the_error_of_the_operand_taken() -> None:
    excused, _, _ = excused_at("relu", -5.0, 0.0, 5.0)
    assert list(excused) == [0, 0, 5]
    for attributes in attributes_of("clip"):
        x = np.array([-1e31, attributes["low"], 0.2, attributes["high"], 1e31], np.float32)
        excused = bound(program("clip", 5, **attributes), "float32")([x]).outputs[0].excused()
        ends = [attributes["low"], attributes["high"]]
        inexact = [float(np.float32(end)) != end for end in ends]
        assert [excused[0] > 0, excused[4] > 0] == inexact


def test_every_function_has_a_constant_in_every_profile() -> None:
    names = {"exp", "expm1", "exp2", "log", "log1p", "log2", "tanh", "erf", "erfc", "erfinv", "sqrt", "gammaln"}
    names |= {"sin", "cos", "tan", "sinh", "cosh", "arcsinh", "arctanh", "psi"}
    for profile, constants in PROFILES.items():
        assert set(constants) == names, profile
        assert all(value >= 1 for value in constants.values())
    assert names <= set(RULES)
