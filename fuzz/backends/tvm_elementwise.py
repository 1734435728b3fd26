"""Elementwise operators in TVM: topi, intrinsics of tirx that topi lacks, relax.op.nn for silu.

TVM has no expm1, erfc, erfinv, lgamma and elu of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.backends.base import EVERY_FLOAT, Array
from fuzz.backends.tvm_operators import (
    BACKEND,
    NO_FLOAT16_INTRINSIC,
    Tensor,
    constant,
    expression,
    formula,
    legalized,
    library,
    te,
    tirx,
    topi,
)

TOPI = ("sigmoid", "sign", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "asinh", "atanh", "sinh", "cosh", "erf")
"""Operators of one input under topi's own name."""

ARITHMETIC = ("add", "multiply", "divide")

INTRINSICS = ("exp2", "log1p")
"""Operators that exist as tirx intrinsics only."""

NO_FLOAT16 = ("asinh", "sinh", "cosh", "erf", "log1p")
"""Of these, those without float16: see `NO_FLOAT16_INTRINSIC`."""


def _topi(name: str) -> Callable[..., Tensor]:
    def body(*inputs: Tensor) -> Tensor:
        return getattr(topi, name)(*inputs)

    return body


def _intrinsic(name: str) -> Callable[..., Tensor]:
    def body(x: Tensor) -> Tensor:
        return te.compute(x.shape, lambda i: getattr(tirx, name)(x[i]), name="y")

    return body


for _name in (*TOPI, *ARITHMETIC):
    library(_name, f"topi.{_name}", NO_FLOAT16_INTRINSIC if _name in NO_FLOAT16 else EVERY_FLOAT)(_topi(_name))

for _name in INTRINSICS:
    accepted = NO_FLOAT16_INTRINSIC if _name in NO_FLOAT16 else EVERY_FLOAT
    expression(_name, "tirx", f"tirx.{_name}", "library", accepted)(_intrinsic(_name))


@library("relu", "topi.nn.relu")
def topi_relu(x: Tensor) -> Tensor:
    return topi.nn.relu(x)


@library("clip", "topi.clip")
def topi_clip(x: Tensor, *, low: float, high: float) -> Tensor:
    return topi.clip(x, constant(low, x), constant(high, x))


@BACKEND.implementation("silu", "relax", "relax.op.nn.silu", dtypes=EVERY_FLOAT)
def relax_silu(x: Array) -> Any:
    return legalized("silu", x)


@formula("reciprocal", "1 / x")
def te_reciprocal(x: Tensor) -> Tensor:
    return te.compute(x.shape, lambda i: constant(1.0, x) / x[i], name="y")


@library("leaky_relu", "topi.nn.leaky_relu")
def topi_leaky_relu(x: Tensor, *, alpha: float) -> Tensor:
    return topi.nn.leaky_relu(x, alpha)


@formula("softsign", "x / (1 + |x|)")
def te_softsign(x: Tensor) -> Tensor:
    return te.compute(x.shape, lambda i: x[i] / (constant(1.0, x) + tirx.abs(x[i])), name="y")
