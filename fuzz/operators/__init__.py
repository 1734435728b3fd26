"""Operators by name: one module a family, one line here, an entry point, or a file given with --extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.errors import UserError, unknown
from fuzz.operators import (
    activations,
    chains,
    contractions,
    convolutions,
    elementary,
    logarithms,
    normalisation,
    pointwise,
    pools,
    products,
    rectifiers,
    reductions,
    statistics,
    statistics_norms,
)
from fuzz.operators.base import Operator

if TYPE_CHECKING:
    from fuzz.operators.gradients import Gradient

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for family in (
        normalisation,
        reductions,
        activations,
        elementary,
        pointwise,
        rectifiers,
        statistics,
        logarithms,
        statistics_norms,
        products,
        convolutions,
        pools,
        chains,
        contractions,
    )
    for operator in family.OPERATORS
}


_derived: dict[str, Gradient] = {}
"""Gradients asked for so far, by name."""


def operator(name: str) -> Operator:
    """The operator called `name`, or the gradient `NAME.grad` of one; UserError with the nearest name otherwise."""
    if name in OPERATORS:
        return OPERATORS[name]
    return gradient(name)


def gradient(name: str) -> Gradient:
    """The gradient called `name`: `softmax.grad`, or `dense.w.grad` with respect to some of the inputs only."""
    from fuzz.operators.gradients import forward_name, gradient_of, is_gradient

    whole, *wrt = forward_name(name).split(".")
    if wrt and is_gradient(forward_name(name)):
        raise UserError(f"{forward_name(name)} is a gradient already: second derivatives are not derived")
    if not is_gradient(name) or whole not in OPERATORS:
        raise unknown("operator", name, OPERATORS, listed_by="ulpfuzz list operators")
    forward = OPERATORS[whole]
    if name not in _derived or _derived[name].forward is not forward:
        _derived[name] = gradient_of(forward, wrt or None)
    return _derived[name]


def register(added: Operator) -> None:
    """Make a third party's operator known. Its name must be new."""
    if added.name in OPERATORS and OPERATORS[added.name] is not added:
        raise UserError(f"operator {added.name!r} exists already: give yours another name")
    OPERATORS[added.name] = added
