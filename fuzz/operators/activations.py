"""Elementwise activations and elementary functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfc

from fuzz.operators import slopes
from fuzz.operators.base import Operator
from fuzz.operators.elementwise import NONNEGATIVE, SIGNED_UNIT
from strategies.contract import Contract, Cost, DimSpec, Domain, Landmark, Spec

_DIMS = (DimSpec("n", batch=True),)


def _unary(
    operator: str,
    doc: str,
    reference: Any,
    cost: float,
    *landmarks: Landmark,
    range_: Domain = Domain(),  # noqa: B008  (frozen)
    gradient: Any = None,
) -> Operator:
    contract = Contract(
        operator=operator,
        doc=doc,
        dims=_DIMS,
        inputs=(Spec("x", ("n",), landmarks=landmarks),),
        outputs=(Spec("y", ("n",), range_),),
        cost=Cost(((cost, ("n",)),)),
    )
    return Operator(contract, reference, gradient)


def gelu(x: Any) -> Any:
    """x Phi(x) by the complementary error function: 1 + erf would cancel in the left tail and bless kernels that do."""
    return 0.5 * x * erfc(x * -math.sqrt(0.5))


def gelu_tanh(x: Any) -> Any:
    """x sigmoid(2 t), t = sqrt(2/pi) (x + 0.044715 x^3): 0.5 x (1 + tanh t) without cancellation or overflow."""
    t = math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))
    e = np.exp(-2.0 * np.abs(t))
    return x * (np.where(t < 0.0, e, 1.0) / (1.0 + e))


def tanh(x: Any) -> Any:
    return np.tanh(x)


def exp(x: Any) -> Any:
    return np.exp(x)


def softplus(x: Any) -> Any:
    """log(1 + exp x) as max(x, 0) + log1p(exp(-|x|)): neither overflows nor cancels."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


OPERATORS = (
    _unary(
        "gelu",
        "x Phi(x), Phi the standard normal distribution",
        gelu,
        20.0,
        Landmark(-5.5, "tail of 1 + erf in float32"),
    ),
    _unary(
        "gelu_tanh",
        "tanh approximation of gelu",
        gelu_tanh,
        20.0,
        Landmark(0.0, "root"),
        gradient=slopes.gelu_tanh,
    ),
    _unary("tanh", "hyperbolic tangent", tanh, 10.0, Landmark(0.0, "root"), range_=SIGNED_UNIT),
    _unary(
        "exp",
        "exponential",
        exp,
        10.0,
        Landmark(88.72, "overflow in float32"),
        Landmark(-87.33, "subnormal in float32"),
        range_=NONNEGATIVE,
    ),
    _unary(
        "softplus",
        "log(1 + exp x)",
        softplus,
        20.0,
        Landmark(-16.6, "exp x below u in float32"),
        range_=NONNEGATIVE,
        gradient=slopes.softplus,
    ),
)
