"""NumPy's reductions, and compositions of its primitives for normalisations, convolutions and pools."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import ALL_BUT_BFLOAT16, EVERY_FLOAT, Array
from fuzz.backends.numpy_backend import BACKEND

windows_of = np.lib.stride_tricks.sliding_window_view


@BACKEND.operator("mean", name="mean", provenance="library", source="numpy.mean", dtypes=EVERY_FLOAT)
def mean(x: Array, *, axis: int, out: Array) -> None:
    np.mean(x, axis=axis, out=out)


@BACKEND.operator("var", name="var", provenance="library", source="numpy.var", dtypes=EVERY_FLOAT)
def var(x: Array, *, axis: int, ddof: int, out: Array) -> None:
    np.var(x, axis=axis, ddof=ddof, out=out)


@BACKEND.operator("std", name="std", provenance="library", source="numpy.std", dtypes=EVERY_FLOAT)
def std(x: Array, *, axis: int, ddof: int, out: Array) -> None:
    np.std(x, axis=axis, ddof=ddof, out=out)


@BACKEND.operator("prod", name="prod", provenance="library", source="numpy.prod", dtypes=EVERY_FLOAT)
def prod(x: Array, *, axis: int, out: Array) -> None:
    np.prod(x, axis=axis, out=out)


@BACKEND.operator("norm", name="norm", provenance="library", source="numpy.linalg.norm", dtypes=ALL_BUT_BFLOAT16)
def norm(x: Array, *, axis: int, ord: float) -> Array:
    result: Array = np.linalg.norm(x, ord, axis)
    return result


@BACKEND.operator("max", name="max", provenance="library", source="numpy.max", dtypes=EVERY_FLOAT)
def maximum(x: Array, *, axis: int, out: Array) -> None:
    np.max(x, axis=axis, out=out)


@BACKEND.operator(
    "argmax", name="argmax", provenance="library", source="numpy.argmax, and the value there", dtypes=EVERY_FLOAT
)
def argmax(x: Array, *, axis: int) -> Array:
    index = np.argmax(x, axis=axis, keepdims=True)
    return np.squeeze(np.take_along_axis(x, index, axis), axis)


@BACKEND.operator("cumsum", name="cumsum", provenance="library", source="numpy.cumsum", dtypes=EVERY_FLOAT)
def cumsum(x: Array, *, axis: int, out: Array) -> None:
    np.cumsum(x, axis=axis, out=out)


@BACKEND.operator(
    "logsumexp", name="formula", provenance="composed", source="m + log(sum exp(x - m)), m = max x", dtypes=EVERY_FLOAT
)
def logsumexp(x: Array, *, axis: int, out: Array) -> None:
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, x.dtype.type(0))
    np.add(np.squeeze(top, axis), np.log(np.sum(np.exp(x - top), axis=axis)), out=out)


@BACKEND.operator(
    "log_softmax", name="formula", provenance="composed", source="d - log(sum exp d), d = x - max x", dtypes=EVERY_FLOAT
)
def log_softmax(x: Array, *, axis: int, out: Array) -> None:
    np.subtract(x, np.max(x, axis=axis, keepdims=True), out=out)
    np.subtract(out, np.log(np.sum(np.exp(out), axis=axis, keepdims=True)), out=out)


def _normalised(x: Array, axes: tuple[int, ...], gamma: Array, beta: Array, eps: float, out: Array) -> Array:
    """Two passes into `out`; returns the variance."""
    np.subtract(x, np.mean(x, axis=axes, keepdims=True), out=out)
    variance: Array = np.mean(out * out, axis=axes, keepdims=True)
    np.divide(out, np.sqrt(variance + x.dtype.type(eps)), out=out)
    np.multiply(out, gamma, out=out)
    np.add(out, beta, out=out)
    return variance


_FORMULA = "d / sqrt(mean(d*d) + eps) * gamma + beta with d = x - mean(x)"


@BACKEND.operator("batch_norm_training", name="formula", provenance="composed", source=_FORMULA, dtypes=EVERY_FLOAT)
def batch_norm_training(x: Array, gamma: Array, beta: Array, *, eps: float, out: tuple[Array, ...]) -> None:
    y, average, variance = out
    np.mean(x, axis=(0, 2, 3), out=average)
    found = _normalised(x, (0, 2, 3), gamma[:, None, None], beta[:, None, None], eps, y)
    np.copyto(variance, found.reshape(-1))


@BACKEND.operator("group_norm", name="formula", provenance="composed", source=_FORMULA, dtypes=EVERY_FLOAT)
def group_norm(x: Array, gamma: Array, beta: Array, *, eps: float, out: Array) -> None:
    _normalised(x, (2, 3), gamma[..., None], beta[..., None], eps, out)


@BACKEND.operator("instance_norm", name="formula", provenance="composed", source=_FORMULA, dtypes=EVERY_FLOAT)
def instance_norm(x: Array, gamma: Array, beta: Array, *, eps: float, out: Array) -> None:
    _normalised(x, (2, 3), gamma[:, None, None], beta[:, None, None], eps, out)


@BACKEND.operator(
    "rms_norm", name="formula", provenance="composed", source="x / sqrt(mean(x*x) + eps) * gamma", dtypes=EVERY_FLOAT
)
def rms_norm(x: Array, gamma: Array, *, eps: float, out: Array) -> None:
    np.divide(x, np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(eps)), out=out)
    np.multiply(out, gamma, out=out)


@BACKEND.operator("batch_matmul", name="matmul", provenance="library", source="numpy.matmul", dtypes=ALL_BUT_BFLOAT16)
def batch_matmul(a: Array, b: Array, *, out: Array) -> None:
    np.matmul(a, b, out=out)


@BACKEND.operator(
    "dense", name="matmul", provenance="composed", source="numpy.matmul(x, w.T) + bias", dtypes=EVERY_FLOAT
)
def dense(x: Array, w: Array, bias: Array, *, out: Array) -> None:
    np.matmul(x, w.T, out=out)
    np.add(out, bias, out=out)


def _columns(x: Array, kernel: tuple[int, ...], stride: int, padding: int) -> tuple[Array, tuple[int, ...]]:
    """Windows of x (N, G, I, *space) as (N, G, I * kernel, positions), and the extents of the positions."""
    space = len(kernel)
    padded = np.pad(x, ((0, 0),) * 3 + ((padding, padding),) * space)
    axes = tuple(range(3, 3 + space))
    views = windows_of(padded, kernel, axis=axes)[(slice(None),) * 3 + (slice(None, None, stride),) * space]
    moved = np.moveaxis(views, axes, tuple(range(-space, 0)))
    extents = moved.shape[-space:]
    return moved.reshape(*x.shape[:2], x.shape[2] * int(np.prod(kernel)), int(np.prod(extents))), extents


def _convolution(x: Array, w: Array, stride: int, padding: int) -> Array:
    """x (N, G, I, *space), w (G, O, I, *kernel) to (N, G, O, *extents)."""
    columns, extents = _columns(x, w.shape[3:], stride, padding)
    product: Array = np.matmul(w.reshape(*w.shape[:2], -1), columns)
    return product.reshape(*product.shape[:3], *extents)


_IM2COL = "numpy.matmul of the weights and all windows (im2col)"


@BACKEND.operator("conv1d", name="im2col", provenance="composed", source=_IM2COL, dtypes=ALL_BUT_BFLOAT16)
def conv1d(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    return _convolution(x[:, None], w[None], stride, padding)[:, 0]


@BACKEND.operator("conv2d", name="im2col", provenance="composed", source=_IM2COL, dtypes=ALL_BUT_BFLOAT16)
def conv2d(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    return _convolution(x[:, None], w[None], stride, padding)[:, 0]


@BACKEND.operator("group_conv2d", name="im2col", provenance="composed", source=_IM2COL, dtypes=ALL_BUT_BFLOAT16)
def group_conv2d(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    return _convolution(x, w, stride, padding)


@BACKEND.operator("depthwise_conv2d", name="im2col", provenance="composed", source=_IM2COL, dtypes=ALL_BUT_BFLOAT16)
def depthwise_conv2d(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    y = _convolution(x[:, :, None], w[:, :, None], stride, padding)
    return y.reshape(y.shape[0], -1, *y.shape[3:])


@BACKEND.operator(
    "avg_pool2d", name="windows", provenance="composed", source="numpy.mean of each window", dtypes=EVERY_FLOAT
)
def avg_pool2d(x: Array, *, kernel: int, stride: int, out: Array) -> None:
    np.mean(windows_of(x, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride], axis=(4, 5), out=out)


@BACKEND.operator(
    "max_pool2d", name="windows", provenance="composed", source="numpy.max of each window", dtypes=EVERY_FLOAT
)
def max_pool2d(x: Array, *, kernel: int, stride: int, out: Array) -> None:
    np.max(windows_of(x, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride], axis=(4, 5), out=out)
