"""SciPy: scipy.special and its own BLAS; compositions of scipy.special functions for gelu."""

from __future__ import annotations

import importlib.metadata
import math
from typing import Any

import numpy as np

from fuzz.backends.base import EVERY_FLOAT, Array, Lazy
from fuzz.backends.functions import FunctionBackend

special: Any = Lazy("scipy.special")
blas: Any = Lazy("scipy.linalg.blas")


class ScipyBackend(FunctionBackend):
    """scipy.special ufuncs write into the engine's buffers; the other functions own their results.

    Most ufuncs compute float16 in float32 or float64 and return that: they do not accept it here.
    """

    def versions(self) -> dict[str, str]:
        return {"scipy": importlib.metadata.version("scipy")}

    def warm_up(self) -> None:
        """Load scipy.special and scipy.linalg."""
        _ = special.softmax, blas.sgemm


BACKEND = ScipyBackend("scipy", "SciPy on the CPU", module="scipy", install="pip install scipy")

_GEMM = {"float32": "sgemm", "float64": "dgemm"}


@BACKEND.operator("softmax", name="softmax", provenance="library", source="scipy.special.softmax", dtypes=EVERY_FLOAT)
def softmax(x: Array, *, axis: int) -> Array:
    result: Array = special.softmax(x, axis=axis)
    return result


@BACKEND.operator(
    "softplus", name="softplus", provenance="library", source="scipy.special.softplus", dtypes=EVERY_FLOAT
)
def softplus(x: Array, *, out: Array) -> None:
    special.softplus(x, out=out)


@BACKEND.operator("matmul", name="gemm", provenance="library", source="scipy.linalg.blas.sgemm or dgemm")
def matmul(a: Array, b: Array) -> Array:
    if a.size == 0 or b.size == 0:  # the Fortran interface loses the shape of an empty operand
        return np.zeros((a.shape[0], b.shape[1]), a.dtype)
    # BLAS is column-major: c.T = b.T a.T needs no copy of row-major operands.
    result: Array = getattr(blas, _GEMM[a.dtype.name])(1.0, b.T, a.T).T
    return result


@BACKEND.operator("gelu", name="ndtr", provenance="composed", source="x * scipy.special.ndtr(x)")
def gelu(x: Array, *, out: Array) -> None:
    special.ndtr(x, out=out)
    np.multiply(out, x, out=out)


@BACKEND.operator("gelu", name="erfc", provenance="composed", source="0.5 x scipy.special.erfc(-x / sqrt(2))")
def gelu_erfc(x: Array, *, out: Array) -> None:
    np.multiply(x, x.dtype.type(-math.sqrt(0.5)), out=out)
    special.erfc(out, out=out)
    np.multiply(out, x * x.dtype.type(0.5), out=out)


@BACKEND.operator(
    "gelu_tanh",
    name="expit",
    provenance="composed",
    source="x * scipy.special.expit(2 sqrt(2/pi) (x + 0.044715 x**3))",
)
def gelu_tanh(x: Array, *, out: Array) -> None:
    number = x.dtype.type
    inner = (x * x * x * number(0.044715) + x) * number(2 * math.sqrt(2 / math.pi))
    special.expit(inner, out=out)
    np.multiply(out, x, out=out)
