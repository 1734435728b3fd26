"""Pooling of images: mean and maximum of square windows, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from strategies.contract import AttributeSpec, Contract, Cost, Criterion, DimSpec, Spec

_KERNELS = (2, 1, 3, 5)
_KERNEL = AttributeSpec(2, "side of the square window", usual=(2, 3), unusual=(1, 5), choices=_KERNELS)
_STRIDE = AttributeSpec(2, "step of the window in each direction", usual=(2, 1), unusual=(3,), choices=(1, 2, 3))
_IMAGE = ("N", "C", "H", "W")


def _windows(x: Any, kernel: int, stride: int) -> Any:
    """(N, C, H', W', kernel, kernel), H' = floor((H - kernel) / stride) + 1."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(2, 3))
    return windows[:, :, ::stride, ::stride]


def avg_pool2d(x: Any, *, kernel: int, stride: int) -> Any:
    return np.mean(_windows(x, kernel, stride), axis=(4, 5))


def max_pool2d(x: Any, *, kernel: int, stride: int) -> Any:
    return np.max(_windows(x, kernel, stride), axis=(4, 5))


def _pool(reference: Any, what: str, criterion: Criterion = Criterion.FORWARD_BOUND) -> Operator:
    contract = Contract(
        operator=reference.__name__,
        doc=f"{what} of each window",
        dims=(
            DimSpec("N", batch=True, minimum=1),
            DimSpec("C", batch=True, minimum=1),
            DimSpec("H", minimum=max(_KERNELS)),
            DimSpec("W", minimum=max(_KERNELS)),
        ),
        inputs=(Spec("x", _IMAGE),),
        outputs=(Spec("y", ("N", "C", "OH", "OW")),),
        cost=Cost(((9.0, _IMAGE),)),
        attributes=(("kernel", _KERNEL), ("stride", _STRIDE)),
        criterion=criterion,
        nonfinite="NaN in the window makes the result NaN (array API standard 2024.12, statistical functions)",
    )
    return Operator(contract, reference)


OPERATORS = (_pool(avg_pool2d, "mean"), _pool(max_pool2d, "maximum", Criterion.EXACT))
