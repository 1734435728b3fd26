"""Chains of layers in NumPy."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import ALL_BUT_BFLOAT16, Array
from fuzz.backends.numpy_arrays import conv2d
from fuzz.backends.numpy_backend import BACKEND


@BACKEND.operator(
    "dense_chain",
    name="matmul",
    provenance="composed",
    source="numpy.matmul with each layer",
    dtypes=ALL_BUT_BFLOAT16,
)
def dense_chain(x: Array, w: Array) -> Array:
    z = x
    for layer in w:
        z = np.matmul(z, layer)
    return z


@BACKEND.operator(
    "conv_chain",
    name="im2col",
    provenance="composed",
    source="numpy.matmul of each layer and all windows (im2col)",
    dtypes=ALL_BUT_BFLOAT16,
)
def conv_chain(x: Array, w: Array) -> Array:
    z = x
    for layer in w:
        z = conv2d(z, layer, stride=1, padding=layer.shape[-1] // 2)
    return z
