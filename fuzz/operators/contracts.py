"""Pieces that several families of array operators share."""

from __future__ import annotations

from strategies.contract import AttributeSpec, Contract, Cost, Criterion, DimSpec, Domain, Spec

MATRIX = ("rows", "n")
PROPAGATES = "NaN in the slice makes the result NaN (array API standard 2024.12, statistical functions)"


def along_axis(
    operator: str,
    doc: str,
    cost: float,
    *,
    output: tuple[str, ...] = ("rows",),
    least: int = 1,
    attributes: tuple[tuple[str, AttributeSpec], ...] = (),
    nonfinite: str = PROPAGATES,
    criterion: Criterion = Criterion.FORWARD_BOUND,
    range_: Domain = Domain(),  # noqa: B008  (frozen)
    unspecified: tuple[tuple[str, str], ...] = (),
) -> Contract:
    """Contract of an operator of x(rows, n) along an axis: either dim may be the long one. Every finite y lies in
    `range_`."""
    axis = AttributeSpec(-1, "axis the operator works along", usual=(-1,), unusual=(0,), choices=(-1, 0))
    return Contract(
        operator=operator,
        doc=doc,
        dims=(
            DimSpec("rows", batch=True, reduced=True, minimum=least),
            DimSpec("n", batch=True, reduced=True, minimum=least),
        ),
        inputs=(Spec("x", MATRIX),),
        outputs=(Spec("y", output, range_),),
        cost=Cost(((cost, MATRIX),)),
        attributes=(("axis", axis), *attributes),
        criterion=criterion,
        nonfinite=nonfinite,
        unspecified=unspecified,
    )
