"""Builders of elementwise contracts: every input and the output have one dim, n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.operators.base import Operator
from strategies.contract import AttributeSpec, Contract, Cost, Criterion, DimSpec, Domain, Landmark, Spec

DIMS = (DimSpec("n", batch=True),)
NONNEGATIVE, UNIT, SIGNED_UNIT = Domain(low=0.0), Domain(0.0, 1.0), Domain(-1.0, 1.0)

ANNEX_F = "C17 annex F.10"
"""Special values of mathematical functions, where IEEE 754 names none."""


def landmarks(*points: tuple[float, str]) -> tuple[Landmark, ...]:
    """Landmarks from (where, what) pairs."""
    return tuple(Landmark(at, what) for at, what in points)


def unary(
    operator: str,
    doc: str,
    reference: Callable[..., Any],
    cost: float,
    nonfinite: str,
    *points: tuple[float, str],
    domain: Domain = Domain(),  # noqa: B008  (frozen)
    range_: Domain = Domain(),  # noqa: B008
    default: str = "normal(0,1)",
    criterion: Criterion = Criterion.FORWARD_BOUND,
    attributes: tuple[tuple[str, AttributeSpec], ...] = (),
    gradient: Callable[..., Any] | None = None,
) -> Operator:
    """y = f(x). `cost` in floating-point operations an element; `points` are the landmarks of x; every finite y lies in
    `range_`. `gradient` as in Operator."""
    contract = Contract(
        operator=operator,
        doc=doc,
        dims=DIMS,
        inputs=(Spec("x", ("n",), domain, landmarks(*points), default),),
        outputs=(Spec("y", ("n",), range_),),
        cost=Cost(((cost, ("n",)),)),
        attributes=attributes,
        criterion=criterion,
        nonfinite=nonfinite,
    )
    return Operator(contract, reference, gradient)


def binary(
    operator: str,
    doc: str,
    reference: Callable[..., Any],
    nonfinite: str,
    *points: tuple[float, str],
    second: tuple[tuple[float, str], ...] = (),
) -> Operator:
    """An operation of IEEE 754 on x and y, correctly rounded; result z. `second` are the landmarks of y."""
    contract = Contract(
        operator=operator,
        doc=doc,
        dims=DIMS,
        inputs=(
            Spec("x", ("n",), landmarks=landmarks(*points)),
            Spec("y", ("n",), landmarks=landmarks(*second)),
        ),
        outputs=(Spec("z", ("n",)),),
        cost=Cost(((1.0, ("n",)),)),
        criterion=Criterion.CORRECTLY_ROUNDED,
        nonfinite=nonfinite,
    )
    return Operator(contract, reference)
