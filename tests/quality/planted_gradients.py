"""Gradients with one planted fault each, in plain NumPy, and healthy ones by other conventions."""

from __future__ import annotations

from typing import Any

import numpy as np
from planted_defects import SIZES, Defect, channel
from scipy import special

from fuzz.backends.base import Array

_N = {"n": 512}
_HALVES = {"x": "halves(-8,8)"}
"""Half-integers: -1/2 among them."""


def relu(slope_at_0: float) -> Any:
    def kernel(x: Array, d_y: Array) -> Array:
        return np.where(x == 0, x.dtype.type(slope_at_0), (x > 0).astype(x.dtype)) * d_y

    return kernel


def relu_from_beside_the_kink(x: Array, d_y: Array) -> Array:
    return np.where(x >= -0.6, d_y, 0)


def batch_norm(
    x: Array, mean: Array, var: Array, gamma: Array, beta: Array, d_y: Array, *, eps: float, factor: bool = True
) -> tuple[Array, ...]:
    scale = 1 / np.sqrt(channel(var) + x.dtype.type(eps))
    d_x = d_y * scale * (channel(gamma) if factor else 1)
    return d_x, (d_y * (x - channel(mean)) * scale).sum((0, 2, 3)), d_y.sum((0, 2, 3))


def batch_norm_without_gamma(*arrays: Array, eps: float) -> tuple[Array, ...]:
    return batch_norm(*arrays, eps=eps, factor=False)


def softmax(x: Array, d_y: Array, *, axis: int) -> Array:
    y = special.softmax(x, axis)
    return y * (d_y - (d_y * y).sum(axis, keepdims=True))


def softmax_with_a_detached_sum(x: Array, d_y: Array, *, axis: int) -> Array:
    return special.softmax(x, axis) * d_y


def layer_norm(
    x: Array, gamma: Array, beta: Array, d_y: Array, *, eps: float, detached: bool = False
) -> tuple[Array, ...]:
    scale = 1 / np.sqrt(x.var(-1, keepdims=True) + x.dtype.type(eps))
    y = (x - x.mean(-1, keepdims=True)) * scale
    g = d_y * gamma
    through_variance = 0 if detached else y * (g * y).mean(-1, keepdims=True)
    d_x = scale * (g - g.mean(-1, keepdims=True) - through_variance)
    return d_x, (d_y * y).sum(0), d_y.sum(0)


def layer_norm_with_a_detached_variance(*arrays: Array, eps: float) -> tuple[Array, ...]:
    return layer_norm(*arrays, eps=eps, detached=True)


def elu(x: Array, d_y: Array, *, alpha: float) -> Array:
    return np.where(x > 0, 1, x.dtype.type(alpha) * np.exp(np.minimum(x, 0))) * d_y


def elu_with_both_branches(x: Array, d_y: Array, *, alpha: float) -> Array:
    """What differentiating where(x > 0, x, alpha (exp(x) - 1)) gives: the branch not taken times 0."""
    taken = (x > 0).astype(x.dtype)
    return taken * d_y + (1 - taken) * (x.dtype.type(alpha) * np.exp(x) * d_y)


def logsumexp(x: Array, d_y: Array, *, axis: int) -> Array:
    return special.softmax(x, axis) * np.expand_dims(d_y, axis)


def logsumexp_of_infinity(x: Array, d_y: Array, *, axis: int) -> Array:
    """exp(x - y), which is NaN where x and y are infinite."""
    y = special.logsumexp(x, axis, keepdims=True)
    return np.exp(x - y) * np.expand_dims(d_y, axis)


def gelu(x: Array, d_y: Array) -> Array:
    kind = x.dtype.type
    density = np.exp(-(x * x) / 2) * kind(1 / np.sqrt(2 * np.pi))
    return d_y * (kind(0.5) * special.erfc(-x * kind(np.sqrt(0.5))) + x * density)


def gelu_without_a_half(x: Array, d_y: Array) -> Array:
    return 2 * gelu(x, d_y)


def matmul(a: Array, b: Array, d_c: Array) -> tuple[Array, Array]:
    return d_c @ b.T, a.T @ d_c


def matmul_in_half(a: Array, b: Array, d_c: Array) -> tuple[Array, Array]:
    return matmul(a, b, d_c)[0], (a.T.astype(np.float16) @ d_c.astype(np.float16)).astype(a.dtype)


_WRONG = ("wrong",)
FAULTS = (
    Defect("batch_norm.grad", "missing_factor", batch_norm_without_gamma, {}, _WRONG, SIZES["batch_norm"]),
    Defect("gelu.grad", "missing_half", gelu_without_a_half, {}, _WRONG, _N),
    Defect("softmax.grad", "detached_sum", softmax_with_a_detached_sum, {}, _WRONG, SIZES["softmax"]),
    Defect(
        "layer_norm.grad", "detached_variance", layer_norm_with_a_detached_variance, {}, _WRONG, SIZES["layer_norm"]
    ),
    Defect("relu.grad", "minus_1_at_0", relu(-1.0), {"x": "integers(-4,4)"}, _WRONG, _N),
    Defect("relu.grad", "beside_the_kink", relu_from_beside_the_kink, _HALVES, _WRONG, _N),
    Defect("elu.grad", "both_branches", elu_with_both_branches, {"x": "normal(0,100)"}, ("nonfinite_mismatch",), _N),
    Defect(
        "matmul.grad",
        "half_inside",
        matmul_in_half,
        {},
        ("low_precision", "silent_downcast", "wrong"),
        {"M": 64, "K": 6, "N": 6},
    ),
)
HEALTHY = (
    Defect("batch_norm.grad", "healthy", batch_norm, {}, (), SIZES["batch_norm"]),
    Defect("gelu.grad", "healthy", gelu, {}, (), _N),
    Defect("softmax.grad", "healthy", softmax, {}, (), SIZES["softmax"]),
    Defect("layer_norm.grad", "healthy", layer_norm, {}, (), SIZES["layer_norm"]),
    *(Defect("relu.grad", f"{at_0}_at_0", relu(at_0), {"x": "integers(-4,4)"}, (), _N) for at_0 in (0.0, 0.5, 1.0)),
    Defect("elu.grad", "healthy", elu, {"x": "normal(0,100)"}, (), _N),
    Defect("matmul.grad", "healthy", matmul, {}, (), {"M": 64, "K": 6, "N": 6}),
)
