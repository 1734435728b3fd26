"""Small errors are flagged, and an oracle that excuses too much does not pass the gate.

The fast form of benchmarks/quality_sensitivity.py: float32, one trial a combination.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from quality_modules import load

from fuzz.operators import OPERATORS
from fuzz.oracle.rules import RULES

sensitivity = load("quality_sensitivity")


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_error_of_a_few_units_in_every_element_is_flagged(operator: str) -> None:
    for result in sensitivity.results(operator, 1, ("float32",)):
        assert result.met, result


def unmet(operator: str, kind: str) -> list[Any]:
    return [result for result in sensitivity.results(operator, 1, ("float32",), (kind,)) if not result.met]


def vacuous(rule: Callable[[Any], None]) -> Callable[[Any], None]:
    """1,000 units more than the rule excuses."""

    def mutated(f: Any) -> None:
        rule(f)
        f.put(0, 1000.0 * np.abs(f.value))

    return mutated


def larger(f: Any) -> None:
    """The larger E of the two operands, whichever is taken."""
    x, y = f.operands
    np.maximum(x.value, y.value, out=f.value)
    for key in f.parts:
        f.put(key, np.maximum(x.parts.get(key, 0.0), y.parts.get(key, 0.0)))


def through_the_mean(rule: Callable[[Any], None]) -> Callable[[Any], None]:
    """The variance as a formula like any other: the error of the mean enters every term once."""

    def mutated(f: Any) -> None:
        rule(f)
        (x,) = f.operands
        axis, n = f.static["axis"], f.static["length"]
        distance = np.abs(x.value - np.mean(x.value, axis=axis, keepdims=True))
        of_mean = (1.0 + n**0.5) * np.mean(np.abs(x.value), axis=axis, keepdims=True)
        f.put(0, np.mean(2.0 * distance * of_mean, axis=axis, keepdims=f.static["keepdims"]))

    return mutated


@pytest.mark.parametrize("operator", ["tanh", "sum", "matmul", "softplus"])
@pytest.mark.parametrize("kind", ["uniform", "offset"])
def test_a_vacuous_bound_fails(operator: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not unmet(operator, kind)
    for name, rule in list(RULES.items()):
        if name in ("tanh", "sum", "matmul", "add"):
            monkeypatch.setitem(RULES, name, vacuous(rule))
    assert unmet(operator, kind)


def test_the_error_of_the_branch_not_taken_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not unmet("softplus", "left")
    monkeypatch.setitem(RULES, "maximum", larger)
    assert unmet("softplus", "left")


@pytest.mark.parametrize("operator", ["var", "std"])
def test_a_variance_without_its_rule_fails(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not unmet(operator, "offset")
    monkeypatch.setitem(RULES, "var", through_the_mean(RULES["var"]))
    assert unmet(operator, "offset")


def test_a_bound_of_nothing_is_no_way_to_pass() -> None:
    """k itself has a floor: a bound below the rounding of the result would flag healthy outputs."""
    for result in sensitivity.results("tanh", 1, ("float32",)):
        assert result.k >= 2
