"""Convolutions (cross-correlations, as deep-learning libraries mean it) as products of matrices of windows.

Groups are a dim, not an attribute: channels are (G, I) with G groups of I input channels, so that every choice of
sizes is legal. Output sizes follow from the inputs: floor((H + 2 padding - KH) / stride) + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from strategies.contract import AttributeSpec, Contract, Cost, DimSpec, Spec

_STRIDE = AttributeSpec(1, "step of the window in each direction", usual=(1, 2), unusual=(3,), choices=(1, 2, 3))
_PADDING = AttributeSpec(0, "zeros added on each side", usual=(0, 1), unusual=(2, 3), choices=(0, 1, 2, 3))
_KERNEL_SIZES = (1, 2, 3, 5, 7, 11)
_NONFINITE = "IEEE 754-2019 by the formula: 0 * inf is NaN, also where the 0 is padding and the weight infinite"


def _grouped(x: Any, w: Any, stride: int, padding: int) -> Any:
    """x (N, G, I, *space) and w (G, O, I, *kernel) to (N, G, O, *space')."""
    space = len(w.shape) - 3
    padded = np.pad(x, ((0, 0), (0, 0), (0, 0), *((padding, padding),) * space)) if padding else x
    axes = tuple(range(3, 3 + space))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[3:], axis=axes)
    windows = windows[(slice(None),) * 3 + (slice(None, None, stride),) * space]
    out = windows.shape[3 : 3 + space]
    kernel = tuple(range(3 + space, 3 + 2 * space))
    terms = int(np.prod(w.shape[2:]))
    columns = np.transpose(windows, (0, 1, 2, *kernel, *axes)).reshape(*x.shape[:2], terms, int(np.prod(out)))
    product = np.matmul(w.reshape(*w.shape[:2], terms), columns)
    return product.reshape(*x.shape[:2], w.shape[1], *out)


def _one_group(x: Any, w: Any, stride: int, padding: int) -> Any:
    y = _grouped(x.reshape(x.shape[0], 1, *x.shape[1:]), w.reshape(1, *w.shape), stride, padding)
    return y.reshape(y.shape[0], *y.shape[2:])


def conv1d(x: Any, w: Any, *, stride: int, padding: int) -> Any:
    return _one_group(x, w, stride, padding)


def conv2d(x: Any, w: Any, *, stride: int, padding: int) -> Any:
    return _one_group(x, w, stride, padding)


def group_conv2d(x: Any, w: Any, *, stride: int, padding: int) -> Any:
    return _grouped(x, w, stride, padding)


def depthwise_conv2d(x: Any, w: Any, *, stride: int, padding: int) -> Any:
    """Each channel with its own M kernels; output channel c M + m."""
    y = _grouped(x.reshape(*x.shape[:2], 1, *x.shape[2:]), w.reshape(*w.shape[:2], 1, *w.shape[2:]), stride, padding)
    return y.reshape(y.shape[0], y.shape[1] * y.shape[2], *y.shape[3:])


def _dims(space: str, **others: DimSpec) -> tuple[DimSpec, ...]:
    image = [DimSpec(axis, minimum=1) for axis in space]
    kernel = [DimSpec(f"K{axis}", minimum=1, sizes=_KERNEL_SIZES, within=axis) for axis in space]
    return (DimSpec("N", batch=True, minimum=1), *others.values(), *image, *kernel)


def _channels(*names: str) -> dict[str, DimSpec]:
    return {name: DimSpec(name, minimum=1, batch=name in ("G", "M")) for name in names}


def _convolution(
    reference: Any, doc: str, dims: tuple[DimSpec, ...], x: tuple[str, ...], w: tuple[str, ...], y: tuple[str, ...]
) -> Operator:
    work = (*x, *(name for name in w if name not in x))
    contract = Contract(
        operator=reference.__name__,
        doc=doc,
        dims=dims,
        inputs=(Spec("x", x), Spec("w", w)),
        outputs=(Spec("y", y),),
        cost=Cost(((2.0, work),)),
        attributes=(("stride", _STRIDE), ("padding", _PADDING)),
        nonfinite=_NONFINITE,
    )
    return Operator(contract, reference)


OPERATORS = (
    _convolution(conv1d, "convolution of sequences: x (N, C, L), w (O, C, KL)", _dims("L", **_channels("C", "O")),
                 ("N", "C", "L"), ("O", "C", "KL"), ("N", "O", "OL")),
    _convolution(conv2d, "convolution of images: x (N, C, H, W), w (O, C, KH, KW)", _dims("HW", **_channels("C", "O")),
                 ("N", "C", "H", "W"), ("O", "C", "KH", "KW"), ("N", "O", "OH", "OW")),
    _convolution(group_conv2d, "convolution in G groups: x (N, G, I, H, W), w (G, O, I, KH, KW)",
                 _dims("HW", **_channels("G", "I", "O")),
                 ("N", "G", "I", "H", "W"), ("G", "O", "I", "KH", "KW"), ("N", "G", "O", "OH", "OW")),
    _convolution(depthwise_conv2d, "each channel with its own M kernels: x (N, C, H, W), w (C, M, KH, KW)",
                 _dims("HW", **_channels("C", "M")),
                 ("N", "C", "H", "W"), ("C", "M", "KH", "KW"), ("N", "CM", "OH", "OW")),
)  # fmt: skip
