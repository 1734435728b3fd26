"""PyTorch's reductions, normalisations, products, convolutions and pools."""

from __future__ import annotations

from fuzz.backends.base import EVERY_FLOAT
from fuzz.backends.torch_backend import BACKEND, F, torch
from fuzz.backends.torch_options import Tensor


@BACKEND.implementation("mean", "mean", "torch.mean", dtypes=EVERY_FLOAT)
def mean(x: Tensor, *, axis: int) -> Tensor:
    return torch.mean(x, dim=axis)


@BACKEND.implementation("var", "var", "torch.var(correction=ddof)", dtypes=EVERY_FLOAT)
def var(x: Tensor, *, axis: int, ddof: int) -> Tensor:
    return torch.var(x, dim=axis, correction=ddof)


@BACKEND.implementation("std", "std", "torch.std(correction=ddof)", dtypes=EVERY_FLOAT)
def std(x: Tensor, *, axis: int, ddof: int) -> Tensor:
    return torch.std(x, dim=axis, correction=ddof)


@BACKEND.implementation("prod", "prod", "torch.prod", dtypes=EVERY_FLOAT)
def prod(x: Tensor, *, axis: int) -> Tensor:
    return torch.prod(x, dim=axis)


@BACKEND.implementation("norm", "vector_norm", "torch.linalg.vector_norm", dtypes=EVERY_FLOAT)
def norm(x: Tensor, *, axis: int, ord: float) -> Tensor:
    return torch.linalg.vector_norm(x, ord, dim=axis)


@BACKEND.implementation("max", "amax", "torch.amax", dtypes=EVERY_FLOAT)
def maximum(x: Tensor, *, axis: int) -> Tensor:
    return torch.amax(x, dim=axis)


@BACKEND.implementation("argmax", "argmax", "torch.argmax, and the value there", dtypes=EVERY_FLOAT)
def argmax(x: Tensor, *, axis: int) -> Tensor:
    return torch.gather(x, axis, torch.argmax(x, dim=axis, keepdim=True)).squeeze(axis)


@BACKEND.implementation("cumsum", "cumsum", "torch.cumsum", dtypes=EVERY_FLOAT)
def cumsum(x: Tensor, *, axis: int) -> Tensor:
    return torch.cumsum(x, dim=axis)


@BACKEND.implementation("logsumexp", "logsumexp", "torch.logsumexp", dtypes=EVERY_FLOAT)
def logsumexp(x: Tensor, *, axis: int) -> Tensor:
    return torch.logsumexp(x, dim=axis)


@BACKEND.implementation("log_softmax", "log_softmax", "torch.nn.functional.log_softmax", dtypes=EVERY_FLOAT)
def log_softmax(x: Tensor, *, axis: int) -> Tensor:
    return F.log_softmax(x, dim=axis)


@BACKEND.implementation(
    "batch_norm_training",
    "batch_norm",
    "torch.nn.functional.batch_norm(training=True, momentum=1); var = running_var * (n - 1) / n",
    dtypes=EVERY_FLOAT,
)
def batch_norm_training(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> tuple[Tensor, ...]:
    average, variance = torch.zeros_like(gamma), torch.zeros_like(gamma)
    y = F.batch_norm(x, average, variance, gamma, beta, training=True, momentum=1.0, eps=eps)
    count = x.shape[0] * x.shape[2] * x.shape[3]
    return y, average, variance * ((count - 1) / count)  # torch keeps the unbiased variance


@BACKEND.implementation("group_norm", "group_norm", "torch.nn.functional.group_norm", dtypes=EVERY_FLOAT)
def group_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    groups = x.shape[1]
    return F.group_norm(x.flatten(1, 2), groups, gamma.flatten(), beta.flatten(), eps).reshape(x.shape)


@BACKEND.implementation("instance_norm", "instance_norm", "torch.nn.functional.instance_norm", dtypes=EVERY_FLOAT)
def instance_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return F.instance_norm(x, weight=gamma, bias=beta, eps=eps)


@BACKEND.implementation("rms_norm", "rms_norm", "torch.nn.functional.rms_norm", dtypes=EVERY_FLOAT)
def rms_norm(x: Tensor, gamma: Tensor, *, eps: float) -> Tensor:
    return F.rms_norm(x, gamma.shape, gamma, eps)


@BACKEND.implementation("batch_matmul", "bmm", "torch.bmm", dtypes=EVERY_FLOAT)
def batch_matmul(a: Tensor, b: Tensor) -> Tensor:
    return torch.bmm(a, b)


@BACKEND.implementation("batch_matmul", "einsum", "torch.einsum('bik,bkj->bij')", dtypes=EVERY_FLOAT)
def batch_matmul_einsum(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("bik,bkj->bij", a, b)


@BACKEND.implementation("dense", "linear", "torch.nn.functional.linear", dtypes=EVERY_FLOAT)
def dense(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return F.linear(x, w, bias)


@BACKEND.implementation("conv1d", "conv1d", "torch.nn.functional.conv1d", dtypes=EVERY_FLOAT)
def conv1d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return F.conv1d(x, w, stride=stride, padding=padding)


@BACKEND.implementation("conv2d", "conv2d", "torch.nn.functional.conv2d", dtypes=EVERY_FLOAT)
def conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return F.conv2d(x, w, stride=stride, padding=padding)


@BACKEND.implementation("group_conv2d", "conv2d", "torch.nn.functional.conv2d(groups=G)", dtypes=EVERY_FLOAT)
def group_conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    groups, each = w.shape[:2]
    y = F.conv2d(x.flatten(1, 2), w.flatten(0, 1), stride=stride, padding=padding, groups=groups)
    return y.unflatten(1, (groups, each))


@BACKEND.implementation("depthwise_conv2d", "conv2d", "torch.nn.functional.conv2d(groups=C)", dtypes=EVERY_FLOAT)
def depthwise_conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return F.conv2d(x, w.flatten(0, 1).unsqueeze(1), stride=stride, padding=padding, groups=x.shape[1])


@BACKEND.implementation("avg_pool2d", "avg_pool2d", "torch.nn.functional.avg_pool2d", dtypes=EVERY_FLOAT)
def avg_pool2d(x: Tensor, *, kernel: int, stride: int) -> Tensor:
    return F.avg_pool2d(x, kernel, stride)


@BACKEND.implementation("max_pool2d", "max_pool2d", "torch.nn.functional.max_pool2d", dtypes=EVERY_FLOAT)
def max_pool2d(x: Tensor, *, kernel: int, stride: int) -> Tensor:
    return F.max_pool2d(x, kernel, stride)
