"""The operators in TVM: topi where it has them, relax.op.nn for gelu, and textbook formulas in te."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from fuzz.backends.base import EVERY_FLOAT, Array, Lazy, Provenance, Unsupported, as_tuple
from fuzz.backends.tvm_backend import BACKEND
from fuzz.backends.tvm_spelling import INPUT

__all__ = ["BACKEND"]

te: Any = Lazy("tvm.te")
topi: Any = Lazy("tvm.topi")
tirx: Any = Lazy("tvm.tirx")
relax: Any = Lazy("tvm.relax")
Tensor: TypeAlias = Any
Body: TypeAlias = Callable[..., Tensor]

NO_FLOAT16_INTRINSIC = ("bfloat16", "float32", "float64")
"""LLVM code generation has no float16 erf, log1p, asinh, sinh and cosh; bfloat16 is computed in float32."""

HALF_AND_SINGLE = ("float16", "float32")
"""What topi.nn.layer_norm and its kin accept."""


def expression(
    operator: str, name: str, source: str, provenance: Provenance, dtypes: tuple[str, ...]
) -> Callable[[Body], Body]:
    """Register a function from te placeholders (and attributes) to a te tensor, or a tuple of them."""

    def register(body: Body) -> Body:
        @functools.wraps(body)
        def build(*arrays: Array, **attributes: Any) -> Any:
            inputs = [te.placeholder(a.shape, a.dtype.name, name=INPUT.format(i)) for i, a in enumerate(arrays)]
            return te.create_prim_func([*inputs, *as_tuple(body(*inputs, **attributes))])

        BACKEND.implementation(operator, name, source, provenance, dtypes)(build)
        return body

    return register


def library(operator: str, source: str, dtypes: tuple[str, ...] = EVERY_FLOAT) -> Callable[[Body], Body]:
    """Register a topi call under the name "topi"."""
    return expression(operator, "topi", source, "library", dtypes)


def formula(operator: str, source: str, dtypes: tuple[str, ...] = EVERY_FLOAT) -> Callable[[Body], Body]:
    """Register a composition of te primitives under the name "te"."""
    return expression(operator, "te", source, "composed", dtypes)


def legalized(call: str, *arrays: Array, module: str = "relax.op.nn", **attributes: Any) -> Any:
    """The PrimFunc that relax lowers `<module>.<call>` to: what its virtual machine would run."""
    operation = getattr(importlib.import_module(f"tvm.{module}"), call)
    builder = relax.BlockBuilder()
    variables = [relax.Var(INPUT.format(i), relax.TensorType(a.shape, a.dtype.name)) for i, a in enumerate(arrays)]
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(operation(*variables, **attributes)))
        builder.emit_func_output(result)
    lowered = relax.transform.LegalizeOps()(builder.get())
    primitives = [f for f in lowered.functions.values() if isinstance(f, tirx.PrimFunc)]
    if len(primitives) != 1:
        raise Unsupported(f"{module}.{call} lowers to {len(primitives)} functions: only one can be called directly")
    return primitives[0]


def constant(value: float, like: Tensor) -> Any:
    """`value` rounded to the dtype of `like`."""
    return tirx.const(value, like.dtype)


@library("batch_norm", "topi.nn.batch_norm(training=False)", ("float32", "float64"))
def topi_batch_norm(x: Tensor, mean: Tensor, var: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return topi.nn.batch_norm(x, gamma, beta, mean, var, axis=1, epsilon=eps, training=False)[0]


@library("matmul", "topi.matmul")
def topi_matmul(a: Tensor, b: Tensor) -> Tensor:
    return topi.matmul(a, b)


@library("softmax", "topi.nn.softmax")
def topi_softmax(x: Tensor, *, axis: int) -> Tensor:
    return topi.nn.softmax(x, axis=axis % len(x.shape))


@library("layer_norm", "topi.nn.layer_norm", HALF_AND_SINGLE)
def topi_layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return topi.nn.layer_norm(x, gamma, beta, axis=[1], epsilon=eps)


@library("tanh", "topi.tanh")
def topi_tanh(x: Tensor) -> Tensor:
    return topi.tanh(x)


@library("exp", "topi.exp")
def topi_exp(x: Tensor) -> Tensor:
    return topi.exp(x)


@library("softplus", "topi.nn.softplus")
def topi_softplus(x: Tensor) -> Tensor:
    return topi.nn.softplus(x)


@library("sum", "topi.sum")
def topi_sum(x: Tensor, *, axis: int) -> Tensor:
    return topi.sum(x, axis=axis % len(x.shape))


@BACKEND.implementation("gelu", "relax", "relax.op.nn.gelu", dtypes=EVERY_FLOAT)
def relax_gelu(x: Array) -> Any:
    return legalized("gelu", x)


@BACKEND.implementation("gelu_tanh", "relax", "relax.op.nn.gelu_tanh", dtypes=EVERY_FLOAT)
def relax_gelu_tanh(x: Array) -> Any:
    return legalized("gelu_tanh", x)


@BACKEND.implementation("softplus", "relax", "relax.op.nn.softplus", dtypes=EVERY_FLOAT)
def relax_softplus(x: Array) -> Any:
    return legalized("softplus", x)


@formula("batch_norm", "(x - mean) / sqrt(var + eps) * gamma + beta in one loop")
def te_batch_norm(x: Tensor, mean: Tensor, var: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    def element(n: Any, c: Any, h: Any, w: Any) -> Any:
        return (x[n, c, h, w] - mean[c]) / te.sqrt(var[c] + constant(eps, x)) * gamma[c] + beta[c]

    return te.compute(x.shape, element, name="y")


@formula("matmul", "sum over k of a[i, k] * b[k, j], in order")
def te_matmul(a: Tensor, b: Tensor) -> Tensor:
    k = te.reduce_axis((0, a.shape[1]), name="k")
    return te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")


@formula("softmax", "exp(x - max x) / sum exp(x - max x)")
def te_softmax(x: Tensor, *, axis: int) -> Tensor:
    line = axis % 2
    top = topi.max(x, axis=line, keepdims=True)
    exponential = topi.exp(topi.subtract(x, top))
    return topi.divide(exponential, topi.sum(exponential, axis=line, keepdims=True))


@formula("layer_norm", "d / sqrt(mean(d*d) + eps) * gamma + beta with d = x - mean(x)")
def te_layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    count = constant(float(int(x.shape[1])), x)
    centred = topi.subtract(x, topi.divide(topi.sum(x, axis=1, keepdims=True), count))
    variance = topi.divide(topi.sum(topi.multiply(centred, centred), axis=1, keepdims=True), count)
    scaled = topi.divide(centred, topi.sqrt(topi.add(variance, constant(eps, x))))
    return topi.add(topi.multiply(scaled, gamma), beta)


@formula("gelu", "x * (0.5 + 0.5 erf(x / sqrt(2)))", NO_FLOAT16_INTRINSIC)
def te_gelu(x: Tensor) -> Tensor:
    half, root = constant(0.5, x), constant(math.sqrt(0.5), x)
    return te.compute(x.shape, lambda i: x[i] * (half + half * tirx.erf(x[i] * root)), name="y")


@formula("softplus", "max(x, 0) + log1p(exp(-|x|))", NO_FLOAT16_INTRINSIC)
def te_softplus(x: Tensor) -> Tensor:
    def element(i: Any) -> Any:
        return te.max(x[i], constant(0.0, x)) + tirx.log1p(tirx.exp(-te.abs(x[i])))

    return te.compute(x.shape, element, name="y")
