"""Gradients of elementwise functions whose references have kinks where the functions are smooth, or kinks of their own.

exp(-|x|) keeps a reference from overflowing, and has no derivative at 0, where sigmoid is smooth. By reverse mode each
such point would be taken for a kink. Every formula here is stable in the sense of fuzz.oracle.lint.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuzz.oracle.derivatives import squared_sech
from fuzz.oracle.kinks import kink


def sigmoids(x: Any) -> tuple[Any, Any]:
    """sigmoid(x) and sigmoid(-x) = 1 - sigmoid(x), both without cancellation or overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, e) / (1.0 + e), np.where(x >= 0.0, e, 1.0) / (1.0 + e)


def sigmoid(x: Any, d_y: Any) -> Any:
    """sigmoid(x) sigmoid(-x)."""
    e = np.exp(-np.abs(x))
    return d_y * (e / ((1.0 + e) * (1.0 + e)))


def silu(x: Any, d_y: Any) -> Any:
    """s + x s (1 - s) with s = sigmoid(x)."""
    s, rest = sigmoids(x)
    return d_y * (s * (1.0 + x * rest))


def softplus(x: Any, d_y: Any) -> Any:
    return d_y * sigmoids(x)[0]


def log_sigmoid(x: Any, d_y: Any) -> Any:
    return d_y * sigmoids(x)[1]


def mish(x: Any, d_y: Any) -> Any:
    """t + x (1 - t**2) sigmoid(x) with t = tanh(softplus(x))."""
    p = np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
    return d_y * (np.tanh(p) + x * (squared_sech(p) * sigmoids(x)[0]))


def gelu_tanh(x: Any, d_y: Any) -> Any:
    """s + x s (1 - s) 2 t' with s = sigmoid(2 t), t = sqrt(2/pi) (x + 0.044715 x**3)."""
    c = math.sqrt(2.0 / math.pi)
    t = c * (x + 0.044715 * (x * x * x))
    e = np.exp(-2.0 * np.abs(t))
    slope = c * (1.0 + 3.0 * (0.044715 * (x * x)))
    s = np.where(t < 0.0, e, 1.0) / (1.0 + e)
    return d_y * (s + x * (e / ((1.0 + e) * (1.0 + e)) * (2.0 * slope)))


def softsign(x: Any, d_y: Any) -> Any:
    """1 / (1 + |x|)**2."""
    return d_y / ((1.0 + np.abs(x)) * (1.0 + np.abs(x)))


def leaky_relu(x: Any, d_y: Any, *, alpha: float) -> Any:
    return kink(x, 0.0, alpha * d_y, d_y)


def elu(x: Any, d_y: Any, *, alpha: float) -> Any:
    """1 for x > 0, alpha exp(x) below."""
    return kink(x, 0.0, d_y * (alpha * np.exp(np.minimum(x, 0.0))), d_y)


def selu(x: Any, d_y: Any) -> Any:
    """scale for x > 0, scale alpha exp(x) below."""
    from fuzz.operators.rectifiers import SELU_ALPHA, SELU_SCALE

    return kink(x, 0.0, d_y * (SELU_SCALE * (SELU_ALPHA * np.exp(np.minimum(x, 0.0)))), SELU_SCALE * d_y)


def hard_swish(x: Any, d_y: Any) -> Any:
    """0 below -3, (2 x + 3) / 6 up to 3, then 1. Which piece is taken is asked of x + 3, which may be rounded."""
    shifted = x + 3.0
    return kink(shifted, 0.0, 0.0, kink(shifted, 6.0, d_y * ((2.0 * x + 3.0) / 6.0), d_y))
