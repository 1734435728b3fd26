"""Chains of layers in JAX: written out as in a network's code, or as one jax.lax.scan over the layers."""

from __future__ import annotations

from typing import Any

from fuzz.backends.base import EVERY_FLOAT, Lazy
from fuzz.backends.jax_arrays import conv2d
from fuzz.backends.jax_backend import BACKEND, JaxArray, jnp

lax: Any = Lazy("jax.lax")


@BACKEND.implementation("dense_chain", "matmul", "jax.numpy.matmul with each layer", "composed", dtypes=EVERY_FLOAT)
def dense_chain(x: JaxArray, w: JaxArray) -> JaxArray:
    z = x
    for layer in range(w.shape[0]):
        z = jnp.matmul(z, w[layer])
    return z


@BACKEND.implementation("dense_chain", "scan", "jax.lax.scan of jax.numpy.matmul", "composed", dtypes=EVERY_FLOAT)
def dense_scan(x: JaxArray, w: JaxArray) -> JaxArray:
    return lax.scan(lambda z, layer: (jnp.matmul(z, layer), None), x, w)[0]


@BACKEND.implementation(
    "conv_chain", "conv", "jax.lax.conv_general_dilated with each layer", "composed", dtypes=EVERY_FLOAT
)
def conv_chain(x: JaxArray, w: JaxArray) -> JaxArray:
    z = x
    for layer in range(w.shape[0]):
        z = conv2d(z, w[layer], stride=1, padding=w.shape[-1] // 2)
    return z
