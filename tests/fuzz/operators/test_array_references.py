"""References of the array operators against loops in mpmath, and their exact evaluations against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_cases import CASES, RECIPES, Array, draw, exact, mp, program

from fuzz.oracle.arithmetic import ArbArithmetic, MpmathArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.lint import lint
from fuzz.oracle.plain import plain

U64 = 2.0**-53
TINY = mp.mpf(5e-324)


@pytest.mark.parametrize("operator", CASES)
def test_references_agree_with_the_textbook(operator: str) -> None:
    rng = np.random.default_rng(1)
    checked = 0
    while checked < 200:
        for recipe in RECIPES:
            for attributes in CASES[operator].attributes:
                if recipe == "integers" and attributes.get("eps") == 0.0:
                    continue  # may have variance 0
                checked += check(operator, draw(operator, rng, recipe), attributes)


def check(operator: str, arrays: list[Array], attributes: dict[str, Any]) -> int:
    """Wide value and plain float64 within 2 u E of the truth, Arb and mpmath within u E (float64 constants)."""
    traced = program(operator, attributes)
    expected = CASES[operator].textbook(*map(exact, arrays), **attributes)
    expected = expected if isinstance(expected, tuple) else (expected,)
    truth = bound(traced, "float64")(arrays)
    float64 = plain(traced, arrays, "float64")
    checked = 0
    for number, values in enumerate(expected):
        wide, excused = truth.outputs[number].value, truth.outputs[number].excused()
        assert wide.shape == values.shape == float64[number].shape
        for at in np.ndindex(values.shape):
            allowed = U64 * mp.mpf(float(excused[at]))
            high = float(wide[at])
            error = abs(mp.mpf(high) + mp.mpf(float(wide[at] - high)) - values[at])  # a longdouble is two doubles
            assert error <= allowed + TINY, (operator, number, at)
            assert abs(mp.mpf(float(float64[number][at])) - values[at]) <= 2 * allowed + TINY, (operator, number, at)
        checked += values.size
        exact_evaluations(traced, number, arrays, values, excused)
    return checked


def exact_evaluations(traced: Any, number: int, arrays: list[Array], truth: Array, excused: Array) -> None:
    for position in range(0, truth.size, max(1, truth.size // 12)):
        at = tuple(int(i) for i in np.unravel_index(position, truth.shape))
        first = evaluate(traced, number, at, arrays, MpmathArithmetic()).value
        ball = evaluate(traced, number, at, arrays, ArbArithmetic()).value
        same = mp.mpf(ball.mid().str(60, radius=False))
        assert abs(first - same) <= mp.mpf(10) ** -36 * abs(first) + mp.mpf(10) ** -50, at
        assert abs(first - truth[at]) <= U64 * mp.mpf(float(excused[at])) + TINY, at


@pytest.mark.parametrize("operator", CASES)
def test_references_are_stable_formulations(operator: str) -> None:
    rng = np.random.default_rng(2)
    for recipe in ("normal", "offset", "positive", "large"):
        attributes = CASES[operator].attributes[0]
        found = lint(program(operator, attributes), draw(operator, rng, recipe), "float32")
        assert found.stable, (recipe, found)


@pytest.mark.parametrize("operator", CASES)
def test_the_bound_is_not_loose(operator: str) -> None:
    """On N(0,1) the excused error stays within a modest multiple of the inputs' and the result's magnitude."""
    rng = np.random.default_rng(3)
    attributes = CASES[operator].attributes[0]
    arrays = draw(operator, rng, "normal")
    output = bound(program(operator, attributes), "float32")(arrays).outputs[0]
    assert np.median(output.excused() / (np.abs(output.value) + 1)) < 60


NAN, INF = np.nan, np.inf
LINES: tuple[tuple[str, dict[str, Any], list[float], Any], ...] = (
    ("max", {}, [1.0, NAN, 3.0], NAN),
    ("max", {}, [-INF, -INF], -INF),
    ("argmax", {}, [1.0, NAN, 3.0], NAN),
    ("argmax", {}, [-0.0, 0.0], 0.0),
    ("norm", {"ord": 2.0}, [0.0, -0.0], 0.0),
    ("norm", {"ord": 2.0}, [3.0, -INF], INF),
    ("norm", {"ord": 1.0}, [NAN, -INF], NAN),
    ("norm", {"ord": INF}, [-5.0, 4.0], 5.0),
    ("prod", {}, [0.0, 1e30, 1e30, 1e30], 0.0),
    ("prod", {}, [0.0, INF], NAN),
    ("prod", {}, [1e300, 1e300, 1e-300, 1e-300], 1.0),
    ("logsumexp", {}, [-INF, -INF], -INF),
    ("logsumexp", {}, [INF, 1.0], INF),
    ("logsumexp", {}, [INF, INF], INF),
    ("logsumexp", {}, [NAN, 1.0], NAN),
    ("logsumexp", {}, [-INF, 2.0], 2.0),
    ("logsumexp", {}, [0.0, -50.0], 1.9287498479639178e-22),
    ("var", {"ddof": 0}, [0.5, 0.5, 0.5], 0.0),
    ("std", {"ddof": 1}, [INF, 1.0], NAN),
    ("mean", {}, [INF, -INF], NAN),
)


@pytest.mark.parametrize(("operator", "attributes", "line", "expected"), LINES)
def test_special_lines(operator: str, attributes: dict[str, Any], line: list[float], expected: float) -> None:
    x = np.array([line])
    traced = program(operator, {"axis": -1} | attributes, {"rows": 1, "n": len(line)})
    for dtype in ("float32", "float64"):
        value = bound(traced, dtype)([x]).outputs[0].value
        np.testing.assert_allclose(np.float64(value), [expected], rtol=1e-15)


def test_log_softmax_of_an_infinite_maximum_is_nan_and_of_minus_infinity_is_a_limit() -> None:
    x = np.array([[INF, 1.0], [-INF, 1.0], [-INF, -INF]])
    value = bound(program("log_softmax", {"axis": -1}, {"rows": 3, "n": 2}), "float32")([x]).outputs[0].value
    np.testing.assert_array_equal(value, [[NAN, NAN], [-INF, 0.0], [NAN, NAN]])
