"""Every operator's reference against textbook formulas in mpmath, and its two exact evaluations against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle_cases import RECIPES, SMALL, TEXTBOOK, Array, draw, mp, program

from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import ArbArithmetic, MpmathArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.plain import plain

U64 = 2.0**-53
ELEMENTWISE = ("gelu", "gelu_tanh", "tanh", "exp", "softplus")


def points(operator: str) -> Array:
    """Landmarks and their neighbours, both tails, tiny and huge numbers, binade ends: more than 200."""
    grid = np.linspace(-40, 40, 101)
    magnitudes = 10.0 ** np.linspace(-300, 2.9, 40)
    marks = [landmark.at for spec in OPERATORS[operator].contract.inputs for landmark in spec.landmarks]
    near = [f(m) for m in marks for f in (lambda m: m, lambda m: np.nextafter(m, 9e9), lambda m: np.nextafter(m, -9e9))]
    tails = [-745.2, -745.0, -708.4, -104.0, -103.2, -87.4, -38.6, -38.4, -13.5, -5.5, 5.5, 13.5, 88.7, 709.7]
    ends = [0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1e18, -1e18, 0.5, 1.0, 2.0, 1 - 2**-53]
    return np.concatenate([grid, magnitudes, -magnitudes, near, tails, ends])


@pytest.mark.parametrize("operator", ELEMENTWISE)
def test_elementwise_references_agree_with_the_textbook(operator: str) -> None:
    x = points(operator)
    assert x.size >= 200
    check(operator, [x], {"n": x.size}, {})


@pytest.mark.parametrize("operator", sorted(set(SMALL) - set(ELEMENTWISE)))
def test_other_references_agree_with_the_textbook(operator: str) -> None:
    rng = np.random.default_rng(1)
    dims, attributes = SMALL[operator]
    checked = 0
    for recipe in RECIPES:
        for changed in [{}, {"axis": 0}] if "axis" in attributes else [{}]:
            checked += check(operator, draw(operator, rng, recipe), dims, attributes | changed)
    while checked < 200:
        checked += check(operator, draw(operator, rng), dims, attributes)


def check(operator: str, arrays: list[Array], dims: dict[str, int], attributes: dict[str, Any]) -> int:
    """Value of the bound interpreter and of plain float64 within 2 u E of the truth; the exact evaluations agree."""
    traced = program(operator, dims, **attributes)
    truth = TEXTBOOK[operator](*arrays, **attributes)
    with np.errstate(all="ignore"):
        output = bound(traced, "float64")(arrays).outputs[0]
        excused = output.excused().reshape(-1)
        evaluated = {
            "the wide value": output.value.reshape(-1),
            "plain float64": plain(traced, arrays, "float64")[0].reshape(-1),
        }
    assert len(truth) == excused.size
    for name, values in evaluated.items():
        for position, exact in enumerate(truth):
            value = values[position]
            if not np.isfinite(float(value)):
                assert abs(exact) > 1.79e308, (operator, name, position)
                continue
            high = float(value)
            if abs(exact) < 1e-306 and operator == "gelu" and name == "plain float64":
                continue  # SciPy's erfc gives 0 for subnormal results
            error = abs(mp.mpf(high) + mp.mpf(float(value - high)) - exact)  # a longdouble is two doubles
            assert error <= 2 * U64 * mp.mpf(float(excused[position])) + mp.mpf(5e-324), (operator, name, position)
    exact_evaluations(traced, arrays, truth, excused)
    return len(truth)


def exact_evaluations(traced: Any, arrays: list[Array], truth: list[Any], excused: Array) -> None:
    """Element by element, mpmath and Arb: the same to 40 digits, and the textbook's value within u E / 2.

    (Constants of a reference are float64 numbers: that is what u E / 2 leaves room for.)
    """
    shape = traced.output_shapes()[0]
    some = range(0, len(truth), max(1, len(truth) // 60))
    for position in some:
        at = tuple(int(i) for i in np.unravel_index(position, shape))
        first = evaluate(traced, 0, at, arrays, MpmathArithmetic()).value
        second = evaluate(traced, 0, at, arrays, ArbArithmetic()).value
        same = mp.mpf(second.mid().str(60, radius=False))
        assert abs(first - same) <= mp.mpf(10) ** -40 * abs(first) or abs(first) < 5e-324, position
        allowed = U64 * mp.mpf(float(excused[position])) if np.isfinite(excused[position]) else mp.inf
        assert abs(first - truth[position]) <= allowed + mp.mpf(5e-324), position


@pytest.mark.parametrize("operator", ELEMENTWISE)
def test_special_values(operator: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    value = bound(program(operator, {"n": 5}), "float32")([x]).outputs[0].value
    limits = {
        "gelu": (np.inf, None, 0),
        "gelu_tanh": (np.inf, None, 0),
        "tanh": (1, -1, 0),
        "exp": (np.inf, 0, 1),
        "softplus": (np.inf, 0, np.log(2)),
    }[operator]
    assert np.isnan(value[0])
    assert value[1] == limits[0]
    assert limits[1] is None or value[2] == limits[1]
    assert value[3] == pytest.approx(limits[2])
