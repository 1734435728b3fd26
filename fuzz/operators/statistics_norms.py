"""Normalisations by statistics of the data itself: batch_norm in training, group, instance and rms norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from strategies.contract import AttributeSpec, Contract, Cost, DimSpec, Domain, Spec

_EPS = AttributeSpec(1e-5, "added to the variance", usual=(1e-5, 1e-3, 1e-6), unusual=(0.0, 1e-12, 1.0))
_NONFINITE = (
    "IEEE 754-2019 by the formula: a slice with NaN or inf is NaN. No source says what comes of an infinite gamma or "
    "beta, and folding them into one scale and one shift changes it: not judged"
)
_IMAGE = ("N", "C", "H", "W")
_GROUPS = ("N", "G", "D", "L")


def batch_norm_training(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    """y, mean, var of each channel (axis 1) over the other axes; var divides by the number of elements."""

    def channel(p: Any) -> Any:
        return p.reshape(-1 if p.size else 0, 1, 1)

    mean, var = np.mean(x, axis=(0, 2, 3)), np.var(x, axis=(0, 2, 3))
    y = (x - channel(mean)) / np.sqrt(channel(var) + eps) * channel(gamma) + channel(beta)
    return y, mean, var


def group_norm(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    """Each group of D channels of an image to mean 0 and variance 1, then scale and shift a channel."""
    mean, var = np.mean(x, axis=(2, 3), keepdims=True), np.var(x, axis=(2, 3), keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * gamma.reshape(*gamma.shape, 1) + beta.reshape(*beta.shape, 1)


def instance_norm(x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    """Each channel of each image to mean 0 and variance 1, then scale and shift a channel."""

    def channel(p: Any) -> Any:
        return p.reshape(-1 if p.size else 0, 1, 1)

    mean, var = np.mean(x, axis=(2, 3), keepdims=True), np.var(x, axis=(2, 3), keepdims=True)
    return (x - mean) / np.sqrt(var + eps) * channel(gamma) + channel(beta)


def rms_norm(x: Any, gamma: Any, *, eps: float) -> Any:
    """x / sqrt(mean(x*x) + eps) * gamma over the last axis."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gamma


OPERATORS = (
    Operator(
        Contract(
            operator="batch_norm_training",
            doc="batch normalisation by the batch's own mean and population variance, which are outputs too",
            dims=(
                DimSpec("N", batch=True, minimum=2),
                DimSpec("C", batch=True, minimum=1),
                DimSpec("H", minimum=1),
                DimSpec("W", minimum=1),
            ),
            inputs=(Spec("x", _IMAGE), Spec("gamma", ("C",)), Spec("beta", ("C",))),
            outputs=(
                Spec("y", _IMAGE),
                Spec("mean", ("C",), differentiable=False),
                Spec("var", ("C",), Domain(low=0.0), differentiable=False),
            ),
            cost=Cost(((14.0, _IMAGE),)),
            attributes=(("eps", _EPS),),
            nonfinite=_NONFINITE,
            unspecified=(("gamma", "inf"), ("beta", "inf")),
        ),
        batch_norm_training,
    ),
    Operator(
        Contract(
            operator="group_norm",
            doc="normalisation of each group of channels; x is (N, G groups, D channels of a group, L positions)",
            dims=(
                DimSpec("N", batch=True, minimum=1),
                DimSpec("G", batch=True, minimum=1),
                DimSpec("D", minimum=1),
                DimSpec("L", reduced=True, minimum=2),
            ),
            inputs=(Spec("x", _GROUPS), Spec("gamma", ("G", "D")), Spec("beta", ("G", "D"))),
            outputs=(Spec("y", _GROUPS),),
            cost=Cost(((12.0, _GROUPS),)),
            attributes=(("eps", _EPS),),
            nonfinite=_NONFINITE,
            unspecified=(("gamma", "inf"), ("beta", "inf")),
        ),
        group_norm,
    ),
    Operator(
        Contract(
            operator="instance_norm",
            doc="normalisation of each channel of each image",
            dims=(
                DimSpec("N", batch=True, minimum=1),
                DimSpec("C", batch=True, minimum=1),
                DimSpec("H", minimum=2),
                DimSpec("W", minimum=1),
            ),
            inputs=(Spec("x", _IMAGE), Spec("gamma", ("C",)), Spec("beta", ("C",))),
            outputs=(Spec("y", _IMAGE),),
            cost=Cost(((12.0, _IMAGE),)),
            attributes=(("eps", _EPS),),
            nonfinite=_NONFINITE,
            unspecified=(("gamma", "inf"), ("beta", "inf")),
        ),
        instance_norm,
    ),
    Operator(
        Contract(
            operator="rms_norm",
            doc="x / sqrt(mean(x*x) + eps) * gamma for each row",
            dims=(DimSpec("rows", batch=True, minimum=1), DimSpec("n", reduced=True, minimum=1)),
            inputs=(Spec("x", ("rows", "n")), Spec("gamma", ("n",))),
            outputs=(Spec("y", ("rows", "n")),),
            cost=Cost(((6.0, ("rows", "n")),)),
            attributes=(("eps", _EPS),),
            nonfinite="IEEE 754-2019 by the formula: 0 beside an infinity, which itself becomes NaN",
        ),
        rms_norm,
    ),
)
