"""Chains of layers of one kind: how the errors of a network grow with its depth, and whether its batches differ.

The layers are linear, so that the errors of all depths are of one law: a dense layer is z W, a convolution has windows
of 3 x 3 and a margin of zeros. The weights of all layers are one input. Values stay of order 1 where the weights of a
layer have the variance 1 / (number of terms of a sum), as networks are initialised (LeCun et al., Efficient BackProp,
1998, section 4.6): the default recipes do so at the sizes named beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from fuzz.operators.convolutions import conv2d
from strategies.contract import Contract, Cost, DimSpec, Spec

KERNEL = 3
_NONFINITE = "IEEE 754-2019 by the formula: 0 * inf inside a product is NaN, also where the 0 is padding"
_DEPTH = DimSpec("depth", minimum=1, sizes=(1, 2, 5, 10, 20, 40))


def dense_chain(x: Any, w: Any) -> Any:
    """((x w[0]) w[1]) ... w[depth - 1]."""
    z = x
    for layer in range(w.shape[0]):
        z = np.matmul(z, w[layer])
    return z


def conv_chain(x: Any, w: Any) -> Any:
    """Convolutions with w[0], w[1], ... one after the other, each of the size of the image."""
    z = x
    for layer in range(w.shape[0]):
        z = conv2d(z, w[layer], stride=1, padding=KERNEL // 2)
    return z


OPERATORS = (
    Operator(
        Contract(
            operator="dense_chain",
            doc="depth dense layers one after the other: x (M, n), w (depth, n, n)",
            dims=(DimSpec("M", batch=True, minimum=1), DimSpec("n", reduced=True, minimum=1), _DEPTH),
            inputs=(
                Spec("x", ("M", "n")),
                Spec("w", ("depth", "n", "n"), default="normal(0,0.0625)"),  # 1/sqrt(n) for n = 256
            ),
            outputs=(Spec("y", ("M", "n")),),
            cost=Cost(((2.0, ("depth", "M", "n", "n")),)),
            nonfinite=_NONFINITE,
        ),
        dense_chain,
    ),
    Operator(
        Contract(
            operator="conv_chain",
            doc="depth convolutions of 3 x 3 one after the other: x (N, C, H, W), w (depth, C, C, 3, 3)",
            dims=(
                DimSpec("N", batch=True, minimum=1),
                DimSpec("C", reduced=True, minimum=1),
                DimSpec("H", minimum=1),
                DimSpec("W", minimum=1),
                _DEPTH,
            ),
            inputs=(
                Spec("x", ("N", "C", "H", "W")),
                Spec("w", ("depth", "C", "C", KERNEL, KERNEL), default="normal(0,0.125)"),  # 1/sqrt(9 C) for C = 7
            ),
            outputs=(Spec("y", ("N", "C", "H", "W")),),
            cost=Cost(((2.0 * KERNEL * KERNEL, ("depth", "N", "C", "C", "H", "W")),)),
            nonfinite=_NONFINITE,
        ),
        conv_chain,
    ),
)
