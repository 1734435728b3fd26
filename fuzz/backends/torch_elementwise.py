"""Elementwise operators in PyTorch."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.backends.base import EVERY_FLOAT
from fuzz.backends.torch_backend import BACKEND, F, torch
from fuzz.backends.torch_options import Tensor

FUNCTIONS = {
    "sigmoid": "sigmoid",
    "relu": "relu",
    "sign": "sign",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "reciprocal": "reciprocal",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asinh": "asinh",
    "atanh": "atanh",
    "sinh": "sinh",
    "cosh": "cosh",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "lgamma": "lgamma",
    "add": "add",
    "multiply": "mul",
    "divide": "div",
}
"""Operator -> name in torch."""


def calling(name: str) -> Callable[..., Tensor]:
    """torch's function of that name, looked up when it is first called."""

    def call(*inputs: Tensor) -> Tensor:
        return getattr(torch, name)(*inputs)

    return call


for _operator, _name in FUNCTIONS.items():
    BACKEND.implementation(_operator, _name, f"torch.{_name}", dtypes=EVERY_FLOAT)(calling(_name))


@BACKEND.implementation("silu", "silu", "torch.nn.functional.silu", dtypes=EVERY_FLOAT)
def silu(x: Tensor) -> Tensor:
    return F.silu(x)


@BACKEND.implementation("elu", "elu", "torch.nn.functional.elu", dtypes=EVERY_FLOAT)
def elu(x: Tensor, *, alpha: float) -> Tensor:
    return F.elu(x, alpha=alpha)


@BACKEND.implementation("clip", "clamp", "torch.clamp", dtypes=EVERY_FLOAT)
def clip(x: Tensor, *, low: float, high: float) -> Tensor:
    return torch.clamp(x, low, high)


@BACKEND.implementation("leaky_relu", "leaky_relu", "torch.nn.functional.leaky_relu", dtypes=EVERY_FLOAT)
def leaky_relu(x: Tensor, *, alpha: float) -> Tensor:
    return F.leaky_relu(x, alpha)


@BACKEND.implementation("log_sigmoid", "logsigmoid", "torch.nn.functional.logsigmoid", dtypes=EVERY_FLOAT)
def log_sigmoid(x: Tensor) -> Tensor:
    return F.logsigmoid(x)


@BACKEND.implementation("mish", "mish", "torch.nn.functional.mish", dtypes=EVERY_FLOAT)
def mish(x: Tensor) -> Tensor:
    return F.mish(x)


@BACKEND.implementation("softsign", "softsign", "torch.nn.functional.softsign", dtypes=EVERY_FLOAT)
def softsign(x: Tensor) -> Tensor:
    return F.softsign(x)


@BACKEND.implementation("selu", "selu", "torch.nn.functional.selu", dtypes=EVERY_FLOAT)
def selu(x: Tensor) -> Tensor:
    return F.selu(x)


@BACKEND.implementation("hard_swish", "hardswish", "torch.nn.functional.hardswish", dtypes=EVERY_FLOAT)
def hard_swish(x: Tensor) -> Tensor:
    return F.hardswish(x)
