"""Elementwise operators in NumPy: its ufuncs, and compositions for the activations it lacks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.backends.base import EVERY_FLOAT, Array
from fuzz.backends.numpy_backend import BACKEND

UFUNCS = {
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "sign": np.sign,
    "add": np.add,
    "multiply": np.multiply,
    "divide": np.divide,
}
"""Operator -> the ufunc that computes it."""


def writing(ufunc: np.ufunc) -> Callable[..., None]:
    """`ufunc` as a kernel that writes into the engine's buffer."""

    def call(*inputs: Array, out: Array) -> None:
        ufunc(*inputs, out=out)

    return call


for _operator, _ufunc in UFUNCS.items():
    BACKEND.operator(
        _operator, name=_ufunc.__name__, provenance="library", source=f"numpy.{_ufunc.__name__}", dtypes=EVERY_FLOAT
    )(writing(_ufunc))


@BACKEND.operator("clip", name="clip", provenance="library", source="numpy.clip", dtypes=EVERY_FLOAT)
def clip(x: Array, *, low: float, high: float, out: Array) -> None:
    np.clip(x, x.dtype.type(low), x.dtype.type(high), out=out)


@BACKEND.operator("relu", name="maximum", provenance="composed", source="numpy.maximum(x, 0)", dtypes=EVERY_FLOAT)
def relu(x: Array, *, out: Array) -> None:
    np.maximum(x, x.dtype.type(0), out=out)


@BACKEND.operator("rsqrt", name="formula", provenance="composed", source="1 / numpy.sqrt(x)", dtypes=EVERY_FLOAT)
def rsqrt(x: Array, *, out: Array) -> None:
    np.sqrt(x, out=out)
    np.divide(x.dtype.type(1), out, out=out)


@BACKEND.operator("sigmoid", name="formula", provenance="composed", source="1 / (1 + exp(-x))", dtypes=EVERY_FLOAT)
def sigmoid(x: Array, *, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, x.dtype.type(1), out=out)
    np.divide(x.dtype.type(1), out, out=out)


@BACKEND.operator("silu", name="formula", provenance="composed", source="x / (1 + exp(-x))", dtypes=EVERY_FLOAT)
def silu(x: Array, *, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, x.dtype.type(1), out=out)
    np.divide(x, out, out=out)


@BACKEND.operator(
    "elu", name="formula", provenance="composed", source="where(x > 0, x, alpha expm1(min(x, 0)))", dtypes=EVERY_FLOAT
)
def elu(x: Array, *, alpha: float, out: Array) -> None:
    np.minimum(x, x.dtype.type(0), out=out)
    np.expm1(out, out=out)
    np.multiply(out, x.dtype.type(alpha), out=out)
    np.copyto(out, x, where=x > 0)


@BACKEND.operator(
    "log_sigmoid", name="logaddexp", provenance="composed", source="-numpy.logaddexp(0, -x)", dtypes=EVERY_FLOAT
)
def log_sigmoid(x: Array, *, out: Array) -> None:
    np.negative(x, out=out)
    np.logaddexp(x.dtype.type(0), out, out=out)
    np.negative(out, out=out)


@BACKEND.operator("softsign", name="formula", provenance="composed", source="x / (1 + |x|)", dtypes=EVERY_FLOAT)
def softsign(x: Array, *, out: Array) -> None:
    np.abs(x, out=out)
    np.add(out, x.dtype.type(1), out=out)
    np.divide(x, out, out=out)


@BACKEND.operator(
    "leaky_relu", name="formula", provenance="composed", source="where(x > 0, x, alpha x)", dtypes=EVERY_FLOAT
)
def leaky_relu(x: Array, *, alpha: float, out: Array) -> None:
    np.multiply(x, x.dtype.type(alpha), out=out)
    np.copyto(out, x, where=x > 0)
