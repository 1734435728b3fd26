"""Faults planted in products of matrices, convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from planted_defects import rounded_to
from planted_faults import BOTH, FOUR, NORMAL, WITH_SPECIAL, Kernel, computed_in, inputs_rounded, planted, scaled

from fuzz.backends.base import Array

DENSE = {"M": 6, "K": 100, "N": 6}
SQUARE = {"B": 2, "M": 12, "K": 12, "N": 12}
RAGGED = {"B": 2, "M": 6, "K": 101, "N": 6}
SEQUENCE = {"N": 2, "C": 6, "O": 4, "L": 20, "KL": 3}
IMAGE = {"N": 1, "C": 5, "O": 4, "H": 9, "W": 9, "KH": 3, "KW": 3}
GROUPED = {"N": 1, "G": 3, "I": 4, "O": 2, "H": 8, "W": 8, "KH": 3, "KW": 3}
DEPTHWISE = {"N": 1, "C": 4, "M": 3, "H": 8, "W": 8, "KH": 3, "KW": 3}
POOLED = {"N": 2, "C": 3, "H": 8, "W": 8}

Multiply = Callable[[Array, Array], Array]


def dense(x: Array, w: Array, bias: Array) -> Array:
    return x @ w.T + bias


def dense_without_bias(x: Array, w: Array, bias: Array) -> Array:
    return x @ w.T


def dense_bias_in_bfloat16(x: Array, w: Array, bias: Array) -> Array:
    return x @ w.T + rounded_to(8, bias)


def dense_bias_by_row(x: Array, w: Array, bias: Array) -> Array:
    return x @ w.T + bias[:, None]


def product_of_the_transposed(a: Array, b: Array) -> Array:
    return a @ np.swapaxes(b, 1, 2)


def product_without_remainder(a: Array, b: Array) -> Array:
    k = a.shape[-1] // 8 * 8
    return a[..., :k] @ b[..., :k, :]


def product_of_the_first_batch(a: Array, b: Array) -> Array:
    return a @ b[:1]


def multiply_in_bfloat16(w: Array, columns: Array) -> Array:
    """Rounds the sum to bfloat16 after every product; wider than float32 it is healthy."""
    total = np.zeros((*columns.shape[:-2], w.shape[-2], columns.shape[-1]), w.dtype)
    for k in range(w.shape[-1]):
        total = rounded_to(8, total + w[..., :, k, None] * columns[..., None, k, :])
    return total


def grouped(
    x: Array, w: Array, *, stride: int, padding: int, before: int = 0, first: int = 0, multiply: Multiply = np.matmul
) -> Array:
    """x (N, G, I, *space), w (G, O, I, *kernel). `before`: padding moved from the far border to the near one;
    `first`: where the first window starts."""
    space = w.ndim - 3
    around = ((padding + before, padding - before),) * space
    padded = np.pad(x, ((0, 0),) * 3 + around)
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[3:], axis=tuple(range(3, 3 + space)))
    windows = windows[(slice(None),) * 3 + (slice(first, None, stride),) * space]
    out = windows.shape[3 : 3 + space]
    kernel, axes = tuple(range(3 + space, 3 + 2 * space)), tuple(range(3, 3 + space))
    columns = windows.transpose(0, 1, 2, *kernel, *axes).reshape(*x.shape[:2], -1, int(np.prod(out)))
    y = multiply(w.reshape(*w.shape[:2], -1), columns)
    return y.reshape(*x.shape[:2], w.shape[1], *out)


def conv(x: Array, w: Array, **how: Any) -> Array:
    return grouped(x[:, None], w[None], **how)[:, 0]


def depthwise(x: Array, w: Array, *, stride: int, padding: int, interleaved: bool = False) -> Array:
    y = grouped(x[:, :, None], w[:, :, None], stride=stride, padding=padding)
    y = np.swapaxes(y, 1, 2) if interleaved else y
    return y.reshape(y.shape[0], -1, *y.shape[3:])


def how(kernel: Kernel, **added: Any) -> Kernel:
    return lambda *arrays, **attributes: kernel(*arrays, **attributes, **added)


def flipped(kernel: Kernel) -> Kernel:
    return lambda x, w, **attributes: kernel(x, np.flip(w, (-1, -2) if x.ndim > 3 else -1), **attributes)


def transposed_kernel(x: Array, w: Array, **attributes: int) -> Array:
    return conv(x, np.swapaxes(w, -1, -2), **attributes)


def last_channel_dropped(x: Array, w: Array, **attributes: int) -> Array:
    return conv(x[:, :-1], w[:, :-1], **attributes)


def groups_mixed(x: Array, w: Array, **attributes: int) -> Array:
    return grouped(x, np.roll(w, 1, 0), **attributes)


def channels_mixed(x: Array, w: Array, **attributes: int) -> Array:
    """Reads the channels as (I, G) instead of (G, I)."""
    n, g, i, *space = x.shape
    return grouped(np.swapaxes(x.reshape(n, i, g, *space), 1, 2), w, **attributes)


def windows_of(x: Array, kernel: int, stride: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(2, 3))
    return windows[:, :, ::stride, ::stride]


def average(x: Array, *, kernel: int, stride: int) -> Array:
    return windows_of(x, kernel, stride).mean((4, 5))


def average_as_if_padded(x: Array, *, kernel: int, stride: int) -> Array:
    """Divides the last row by the size of a window that reaches one row further."""
    y = average(x, kernel=kernel, stride=stride)
    y[:, :, -1] *= x.dtype.type(kernel / (kernel + 1))
    return y


def average_in_bfloat16(x: Array, *, kernel: int, stride: int) -> Array:
    total = x.dtype.type(0)
    windows = windows_of(x, kernel, stride)
    for i in range(kernel):
        for j in range(kernel):
            total = rounded_to(8, total + windows[..., i, j])
    return total / x.dtype.type(kernel * kernel)


def maximum_from(x: Array, *, kernel: int, stride: int, start: str) -> Array:
    least = {"zero": 0.0, "smallest positive": float(np.finfo(np.float32).tiny)}[start]
    return windows_of(x, kernel, stride).max((4, 5), initial=least)


def maximum_ignoring_nan(x: Array, *, kernel: int, stride: int) -> Array:
    return np.fmax.reduce(windows_of(x, kernel, stride), (4, 5))


def maximum_at_wrong_stride(x: Array, *, kernel: int, stride: int) -> Array:
    shape = windows_of(x, kernel, stride).shape
    return windows_of(x, kernel, 1)[:, :, : shape[2], : shape[3]].max((4, 5))


def dense_chain(x: Array, w: Array) -> Array:
    for layer in w:
        x = x @ layer
    return x


def layer_left_out(x: Array, w: Array) -> Array:
    return dense_chain(x, w[:-1])


def layer_transposed(x: Array, w: Array) -> Array:
    return dense_chain(x, np.concatenate([w[:1], np.swapaxes(w[1:2], 1, 2), w[2:]]))


def layer_in_bfloat16(x: Array, w: Array) -> Array:
    return dense_chain(rounded_to(8, dense_chain(x, w[:2])), w[2:])


def conv_chain(x: Array, w: Array, *, before: int = 0) -> Array:
    for layer in w:
        x = conv(x, layer, stride=1, padding=1, before=before)
    return x


def einsum(equation: str) -> Kernel:
    return lambda *arrays: np.einsum(equation, *arrays)


LAYERS = {"M": 4, "n": 16, "depth": 5}
CONVOLVED = {"N": 1, "C": 3, "H": 6, "W": 6, "depth": 3}
LOW_RANK = {"B": 2, "T": 3, "R": 8, "C": 8, "I": 8}
BILINEAR = {"B": 3, "I": 8, "O": 3, "J": 8}
HEADS = {"B": 2, "Q": 5, "H": 5, "D": 16, "K": 5}
PAIRS = {"B": 2, "I": 6, "J": 6}

FAULTS = (
    *planted("dense", "bias_missing", dense_without_bias, NORMAL, "wrong", DENSE),
    *planted("dense", "bias_by_row", dense_bias_by_row, NORMAL, "wrong", DENSE),
    *planted("dense", "bias_in_bfloat16", dense_bias_in_bfloat16, NORMAL, "low_precision", DENSE, dtypes=("float32",)),
    *planted("dense", "tf32_inputs", inputs_rounded(dense, 11), NORMAL, "low_precision", DENSE, dtypes=("float32",)),
    *planted("dense", "float32_inside", computed_in(dense, "float32"), NORMAL, "silent_downcast", DENSE,
             dtypes=("float64",)),
    *planted("batch_matmul", "transposed", product_of_the_transposed, NORMAL, "wrong", SQUARE),
    *planted("batch_matmul", "remainder_dropped", product_without_remainder, NORMAL, "wrong", RAGGED),
    *planted("batch_matmul", "first_batch", product_of_the_first_batch, NORMAL, "wrong", SQUARE),
    *planted("batch_matmul", "bfloat16_sums", multiply_in_bfloat16, NORMAL, "low_precision", RAGGED,
             dtypes=("float32",)),
    *planted("conv1d", "one_border", how(conv, before=1), NORMAL, "wrong", SEQUENCE, padding=1),
    *planted("conv1d", "flipped", flipped(conv), NORMAL, "wrong", SEQUENCE),
    *planted("conv1d", "last_channel", last_channel_dropped, NORMAL, "wrong", SEQUENCE),
    *planted("conv1d", "bfloat16_inputs", inputs_rounded(conv, 8), NORMAL, "low_precision", SEQUENCE,
             dtypes=("float32",)),
    *planted("conv1d", "float32_inside", computed_in(conv, "float32"), NORMAL, "silent_downcast", SEQUENCE,
             dtypes=("float64",)),
    *planted("conv2d", "one_border", how(conv, before=1), NORMAL, "wrong", IMAGE, padding=1),
    *planted("conv2d", "flipped", flipped(conv), NORMAL, "wrong", IMAGE),
    *planted("conv2d", "kernel_transposed", transposed_kernel, NORMAL, "wrong", IMAGE),
    *planted("conv2d", "stride_from_1", how(conv, first=1), NORMAL, "wrong", IMAGE | {"H": 10, "W": 10}, stride=2),
    *planted("conv2d", "last_channel", last_channel_dropped, NORMAL, "wrong", IMAGE),
    *planted("conv2d", "tf32_inputs", inputs_rounded(conv, 11), NORMAL, "low_precision", IMAGE, dtypes=("float32",)),
    *planted("conv2d", "bfloat16_sums", how(conv, multiply=multiply_in_bfloat16), NORMAL, "low_precision", IMAGE,
             dtypes=("float32",)),
    *planted("group_conv2d", "groups_mixed", groups_mixed, NORMAL, "wrong", GROUPED),
    *planted("group_conv2d", "channels_mixed", channels_mixed, NORMAL, "wrong", GROUPED),
    *planted("depthwise_conv2d", "multiplier_order", how(depthwise, interleaved=True), NORMAL, "wrong", DEPTHWISE),
    *planted("depthwise_conv2d", "constant_1e5", scaled(depthwise, 1e-5), NORMAL, "wrong", DEPTHWISE, padding=1),
    *planted("avg_pool2d", "last_row", average_as_if_padded, NORMAL, "wrong", POOLED, dtypes=BOTH),
    *planted("avg_pool2d", "bfloat16_sums", average_in_bfloat16, "uniform(0,1)", "low_precision", POOLED,
             dtypes=("float32",), kernel=3),
    *planted("max_pool2d", "from_zero", how(maximum_from, start="zero"), "uniform(-2,-1)", "wrong", POOLED,
             dtypes=FOUR),
    *planted("max_pool2d", "from_tiny", how(maximum_from, start="smallest positive"), "uniform(-2,-1)", "wrong",
             POOLED),
    *planted("max_pool2d", "nan_ignored", maximum_ignoring_nan, WITH_SPECIAL, "nonfinite_mismatch", POOLED,
             dtypes=FOUR),
    *planted("dense_chain", "layer_left_out", layer_left_out, NORMAL, "wrong", LAYERS),
    *planted("dense_chain", "layer_transposed", layer_transposed, NORMAL, "wrong", LAYERS),
    *planted("dense_chain", "layer_in_bfloat16", layer_in_bfloat16, NORMAL, "low_precision", LAYERS,
             dtypes=("float32",)),
    *planted("dense_chain", "float32_inside", computed_in(dense_chain, "float32"), NORMAL, "silent_downcast", LAYERS,
             dtypes=("float64",)),
    *planted("conv_chain", "one_border", how(conv_chain, before=1), NORMAL, "wrong", CONVOLVED),
    *planted("conv_chain", "bfloat16_inputs", inputs_rounded(conv_chain, 8), NORMAL, "low_precision", CONVOLVED,
             dtypes=("float32",)),
    *planted("einsum_low_rank", "transposed", einsum("btrc,ir,ic->btic"), NORMAL, "wrong", LOW_RANK),
    *planted("einsum_low_rank", "tf32_inputs", inputs_rounded(einsum("btrc,ri,ic->btic"), 11), NORMAL,
             "low_precision", LOW_RANK, dtypes=("float32",)),
    *planted("einsum_bilinear", "transposed", einsum("bi,oji,bj->bo"), NORMAL, "wrong", BILINEAR),
    *planted("einsum_scores", "heads_mixed", einsum("bhqd,bkhd->bhqk"), NORMAL, "wrong", HEADS),
    *planted("einsum_outer", "transposed", einsum("bj,bi->bij"), NORMAL, "wrong", PAIRS),
    *planted("max_pool2d", "stride_ignored", maximum_at_wrong_stride, NORMAL, "wrong", POOLED),
)  # fmt: skip
