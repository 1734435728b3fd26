"""Chains of layers in PyTorch."""

from __future__ import annotations

from fuzz.backends.base import EVERY_FLOAT
from fuzz.backends.torch_backend import BACKEND, F, torch
from fuzz.backends.torch_options import Tensor


@BACKEND.implementation("dense_chain", "matmul", "torch.matmul with each layer", "composed", dtypes=EVERY_FLOAT)
def dense_chain(x: Tensor, w: Tensor) -> Tensor:
    z = x
    for layer in w.unbind(0):
        z = torch.matmul(z, layer)
    return z


@BACKEND.implementation(
    "conv_chain", "conv2d", "torch.nn.functional.conv2d with each layer", "composed", dtypes=EVERY_FLOAT
)
def conv_chain(x: Tensor, w: Tensor) -> Tensor:
    z = x
    for layer in w.unbind(0):
        z = F.conv2d(z, layer, padding=layer.shape[-1] // 2)
    return z
