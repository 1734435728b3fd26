"""Normalisations and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from strategies.contract import AttributeSpec, Contract, Cost, DimSpec, Domain, Spec

_EPS = AttributeSpec(1e-5, "added to the variance", usual=(1e-5, 1e-3, 1e-6), unusual=(0.0, 1e-12, 1.0))
_AXIS = AttributeSpec(-1, "axis", usual=(-1,), unusual=(0,), choices=(-1, 0))

_NONFINITE = (
    "IEEE 754-2019 by the formula: NaN propagates. No source says what comes of infinite parameters, and "
    "folding them into one scale and one shift changes it: not judged"
)


def batch_norm(x: Any, mean: Any, var: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    """(x - mean) / sqrt(var + eps) * gamma + beta with given statistics, per channel (axis 1)."""

    def channel(p: Any) -> Any:
        return p.reshape(-1 if p.size else 0, 1, 1)

    return (x - channel(mean)) / np.sqrt(channel(var) + eps) * channel(gamma) + channel(beta)


def softmax(x: Any, *, axis: int) -> Any:
    """exp(x - max) / sum exp(x - max)."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def softmax_gradient(x: Any, d_y: Any, *, axis: int) -> Any:
    """y (d_y - sum d_y y). The maximum cancels, so no derivative of it is taken."""
    y = softmax(x, axis=axis)
    return y * (d_y - np.sum(d_y * y, axis=axis, keepdims=True))


def layer_norm(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    """(x - mean) / sqrt(var + eps) * gamma + beta over the last axis, two-pass variance."""
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * gamma + beta


OPERATORS = (
    Operator(
        Contract(
            operator="batch_norm",
            doc="batch normalisation, inference form",
            dims=(
                DimSpec("N", batch=True),
                DimSpec("C", batch=True),
                DimSpec("H", batch=True),
                DimSpec("W", batch=True),
            ),
            inputs=(
                Spec("x", ("N", "C", "H", "W")),
                Spec("mean", ("C",), differentiable=False),
                Spec("var", ("C",), domain=Domain(low=0.0), default="abs(normal(1,1))", differentiable=False),
                Spec("gamma", ("C",)),
                Spec("beta", ("C",)),
            ),
            outputs=(Spec("y", ("N", "C", "H", "W")),),
            cost=Cost(((8.0, ("N", "C", "H", "W")),)),
            attributes=(("eps", _EPS),),
            nonfinite=_NONFINITE,
            unspecified=tuple((name, "inf") for name in ("mean", "var", "gamma", "beta")),
        ),
        batch_norm,
    ),
    Operator(
        Contract(
            operator="softmax",
            doc="exp(x) / sum exp(x) along an axis",
            dims=(DimSpec("rows", batch=True, minimum=1), DimSpec("n", reduced=True, minimum=1)),
            inputs=(Spec("x", ("rows", "n")),),
            outputs=(Spec("y", ("rows", "n"), Domain(0.0, 1.0)),),
            cost=Cost(((15.0, ("rows", "n")),)),
            attributes=(("axis", _AXIS),),
        ),
        softmax,
        softmax_gradient,
    ),
    Operator(
        Contract(
            operator="layer_norm",
            doc="normalisation of each row to mean 0 and variance 1, then scale and shift",
            dims=(DimSpec("rows", batch=True), DimSpec("n", reduced=True, minimum=1)),
            inputs=(Spec("x", ("rows", "n")), Spec("gamma", ("n",)), Spec("beta", ("n",))),
            outputs=(Spec("y", ("rows", "n")),),
            cost=Cost(((12.0, ("rows", "n")),)),
            attributes=(("eps", _EPS),),
            nonfinite=_NONFINITE,
            unspecified=(("gamma", "inf"), ("beta", "inf")),
        ),
        layer_norm,
    ),
)
