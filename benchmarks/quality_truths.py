"""Elementwise operators in mpmath, written apart from the references that the oracle traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath

mp = mpmath.mp.clone()
mp.prec = 400

Truth = Callable[[Any], Any]


def _gelu(x: Any) -> Any:
    return x * mp.erfc(-x / mp.sqrt(2)) / 2


def _gelu_tanh(x: Any) -> Any:
    return x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)))


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


def _lgamma(x: Any) -> Any:
    return mp.inf if mp.isinf(x) else mp.re(mp.loggamma(x))


TRUTHS: Mapping[str, Truth] = {
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "lgamma": _lgamma,
    "tanh": mp.tanh,
    "atanh": mp.atanh,
    "exp": mp.exp,
    "exp2": lambda x: mp.power(2, x),
    "log1p": mp.log1p,
    "sqrt": mp.sqrt,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfinv": mp.erfinv,
    "sign": lambda x: x if mp.isnan(x) else mp.sign(x),
    "relu": lambda x: x if mp.isnan(x) else max(x, mp.mpf(0)),
    "clip": lambda x: x if mp.isnan(x) else min(max(x, mp.mpf(-1)), mp.mpf(1)),
}
"""Elementwise operators in mpmath, written apart from the references. Others are evaluated by the reference's formula,
one element of it in mpmath."""
