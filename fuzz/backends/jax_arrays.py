"""JAX: reductions of jax.numpy, convolutions and windows of jax.lax, normalisations as formulas."""

from __future__ import annotations

from typing import Any

from fuzz.backends.base import EVERY_FLOAT, Lazy
from fuzz.backends.jax_backend import BACKEND, JaxArray, jnp, nn

lax: Any = Lazy("jax.lax")

_FORMULA = "d / sqrt(mean(d*d) + eps) * gamma + beta with d = x - mean(x)"


@BACKEND.implementation("mean", "mean", "jax.numpy.mean", dtypes=EVERY_FLOAT)
def mean(x: JaxArray, *, axis: int) -> JaxArray:
    return jnp.mean(x, axis=axis)


@BACKEND.implementation("var", "var", "jax.numpy.var", dtypes=EVERY_FLOAT)
def var(x: JaxArray, *, axis: int, ddof: int) -> JaxArray:
    return jnp.var(x, axis=axis, ddof=ddof)


@BACKEND.implementation("std", "std", "jax.numpy.std", dtypes=EVERY_FLOAT)
def std(x: JaxArray, *, axis: int, ddof: int) -> JaxArray:
    return jnp.std(x, axis=axis, ddof=ddof)


@BACKEND.implementation("prod", "prod", "jax.numpy.prod", dtypes=EVERY_FLOAT)
def prod(x: JaxArray, *, axis: int) -> JaxArray:
    return jnp.prod(x, axis=axis)


@BACKEND.implementation("norm", "norm", "jax.numpy.linalg.norm", dtypes=EVERY_FLOAT)
def norm(x: JaxArray, *, axis: int, ord: float) -> JaxArray:
    return jnp.linalg.norm(x, ord, axis)


@BACKEND.implementation("max", "max", "jax.numpy.max", dtypes=EVERY_FLOAT)
def maximum(x: JaxArray, *, axis: int) -> JaxArray:
    return jnp.max(x, axis=axis)


@BACKEND.implementation("argmax", "argmax", "jax.numpy.argmax, and the value there", dtypes=EVERY_FLOAT)
def argmax(x: JaxArray, *, axis: int) -> JaxArray:
    return jnp.squeeze(jnp.take_along_axis(x, jnp.argmax(x, axis=axis, keepdims=True), axis), axis)


@BACKEND.implementation("cumsum", "cumsum", "jax.numpy.cumsum", dtypes=EVERY_FLOAT)
def cumsum(x: JaxArray, *, axis: int) -> JaxArray:
    return jnp.cumsum(x, axis=axis)


@BACKEND.implementation("logsumexp", "logsumexp", "jax.nn.logsumexp", dtypes=EVERY_FLOAT)
def logsumexp(x: JaxArray, *, axis: int) -> JaxArray:
    return nn.logsumexp(x, axis=axis)


@BACKEND.implementation("log_softmax", "log_softmax", "jax.nn.log_softmax", dtypes=EVERY_FLOAT)
def log_softmax(x: JaxArray, *, axis: int) -> JaxArray:
    return nn.log_softmax(x, axis=axis)


def _normalised(
    x: JaxArray, axes: tuple[int, ...], gamma: JaxArray, beta: JaxArray, eps: float
) -> tuple[JaxArray, JaxArray, JaxArray]:
    average = jnp.mean(x, axis=axes, keepdims=True)
    centred = x - average
    variance = jnp.mean(centred * centred, axis=axes, keepdims=True)
    return centred / jnp.sqrt(variance + eps) * gamma + beta, average, variance


@BACKEND.implementation("batch_norm_training", "formula", _FORMULA, "composed", dtypes=EVERY_FLOAT)
def batch_norm_training(x: JaxArray, gamma: JaxArray, beta: JaxArray, *, eps: float) -> tuple[JaxArray, ...]:
    y, average, variance = _normalised(x, (0, 2, 3), gamma[:, None, None], beta[:, None, None], eps)
    return y, average.reshape(-1), variance.reshape(-1)


@BACKEND.implementation("group_norm", "formula", _FORMULA, "composed", dtypes=EVERY_FLOAT)
def group_norm(x: JaxArray, gamma: JaxArray, beta: JaxArray, *, eps: float) -> JaxArray:
    return _normalised(x, (2, 3), gamma[..., None], beta[..., None], eps)[0]


@BACKEND.implementation("instance_norm", "formula", _FORMULA, "composed", dtypes=EVERY_FLOAT)
def instance_norm(x: JaxArray, gamma: JaxArray, beta: JaxArray, *, eps: float) -> JaxArray:
    return _normalised(x, (2, 3), gamma[:, None, None], beta[:, None, None], eps)[0]


@BACKEND.implementation("rms_norm", "formula", "x / sqrt(mean(x*x) + eps) * gamma", "composed", dtypes=EVERY_FLOAT)
def rms_norm(x: JaxArray, gamma: JaxArray, *, eps: float) -> JaxArray:
    return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps) * gamma


@BACKEND.implementation("batch_matmul", "matmul", "jax.numpy.matmul", dtypes=EVERY_FLOAT)
def batch_matmul(a: JaxArray, b: JaxArray) -> JaxArray:
    return jnp.matmul(a, b)


@BACKEND.implementation("dense", "matmul", "jax.numpy.matmul(x, w.T) + bias", "composed", dtypes=EVERY_FLOAT)
def dense(x: JaxArray, w: JaxArray, bias: JaxArray) -> JaxArray:
    return jnp.matmul(x, w.T) + bias


def _convolution(x: JaxArray, w: JaxArray, stride: int, padding: int, groups: int = 1) -> JaxArray:
    space = x.ndim - 2
    return lax.conv_general_dilated(
        x, w, (stride,) * space, ((padding, padding),) * space, feature_group_count=groups
    )  # the default layouts are NCHW and OIHW


@BACKEND.implementation("conv1d", "conv", "jax.lax.conv_general_dilated", dtypes=EVERY_FLOAT)
def conv1d(x: JaxArray, w: JaxArray, *, stride: int, padding: int) -> JaxArray:
    return _convolution(x, w, stride, padding)


@BACKEND.implementation("conv2d", "conv", "jax.lax.conv_general_dilated", dtypes=EVERY_FLOAT)
def conv2d(x: JaxArray, w: JaxArray, *, stride: int, padding: int) -> JaxArray:
    return _convolution(x, w, stride, padding)


@BACKEND.implementation(
    "group_conv2d", "conv", "jax.lax.conv_general_dilated(feature_group_count=G)", dtypes=EVERY_FLOAT
)
def group_conv2d(x: JaxArray, w: JaxArray, *, stride: int, padding: int) -> JaxArray:
    groups, each = w.shape[:2]
    y = _convolution(_merged(x, 1), _merged(w, 0), stride, padding, groups)
    return y.reshape(y.shape[0], groups, each, *y.shape[2:])


@BACKEND.implementation(
    "depthwise_conv2d", "conv", "jax.lax.conv_general_dilated(feature_group_count=C)", dtypes=EVERY_FLOAT
)
def depthwise_conv2d(x: JaxArray, w: JaxArray, *, stride: int, padding: int) -> JaxArray:
    return _convolution(x, _merged(w, 0)[:, None], stride, padding, x.shape[1])


def _merged(x: JaxArray, axis: int) -> JaxArray:
    """Axes `axis` and the next as one."""
    return x.reshape(*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])


def _windowed(x: JaxArray, start: float, combine: Any, kernel: int, stride: int) -> JaxArray:
    return lax.reduce_window(x, start, combine, (1, 1, kernel, kernel), (1, 1, stride, stride), "VALID")


@BACKEND.implementation(
    "avg_pool2d", "reduce_window", "jax.lax.reduce_window(add) / kernel**2", "composed", dtypes=EVERY_FLOAT
)
def avg_pool2d(x: JaxArray, *, kernel: int, stride: int) -> JaxArray:
    return _windowed(x, 0.0, lax.add, kernel, stride) / kernel**2


@BACKEND.implementation("max_pool2d", "reduce_window", "jax.lax.reduce_window(max)", dtypes=EVERY_FLOAT)
def max_pool2d(x: JaxArray, *, kernel: int, stride: int) -> JaxArray:
    return _windowed(x, -float("inf"), lax.max, kernel, stride)
