"""Array operators in TVM: topi, relax where only it has them, te formulas."""

from __future__ import annotations

import math
from typing import Any

from fuzz.backends.base import ALL_BUT_BFLOAT16, EVERY_FLOAT, Array, Unsupported
from fuzz.backends.tvm_operators import (
    BACKEND,
    HALF_AND_SINGLE,
    Tensor,
    constant,
    formula,
    legalized,
    library,
    te,
    topi,
)


def _average(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    count = math.prod(int(x.shape[a]) for a in axes)
    return topi.divide(topi.sum(x, axis=axes, keepdims=True), constant(float(count), x))


def _without(x: Tensor, axis: int) -> Tensor:
    return topi.squeeze(x, axis=[axis])


def _channel(p: Tensor) -> Tensor:
    return topi.reshape(p, (*p.shape, 1, 1))


@BACKEND.implementation("mean", "relax", "relax.op.mean", dtypes=EVERY_FLOAT)
def relax_mean(x: Array, *, axis: int) -> Any:
    return legalized("mean", x, module="relax.op", axis=axis % x.ndim)


@BACKEND.implementation("var", "relax", "relax.op.variance", dtypes=EVERY_FLOAT)
def relax_var(x: Array, *, axis: int, ddof: int) -> Any:
    if ddof:
        raise Unsupported("relax.op.variance divides by n: it has no ddof")
    return legalized("variance", x, module="relax.op", axis=axis % x.ndim)


@BACKEND.implementation("std", "relax", "relax.op.std", dtypes=EVERY_FLOAT)
def relax_std(x: Array, *, axis: int, ddof: int) -> Any:
    if ddof:
        raise Unsupported("relax.op.std divides by n: it has no ddof")
    return legalized("std", x, module="relax.op", axis=axis % x.ndim)


@formula("var", "sum (x - mean x)**2 / (n - ddof)")
def te_var(x: Tensor, *, axis: int, ddof: int) -> Tensor:
    line = axis % 2
    centred = topi.subtract(x, _average(x, (line,)))
    total = topi.sum(topi.multiply(centred, centred), axis=line)
    return topi.divide(total, constant(float(int(x.shape[line]) - ddof), x))


@formula("std", "sqrt(sum (x - mean x)**2 / (n - ddof))")
def te_std(x: Tensor, *, axis: int, ddof: int) -> Tensor:
    return topi.sqrt(te_var(x, axis=axis, ddof=ddof))


@library("prod", "topi.prod")
def topi_prod(x: Tensor, *, axis: int) -> Tensor:
    return topi.prod(x, axis=axis % 2)


@formula("norm", "sum |x|, sqrt(sum x*x) or max |x|")
def te_norm(x: Tensor, *, axis: int, ord: float) -> Tensor:
    line = axis % 2
    if ord == 1.0:
        return topi.sum(topi.abs(x), axis=line)
    if ord == 2.0:
        return topi.sqrt(topi.sum(topi.multiply(x, x), axis=line))
    return topi.max(topi.abs(x), axis=line)


@library("max", "topi.max")
def topi_max(x: Tensor, *, axis: int) -> Tensor:
    return topi.max(x, axis=axis % 2)


@library("argmax", "topi.argmax, and the value there", ALL_BUT_BFLOAT16)
def topi_argmax(x: Tensor, *, axis: int) -> Tensor:
    line = axis % 2
    index = topi.argmax(x, axis=line)
    return te.compute(index.shape, lambda i: x[index[i], i] if line == 0 else x[i, index[i]], name="y")


@library("cumsum", "topi.cumsum")
def topi_cumsum(x: Tensor, *, axis: int) -> Tensor:
    return topi.cumsum(x, axis=axis % 2)


@formula("logsumexp", "m + log(sum exp(x - m)), m = max x")
def te_logsumexp(x: Tensor, *, axis: int) -> Tensor:
    line = axis % 2
    top = topi.max(x, axis=line, keepdims=True)
    total = topi.sum(topi.exp(topi.subtract(x, top)), axis=line)
    return topi.add(_without(top, line), topi.log(total))


@library("log_softmax", "topi.nn.log_softmax")
def topi_log_softmax(x: Tensor, *, axis: int) -> Tensor:
    return topi.nn.log_softmax(x, axis=axis % 2)


@library("batch_norm_training", "topi.nn.batch_norm(training=True, momentum=1)", ("float32", "float64"))
def topi_batch_norm_training(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> tuple[Tensor, ...]:
    zero = topi.full_like(gamma, 0.0)
    found = topi.nn.batch_norm(x, gamma, beta, zero, zero, axis=1, epsilon=eps, training=True, momentum=1.0)
    return tuple(found)


@library("group_norm", "topi.nn.group_norm", HALF_AND_SINGLE)
def topi_group_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    n, groups, depth, length = (int(size) for size in x.shape)
    flat = (groups * depth,)
    merged = topi.reshape(x, (n, groups * depth, length))
    y = topi.nn.group_norm(merged, topi.reshape(gamma, flat), topi.reshape(beta, flat), groups, 1, [2], eps)
    return topi.reshape(y, x.shape)


@library("instance_norm", "topi.nn.instance_norm", HALF_AND_SINGLE)
def topi_instance_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return topi.nn.instance_norm(x, gamma, beta, 1, [2, 3], eps)


@library("rms_norm", "topi.nn.rms_norm")
def topi_rms_norm(x: Tensor, gamma: Tensor, *, eps: float) -> Tensor:
    return topi.nn.rms_norm(x, gamma, [1], eps)


def _normalised(x: Tensor, axes: tuple[int, ...], gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    centred = topi.subtract(x, _average(x, axes))
    variance = _average(topi.multiply(centred, centred), axes)
    scaled = topi.divide(centred, topi.sqrt(topi.add(variance, constant(eps, x))))
    return topi.add(topi.multiply(scaled, gamma), beta)


@formula("group_norm", "d / sqrt(mean(d*d) + eps) * gamma + beta with d = x - mean(x)")
def te_group_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    per_channel = (*gamma.shape, 1)
    return _normalised(x, (2, 3), topi.reshape(gamma, per_channel), topi.reshape(beta, per_channel), eps)


@formula("instance_norm", "d / sqrt(mean(d*d) + eps) * gamma + beta with d = x - mean(x)")
def te_instance_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return _normalised(x, (2, 3), _channel(gamma), _channel(beta), eps)


@formula("rms_norm", "x / sqrt(mean(x*x) + eps) * gamma")
def te_rms_norm(x: Tensor, gamma: Tensor, *, eps: float) -> Tensor:
    mean_square = _average(topi.multiply(x, x), (1,))
    return topi.multiply(topi.divide(x, topi.sqrt(topi.add(mean_square, constant(eps, x)))), gamma)


@library("batch_matmul", "topi.nn.batch_matmul(transpose_b=False)")
def topi_batch_matmul(a: Tensor, b: Tensor) -> Tensor:
    return topi.nn.batch_matmul(a, b, transpose_b=False)


@library("dense", "topi.nn.dense")
def topi_dense(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return topi.nn.dense(x, w, bias)


@library("conv1d", "topi.nn.conv1d")
def topi_conv1d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return topi.nn.conv1d(x, w, stride, (padding, padding), 1)


@library("conv2d", "topi.nn.conv2d")
def topi_conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return topi.nn.conv2d(x, w, stride, padding, 1)


@library("group_conv2d", "topi.nn.group_conv2d_nchw")
def topi_group_conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    n, groups, depth, *image = (int(size) for size in x.shape)
    _, each, _, *kernel = (int(size) for size in w.shape)
    merged = topi.reshape(x, (n, groups * depth, *image))
    y = topi.nn.group_conv2d_nchw(merged, topi.reshape(w, (groups * each, depth, *kernel)), stride, padding, 1, groups)
    return topi.reshape(y, (n, groups, each, *y.shape[2:]))


@library("depthwise_conv2d", "topi.nn.depthwise_conv2d_nchw")
def topi_depthwise_conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return topi.nn.depthwise_conv2d_nchw(x, w, stride, padding, 1)


def _pool(x: Tensor, kernel: int, stride: int, kind: str) -> Tensor:
    square, steps = [kernel, kernel], [stride, stride]
    return topi.nn.pool2d(x, square, steps, [1, 1], [0, 0, 0, 0], kind)


@library("avg_pool2d", "topi.nn.pool2d(pool_type='avg')")
def topi_avg_pool2d(x: Tensor, *, kernel: int, stride: int) -> Tensor:
    return _pool(x, kernel, stride, "avg")


@library("max_pool2d", "topi.nn.pool2d(pool_type='max')")
def topi_max_pool2d(x: Tensor, *, kernel: int, stride: int) -> Tensor:
    return _pool(x, kernel, stride, "max")
