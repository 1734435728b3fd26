"""Operators by name: one module a family, one line here, an entry point, or a file given with --extension."""

from __future__ import annotations

from fuzz.errors import UserError, unknown
from fuzz.operators import (
    activations,
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
    )
    for operator in family.OPERATORS
}


def operator(name: str) -> Operator:
    """The operator called `name`; UserError with the nearest name otherwise."""
    if name not in OPERATORS:
        raise unknown("operator", name, OPERATORS)
    return OPERATORS[name]


def register(added: Operator) -> None:
    """Make a third party's operator known. Its name must be new."""
    if added.name in OPERATORS and OPERATORS[added.name] is not added:
        raise UserError(f"operator {added.name!r} exists already: give yours another name")
    OPERATORS[added.name] = added
