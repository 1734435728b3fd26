"""Contractions that libraries offer as einsum, an operator for each equation: dims are its letters.

A contraction of more than two operands has no order of its own. The references multiply before they sum over more than
one letter, so that the bound is that of the sum of the magnitudes of all products: it holds for every order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.equations import EQUATIONS
from fuzz.operators.base import Operator
from strategies.contract import Contract, Cost, DimSpec, Spec

_FORMULA = "IEEE 754-2019 by the formula: 0 * inf inside a product is NaN"
_ORDERS = "; what overflows, underflows or meets an infinity in some order of multiplication is not judged"
_OPEN = ("inf", "huge", "tiny")
"""Elements of which a product with another may leave the range, be it a sum's term in one order or none in another."""


def einsum_low_rank(x: Any, e: Any, s: Any) -> Any:
    """The sum over r first: s is a factor of each result."""
    y = np.matmul(np.transpose(x, (0, 1, 3, 2)), e)
    return np.transpose(y, (0, 1, 3, 2)) * s


def einsum_bilinear(x: Any, w: Any, y: Any) -> Any:
    return np.sum(x[:, None, :, None] * w * y[:, None, None, :], axis=(2, 3))


def einsum_scores(q: Any, k: Any) -> Any:
    return np.matmul(np.transpose(q, (0, 2, 1, 3)), np.transpose(k, (0, 2, 3, 1)))


def einsum_outer(x: Any, y: Any) -> Any:
    return x[:, :, None] * y[:, None, :]


def _operator(reference: Any, doc: str, names: str, batch: str) -> Operator:
    """`names` of the operands in the equation's order, `batch` its independent letters."""
    equation = EQUATIONS[reference.__name__]
    operands, _, result = equation.partition("->")
    several = len(names.split()) > 2
    letters = sorted(set(equation) - set(",->"), key=equation.index)
    dims = (DimSpec(n.upper(), reduced=n not in result, batch=n in batch, minimum=1) for n in letters)
    contract = Contract(
        operator=reference.__name__,
        doc=f"{doc}: {equation}",
        dims=tuple(dims),
        inputs=tuple(Spec(n, tuple(o.upper())) for n, o in zip(names.split(), operands.split(","), strict=True)),
        outputs=(Spec("z", tuple(result.upper())),),
        cost=Cost(((2.0, tuple(n.upper() for n in letters)),)),
        nonfinite=_FORMULA + (_ORDERS if several else ""),
        unspecified=tuple((n, kind) for n in names.split() for kind in _OPEN) if several else (),
    )
    return Operator(contract, reference)


OPERATORS = (
    _operator(einsum_low_rank, "a sum and a scale", "x e s", "bt"),
    _operator(einsum_bilinear, "bilinear form for each output", "x w y", "b"),
    _operator(einsum_scores, "attention scores of each head", "q k", "bh"),
    _operator(einsum_outer, "outer product of each pair", "x y", "b"),
)
