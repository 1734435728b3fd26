"""Products of matrices beyond one: batched, and the dense layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from strategies.contract import Contract, Cost, DimSpec, Spec


def batch_matmul(a: Any, b: Any) -> Any:
    return np.matmul(a, b)


def dense(x: Any, w: Any, bias: Any) -> Any:
    """x w^T + bias."""
    return np.matmul(x, np.transpose(w)) + bias


OPERATORS = (
    Operator(
        Contract(
            operator="batch_matmul",
            doc="product of each pair of matrices",
            dims=(
                DimSpec("B", batch=True, minimum=1),
                DimSpec("M", batch=True, minimum=1),
                DimSpec("K", reduced=True, minimum=1),
                DimSpec("N", batch=True, minimum=1),
            ),
            inputs=(Spec("a", ("B", "M", "K")), Spec("b", ("B", "K", "N"))),
            outputs=(Spec("c", ("B", "M", "N")),),
            cost=Cost(((2.0, ("B", "M", "K", "N")),)),
            nonfinite="IEEE 754-2019 by the formula: 0 * inf inside a product is NaN",
        ),
        batch_matmul,
    ),
    Operator(
        Contract(
            operator="dense",
            doc="x w^T + bias",
            dims=(
                DimSpec("M", batch=True, minimum=1),
                DimSpec("K", reduced=True, minimum=1),
                DimSpec("N", batch=True, minimum=1),
            ),
            inputs=(Spec("x", ("M", "K")), Spec("w", ("N", "K")), Spec("bias", ("N",))),
            outputs=(Spec("y", ("M", "N")),),
            cost=Cost(((2.0, ("M", "K", "N")),)),
            nonfinite="IEEE 754-2019 by the formula: 0 * inf inside a product is NaN",
        ),
        dense,
    ),
)
