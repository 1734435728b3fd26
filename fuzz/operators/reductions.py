"""Sums and products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.operators.base import Operator
from strategies.contract import AttributeSpec, Contract, Cost, DimSpec, Spec

_AXIS = AttributeSpec(-1, "axis that is summed", usual=(-1,), unusual=(0,), choices=(-1, 0))


def matmul(a: Any, b: Any) -> Any:
    return np.matmul(a, b)


def sum_(x: Any, *, axis: int) -> Any:
    return np.sum(x, axis=axis)


OPERATORS = (
    Operator(
        Contract(
            operator="matmul",
            doc="matrix product",
            dims=(DimSpec("M", batch=True), DimSpec("K", reduced=True, minimum=1), DimSpec("N", batch=True)),
            inputs=(Spec("a", ("M", "K")), Spec("b", ("K", "N"))),
            outputs=(Spec("c", ("M", "N")),),
            cost=Cost(((2.0, ("M", "K", "N")),)),
        ),
        matmul,
    ),
    Operator(
        Contract(
            operator="sum",
            doc="sum along an axis",
            dims=(DimSpec("rows", batch=True, minimum=1), DimSpec("n", reduced=True, minimum=1)),
            inputs=(Spec("x", ("rows", "n")),),
            outputs=(Spec("y", ("rows",)),),
            cost=Cost(((1.0, ("rows", "n")),)),
            attributes=(("axis", _AXIS),),
        ),
        sum_,
    ),
)
