"""Activations with a rectifier's limits: smooth ones, leaky ones and those made of straight pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators import slopes
from fuzz.operators.elementwise import SIGNED_UNIT, unary
from strategies.contract import AttributeSpec, Domain

_SLOPE = AttributeSpec(0.01, "slope below 0", usual=(0.01, 0.2), unusual=(0.0, 1e-3, 1.0))
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
"""Klambauer et al., Self-Normalizing Neural Networks (2017), equation 14."""


def log_sigmoid(x: Any) -> Any:
    """-log(1 + exp(-x)) as min(x, 0) - log1p(exp(-|x|)): neither overflows nor cancels."""
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


def mish(x: Any) -> Any:
    """x tanh(log(1 + exp x)), the logarithm as in softplus."""
    return x * np.tanh(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))


def softsign(x: Any) -> Any:
    return x / (1.0 + np.abs(x))


def leaky_relu(x: Any, *, alpha: float) -> Any:
    return np.where(x > 0.0, x, alpha * x)


def selu(x: Any) -> Any:
    """scale x for x > 0, scale alpha (exp(x) - 1) elsewhere."""
    return SELU_SCALE * np.where(x > 0.0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0.0)))


def hard_swish(x: Any) -> Any:
    return x * np.minimum(np.maximum(x + 3.0, 0.0), 6.0) / 6.0


OPERATORS = (
    unary(
        "log_sigmoid",
        "log(1 / (1 + exp(-x)))",
        log_sigmoid,
        20.0,
        "no standard; limits: log_sigmoid(-inf) = -inf, log_sigmoid(inf) = 0, NaN propagates",
        (16.64, "exp(-x) below u in float32"),
        (-88.72, "exp(-x) overflows in float32"),
        (-709.78, "exp(-x) overflows in float64"),
        range_=Domain(high=0.0),
        gradient=slopes.log_sigmoid,
    ),
    unary(
        "mish",
        "x tanh(log(1 + exp x))",
        mish,
        30.0,
        "no standard; the formula of torch.nn.Mish: at -inf it is -inf * 0, so NaN and the limit 0 are both right",
        (0.0, "root"),
        (-1.1925, "minimum"),
        (-16.64, "1 + exp x rounds to 1 in float32"),
        (88.72, "exp x overflows in float32"),
        (709.78, "exp x overflows in float64"),
        gradient=slopes.mish,
    ),
    unary(
        "softsign",
        "x / (1 + |x|)",
        softsign,
        3.0,
        "no standard; the formula of torch.nn.Softsign: at infinities inf / inf, so NaN and the limits are both right",
        (0.0, "root"),
        range_=SIGNED_UNIT,
        gradient=slopes.softsign,
    ),
    unary(
        "leaky_relu",
        "x for x > 0, alpha x elsewhere",
        leaky_relu,
        2.0,
        "no standard; the formula of torch.nn.LeakyReLU: NaN propagates",
        (0.0, "branch"),
        attributes=(("alpha", _SLOPE),),
        gradient=slopes.leaky_relu,
    ),
    unary(
        "selu",
        "scale x for x > 0, scale alpha (exp(x) - 1) elsewhere",
        selu,
        13.0,
        "no standard; limits of the formula of torch.nn.SELU: -scale alpha at -inf, inf at inf, NaN propagates",
        (0.0, "branch"),
        (-17.33, "exp x below u in float32"),
        gradient=slopes.selu,
    ),
    unary(
        "hard_swish",
        "x min(max(x + 3, 0), 6) / 6",
        hard_swish,
        5.0,
        "no standard; the formula of torch.nn.Hardswish: at -inf it is -inf * 0, so NaN and the limit 0 are both right",
        (0.0, "root"),
        (-3.0, "branch"),
        (3.0, "branch"),
        gradient=slopes.hard_swish,
    ),
)
