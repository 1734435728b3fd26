"""Activations with their branches, and the arithmetic that IEEE 754 requires to be correctly rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators import slopes
from fuzz.operators.elementwise import NONNEGATIVE, SIGNED_UNIT, UNIT, binary, unary
from strategies.contract import AttributeSpec, Criterion

_PROPAGATES = "array API standard 2023.12"
_ARITHMETIC = "IEEE 754-2019, 5.4.1, 6 and 7"

_ALPHA = AttributeSpec(1.0, "limit at -inf is -alpha", usual=(1.0, 0.5), unusual=(0.0, 0.1, 100.0))
_LOW = AttributeSpec(-1.0, "lower end", usual=(-1.0, 0.0), unusual=(-1e30, 0.1))
_HIGH = AttributeSpec(1.0, "upper end, not below low", usual=(1.0, 6.0), unusual=(1e30, 0.3))


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)) with e = exp(-|x|), which never overflows: 1 / (1 + e) or e / (1 + e)."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, e) / (1.0 + e)


def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    return x * sigmoid(x)


def elu(x: Any, *, alpha: float) -> Any:
    """x for x > 0, alpha (exp(x) - 1) elsewhere; min(x, 0) keeps the unused branch finite."""
    return np.where(x > 0.0, x, alpha * np.expm1(np.minimum(x, 0.0)))


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def clip(x: Any, *, low: float, high: float) -> Any:
    return np.minimum(np.maximum(x, low), high)


OPERATORS = (
    unary(
        "sigmoid",
        "1 / (1 + exp(-x))",
        sigmoid,
        12.0,
        "no standard; limits: sigmoid(-inf) = 0, sigmoid(inf) = 1, NaN propagates",
        (-88.72, "exp(-x) overflows in float32"),
        (-87.33, "subnormal in float32"),
        (16.64, "1 - sigmoid below u in float32"),
        (-709.78, "exp(-x) overflows in float64"),
        range_=UNIT,
        gradient=slopes.sigmoid,
    ),
    unary(
        "silu",
        "x sigmoid(x)",
        silu,
        13.0,
        "no standard; the formula of torch.nn.SiLU: at -inf it is -inf * 0, so NaN and the limit 0 are both right",
        (0.0, "root"),
        (-1.278, "minimum"),
        (-88.72, "exp(-x) overflows in float32"),
        (-709.78, "exp(-x) overflows in float64"),
        gradient=slopes.silu,
    ),
    unary(
        "elu",
        "x for x > 0, alpha (exp(x) - 1) elsewhere",
        elu,
        12.0,
        "no standard; limits of the formula of torch.nn.ELU: -alpha at -inf, inf at inf, NaN propagates",
        (0.0, "branch"),
        (-17.33, "exp x below u in float32"),
        attributes=(("alpha", _ALPHA),),
        gradient=slopes.elu,
    ),
    unary(
        "relu",
        "max(x, 0)",
        relu,
        1.0,
        f"{_PROPAGATES}, maximum: NaN if either operand is NaN",
        (0.0, "branch"),
        range_=NONNEGATIVE,
        criterion=Criterion.EXACT,
    ),
    unary(
        "sign",
        "-1, 0 or 1",
        np.sign,
        1.0,
        f"{_PROPAGATES}, sign: sign(+-0) = 0, sign(NaN) is NaN",
        (0.0, "jump"),
        range_=SIGNED_UNIT,
        criterion=Criterion.EXACT,
    ),
    unary(
        "clip",
        "min(max(x, low), high)",
        clip,
        2.0,
        f"{_PROPAGATES}, clip as minimum and maximum: NaN propagates; low > high is unspecified",
        (-1.0, "branch"),
        (1.0, "branch"),
        attributes=(("low", _LOW), ("high", _HIGH)),
        criterion=Criterion.EXACT,
    ),
    binary(
        "add",
        "x + y",
        np.add,
        f"{_ARITHMETIC}: inf - inf is NaN",
    ),
    binary(
        "multiply",
        "x y",
        np.multiply,
        f"{_ARITHMETIC}: 0 * inf is NaN",
        (2.0**64, "x*x overflows in float32"),
        (2.0**-63, "x*x is subnormal in float32"),
        second=((2.0**64, "y*y overflows in float32"), (2.0**-63, "y*y is subnormal in float32")),
    ),
    binary(
        "divide",
        "x / y",
        np.divide,
        f"{_ARITHMETIC}: x / 0 is +-inf, 0 / 0 and inf / inf are NaN",
        second=((0.0, "pole"), (2.0**126, "1/y is subnormal in float32")),
    ),
)
