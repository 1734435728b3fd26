"""Chains of layers in TVM: topi's products and convolutions, and the sums of a dense layer in te."""

from __future__ import annotations

from fuzz.backends.base import EVERY_FLOAT
from fuzz.backends.tvm_operators import Tensor, expression, formula, te, topi


def _layer(w: Tensor, number: int) -> Tensor:
    """w[number] as a tensor of its own."""
    return te.compute(w.shape[1:], lambda *at: w[(number, *at)], name=f"w{number}")


@expression("dense_chain", "topi", "topi.matmul with each layer", "composed", EVERY_FLOAT)
def topi_dense_chain(x: Tensor, w: Tensor) -> Tensor:
    z = x
    for number in range(int(w.shape[0])):
        z = topi.matmul(z, _layer(w, number))
    return z


@formula("dense_chain", "sum over k of z[i, k] * w[layer, k, j], in order, layer by layer")
def te_dense_chain(x: Tensor, w: Tensor) -> Tensor:
    z = x
    for number in range(int(w.shape[0])):
        z = _product(z, w, number)
    return z


def _product(z: Tensor, w: Tensor, number: int) -> Tensor:
    k = te.reduce_axis((0, z.shape[1]), name=f"k{number}")
    return te.compute(z.shape, lambda i, j: te.sum(z[i, k] * w[number, k, j], axis=k), name=f"z{number}")


@expression("conv_chain", "topi", "topi.nn.conv2d with each layer", "composed", EVERY_FLOAT)
def topi_conv_chain(x: Tensor, w: Tensor) -> Tensor:
    z = x
    for number in range(int(w.shape[0])):
        z = topi.nn.conv2d(z, _layer(w, number), 1, int(w.shape[-1]) // 2, 1)
    return z
