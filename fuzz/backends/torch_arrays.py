"""PyTorch's reductions, normalisations, products, convolutions and pools."""

from __future__ import annotations

from fuzz.backends.torch_backend import BACKEND, F, Tensor, torch


@BACKEND.implementation("mean", "mean", "torch.mean")
def mean(x: Tensor, *, axis: int) -> Tensor:
    return torch.mean(x, dim=axis)


@BACKEND.implementation("var", "var", "torch.var(correction=ddof)")
def var(x: Tensor, *, axis: int, ddof: int) -> Tensor:
    return torch.var(x, dim=axis, correction=ddof)


@BACKEND.implementation("std", "std", "torch.std(correction=ddof)")
def std(x: Tensor, *, axis: int, ddof: int) -> Tensor:
    return torch.std(x, dim=axis, correction=ddof)


@BACKEND.implementation("prod", "prod", "torch.prod")
def prod(x: Tensor, *, axis: int) -> Tensor:
    return torch.prod(x, dim=axis)


@BACKEND.implementation("norm", "vector_norm", "torch.linalg.vector_norm")
def norm(x: Tensor, *, axis: int, ord: float) -> Tensor:
    return torch.linalg.vector_norm(x, ord, dim=axis)


@BACKEND.implementation("max", "amax", "torch.amax")
def maximum(x: Tensor, *, axis: int) -> Tensor:
    return torch.amax(x, dim=axis)


@BACKEND.implementation("argmax", "argmax", "torch.argmax, and the value there")
def argmax(x: Tensor, *, axis: int) -> Tensor:
    return torch.gather(x, axis, torch.argmax(x, dim=axis, keepdim=True)).squeeze(axis)


@BACKEND.implementation("cumsum", "cumsum", "torch.cumsum")
def cumsum(x: Tensor, *, axis: int) -> Tensor:
    return torch.cumsum(x, dim=axis)


@BACKEND.implementation("logsumexp", "logsumexp", "torch.logsumexp")
def logsumexp(x: Tensor, *, axis: int) -> Tensor:
    return torch.logsumexp(x, dim=axis)


@BACKEND.implementation("log_softmax", "log_softmax", "torch.nn.functional.log_softmax")
def log_softmax(x: Tensor, *, axis: int) -> Tensor:
    return F.log_softmax(x, dim=axis)


@BACKEND.implementation(
    "batch_norm_training",
    "batch_norm",
    "torch.nn.functional.batch_norm(training=True, momentum=1); var = running_var * (n - 1) / n",
)
def batch_norm_training(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> tuple[Tensor, ...]:
    average, variance = torch.zeros_like(gamma), torch.zeros_like(gamma)
    y = F.batch_norm(x, average, variance, gamma, beta, training=True, momentum=1.0, eps=eps)
    count = x.shape[0] * x.shape[2] * x.shape[3]
    return y, average, variance * ((count - 1) / count)  # torch keeps the unbiased variance


@BACKEND.implementation("group_norm", "group_norm", "torch.nn.functional.group_norm")
def group_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    groups = x.shape[1]
    return F.group_norm(x.flatten(1, 2), groups, gamma.flatten(), beta.flatten(), eps).reshape(x.shape)


@BACKEND.implementation("instance_norm", "instance_norm", "torch.nn.functional.instance_norm")
def instance_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float) -> Tensor:
    return F.instance_norm(x, weight=gamma, bias=beta, eps=eps)


@BACKEND.implementation("rms_norm", "rms_norm", "torch.nn.functional.rms_norm")
def rms_norm(x: Tensor, gamma: Tensor, *, eps: float) -> Tensor:
    return F.rms_norm(x, gamma.shape, gamma, eps)


@BACKEND.implementation("batch_matmul", "bmm", "torch.bmm")
def batch_matmul(a: Tensor, b: Tensor) -> Tensor:
    return torch.bmm(a, b)


@BACKEND.implementation("dense", "linear", "torch.nn.functional.linear")
def dense(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    return F.linear(x, w, bias)


@BACKEND.implementation("conv1d", "conv1d", "torch.nn.functional.conv1d")
def conv1d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return F.conv1d(x, w, stride=stride, padding=padding)


@BACKEND.implementation("conv2d", "conv2d", "torch.nn.functional.conv2d")
def conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return F.conv2d(x, w, stride=stride, padding=padding)


@BACKEND.implementation("group_conv2d", "conv2d", "torch.nn.functional.conv2d(groups=G)")
def group_conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    groups, each = w.shape[:2]
    y = F.conv2d(x.flatten(1, 2), w.flatten(0, 1), stride=stride, padding=padding, groups=groups)
    return y.unflatten(1, (groups, each))


@BACKEND.implementation("depthwise_conv2d", "conv2d", "torch.nn.functional.conv2d(groups=C)")
def depthwise_conv2d(x: Tensor, w: Tensor, *, stride: int, padding: int) -> Tensor:
    return F.conv2d(x, w.flatten(0, 1).unsqueeze(1), stride=stride, padding=padding, groups=x.shape[1])


@BACKEND.implementation("avg_pool2d", "avg_pool2d", "torch.nn.functional.avg_pool2d")
def avg_pool2d(x: Tensor, *, kernel: int, stride: int) -> Tensor:
    return F.avg_pool2d(x, kernel, stride)


@BACKEND.implementation("max_pool2d", "max_pool2d", "torch.nn.functional.max_pool2d")
def max_pool2d(x: Tensor, *, kernel: int, stride: int) -> Tensor:
    return F.max_pool2d(x, kernel, stride)
