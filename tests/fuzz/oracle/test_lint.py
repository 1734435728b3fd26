"""The lint of references: stable ones pass, those that cancel are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle_cases import RECIPES, SMALL, draw, program
from scipy.special import erf

from fuzz.oracle.lint import Lint, lint
from fuzz.oracle.trace import trace


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("recipe", [name for name in RECIPES if name != "constant"])
@pytest.mark.parametrize("operator", SMALL)
def test_references_are_stable(operator: str, recipe: str, dtype: str) -> None:
    dims = dict.fromkeys(SMALL[operator].dims, 40) if len(SMALL[operator].dims) < 3 else None
    rng = np.random.default_rng(2)
    with np.errstate(all="ignore"):
        result = lint(program(operator, dims), draw(operator, rng, recipe, dims), dtype)
    assert result.stable, result


def test_the_limit_is_ten_times_the_largest_constant() -> None:
    assert Lint(110.0 / 1.1, 0, 0).stable
    assert not Lint(110.0, 0, 0).stable


def gelu_by_erf(x: Any) -> Any:
    return 0.5 * x * (1.0 + erf(x * math.sqrt(0.5)))


def gelu_by_tanh(x: Any) -> Any:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))


def tanh_by_exp(x: Any) -> Any:
    e = np.exp(-2.0 * x)
    return (1.0 - e) / (1.0 + e)


def softplus_by_log(x: Any) -> Any:
    return np.log(1.0 + np.exp(x))


def one_minus_softmax_sum(x: Any) -> Any:
    """A logarithm of softmax by way of softmax itself: log(1 - (1 - p)) cancels where p is small."""
    e = np.exp(x - np.max(x, axis=0, keepdims=True))
    return np.log(1.0 - (1.0 - e / np.sum(e, axis=0, keepdims=True)))


@pytest.mark.parametrize(
    ("reference", "x"),
    [
        (gelu_by_erf, np.linspace(-9, 9, 400)),
        (gelu_by_tanh, np.linspace(-9, 9, 400)),
        (tanh_by_exp, np.logspace(-9, 0, 400)),
        (softplus_by_log, np.linspace(-30, 0, 400)),
        (one_minus_softmax_sum, np.linspace(-30, 0, 400)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_formulas_that_cancel_are_refused(reference: Callable[..., Any], x: Any, dtype: str) -> None:
    result = lint(trace(reference, {"x": x.shape}), [x], dtype)
    assert not result.stable
    assert result.ratio > 1000
