"""NumPy: library functions where NumPy has the operator, otherwise compositions of its primitives."""

from __future__ import annotations

import math

import numpy as np

from fuzz.backends.base import ALL_BUT_BFLOAT16, EVERY_FLOAT, Array, Kernel, Request
from fuzz.backends.functions import FunctionBackend
from fuzz.backends.numpy_options import OPTIONS, arrangement, rearranged, spelled
from fuzz.backends.spelling import Spelling, Wanted


class NumpyBackend(FunctionBackend):
    """Functions on the shared arrays; results go into the engine's buffers. NumPy has no erf, so no exact gelu.

    bfloat16 functions are those that ml_dtypes registers with NumPy.
    """

    options = OPTIONS

    def versions(self) -> dict[str, str]:
        return {"numpy": np.__version__}

    def prepare(self, request: Request) -> Kernel:
        shapes = {name: array.shape for name, array in request.inputs.items()}
        found = arrangement(request.options, request.attributes, shapes)
        return super().prepare(request) if found is None else rearranged(request, found, super().prepare)

    def spell(self, wanted: Wanted) -> Spelling:
        found = arrangement(wanted.options, wanted.attributes, wanted.inputs)
        return super().spell(wanted) if found is None else spelled(wanted, found, super().spell)


BACKEND = NumpyBackend("numpy", "NumPy on the CPU", module="numpy", install="pip install numpy")


@BACKEND.operator("matmul", name="matmul", provenance="library", source="numpy.matmul", dtypes=ALL_BUT_BFLOAT16)
def matmul(a: Array, b: Array, *, out: Array) -> None:
    np.matmul(a, b, out=out)


@BACKEND.operator("matmul", name="matmul", provenance="library", source="numpy.matmul", dtypes=("bfloat16",))
def matmul_of_bfloat16(a: Array, b: Array) -> Array:
    """What NumPy returns, which is float32: `out` would cast it and hide that."""
    result: Array = np.matmul(a, b)
    return result


@BACKEND.operator("tanh", name="tanh", provenance="library", source="numpy.tanh", dtypes=EVERY_FLOAT)
def tanh(x: Array, *, out: Array) -> None:
    np.tanh(x, out=out)


@BACKEND.operator("exp", name="exp", provenance="library", source="numpy.exp", dtypes=EVERY_FLOAT)
def exp(x: Array, *, out: Array) -> None:
    np.exp(x, out=out)


@BACKEND.operator("sum", name="sum", provenance="library", source="numpy.sum", dtypes=EVERY_FLOAT)
def total(x: Array, *, axis: int, out: Array) -> None:
    np.sum(x, axis=axis, out=out)


@BACKEND.operator(
    "batch_norm",
    name="formula",
    provenance="composed",
    source="(x - mean) / sqrt(var + eps) * gamma + beta",
    dtypes=EVERY_FLOAT,
)
def batch_norm(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float, out: Array) -> None:
    def channel(p: Array) -> Array:
        return p[:, None, None]

    np.subtract(x, channel(mean), out=out)
    np.divide(out, np.sqrt(channel(var) + x.dtype.type(eps)), out=out)
    np.multiply(out, channel(gamma), out=out)
    np.add(out, channel(beta), out=out)


@BACKEND.operator(
    "softmax",
    name="formula",
    provenance="composed",
    source="exp(x - max x) / sum exp(x - max x)",
    dtypes=EVERY_FLOAT,
)
def softmax(x: Array, *, axis: int, out: Array) -> None:
    np.subtract(x, np.max(x, axis=axis, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, np.sum(out, axis=axis, keepdims=True), out=out)


@BACKEND.operator(
    "layer_norm",
    name="formula",
    provenance="composed",
    source="d / sqrt(mean(d*d) + eps) * gamma + beta with d = x - mean(x)",
    dtypes=EVERY_FLOAT,
)
def layer_norm(x: Array, gamma: Array, beta: Array, *, eps: float, out: Array) -> None:
    count = x.dtype.type(x.shape[-1])  # not numpy.mean: it prints a warning where there is nothing to average
    np.subtract(x, np.sum(x, axis=-1, keepdims=True) / count, out=out)
    variance = np.sum(out * out, axis=-1, keepdims=True) / count
    np.divide(out, np.sqrt(variance + x.dtype.type(eps)), out=out)
    np.multiply(out, gamma, out=out)
    np.add(out, beta, out=out)


@BACKEND.operator(
    "gelu_tanh",
    name="formula",
    provenance="composed",
    source="0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3)))",
    dtypes=EVERY_FLOAT,
)
def gelu_tanh(x: Array, *, out: Array) -> None:
    number = x.dtype.type
    np.multiply(x * x, x, out=out)
    np.multiply(out, number(0.044715), out=out)
    np.add(out, x, out=out)
    np.multiply(out, number(math.sqrt(2 / math.pi)), out=out)
    np.tanh(out, out=out)
    np.add(out, number(1), out=out)
    np.multiply(out, x * number(0.5), out=out)


@BACKEND.operator(
    "softplus", name="logaddexp", provenance="composed", source="numpy.logaddexp(x, 0)", dtypes=EVERY_FLOAT
)
def softplus(x: Array, *, out: Array) -> None:
    np.logaddexp(x, x.dtype.type(0), out=out)
