"""Hypothesis strategies for problems, from the contract alone, and for schedules.

Only bounded integers and sampled_from are drawn, and nothing is rejected: the same strategies serve a user's own
`@given`, the exploring plan, and (through `strategies.iid`) independent sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from strategies import families as populations
from strategies import sizes
from strategies.contract import AttributeSpec, Contract, ContractError, Scalar
from strategies.moves import MOST, MOVES, spelled
from strategies.precision import PRECISIONS, DType
from strategies.problem import Problem, complete, make_problem
from strategies.recipe import Recipe

USUAL_MOVES = 12
"""Most moves of a schedule drawn: half of them find no place in a small function."""
PLACES = 64
"""Places and values that a move is drawn from, more than most functions have."""
EMPTY_ONE_IN = 32
"""One problem in so many has a dim of size 0 (where the contract allows it): a corner worth a visit, not a stay."""


def problems(
    contract: Contract,
    *,
    home: DType = "float32",
    families: Sequence[str] | None = None,
    budget: float = sizes.BUDGET,
    dims: Mapping[str, int] | None = None,
    attributes: Mapping[str, Scalar] | None = None,
) -> SearchStrategy[Problem]:
    """Problems that keep `contract`, at `home`; shrinks to small dims, default attributes and default recipes.

    families: names of `strategies.families.FAMILIES` (default: all), simplest first. budget: most operations, and
    elements, of a problem. dims, attributes: fix all sizes, all attributes (those not named at their defaults), instead
    of drawing them: a new shape or attribute costs every target a compilation.
    Raises ContractError at once for an unknown dtype, family or attribute, or when no family suits an input.
    """
    if home not in PRECISIONS:
        raise ContractError(f"unknown dtype {home!r}: use one of {', '.join(PRECISIONS)}")
    names = tuple(populations.FAMILIES if families is None else families)
    for name in names:
        if name not in populations.FAMILIES:
            raise ContractError(f"unknown family {name!r}: use one of {', '.join(populations.FAMILIES)}")
    menus = tuple(populations.menu(spec, home, names) for spec in contract.inputs)
    sized = shapes(contract, budget=budget) if dims is None else st.just(dict(dims))
    chosen = settings(contract) if attributes is None else st.just(dict(complete(contract, attributes)))
    return _problems(contract, home, sized, chosen, menus)


@st.composite
def shapes(draw: DrawFn, contract: Contract, *, budget: float = sizes.BUDGET) -> dict[str, int]:
    """Sizes of the contract's dims within `budget`; now and then one of them is 0."""
    drawn = {dim.name: draw(st.sampled_from(sizes.menu(dim))) for dim in contract.dims}
    drawn = sizes.within(contract, drawn, budget)
    may_be_empty = [dim.name for dim in contract.dims if dim.minimum == 0]
    if may_be_empty and draw(st.integers(0, EMPTY_ONE_IN - 1)) == EMPTY_ONE_IN - 1:
        drawn[draw(st.sampled_from(may_be_empty))] = 0
    return drawn


@st.composite
def settings(draw: DrawFn, contract: Contract) -> dict[str, Scalar]:
    """Values of all attributes of the contract, each drawn from those worth trying (`values`)."""
    return {name: draw(st.sampled_from(values(spec))) for name, spec in contract.attributes}


@st.composite
def _problems(
    draw: DrawFn,
    contract: Contract,
    home: DType,
    sized: SearchStrategy[dict[str, int]],
    chosen: SearchStrategy[dict[str, Scalar]],
    menus: tuple[tuple[tuple[Recipe, ...], ...], ...],
) -> Problem:
    dims = draw(sized)
    attributes = draw(chosen)
    recipes = [draw(st.sampled_from(draw(st.sampled_from(menu)))) for menu in menus]
    return make_problem(contract, dims=dims, home=home, recipes=recipes, attributes=attributes)


def schedules(*, least: int = 0, most: int = USUAL_MOVES) -> SearchStrategy[str]:
    """Spellings of schedules (strategies.moves) of `least` to `most` moves; shrinks to "", the program as it is.

    Each is legal for every program, as `tvm:llvm[schedule=...]`. Raises ContractError for bounds that do not fit.
    """
    if not 0 <= least <= most <= MOST:
        raise ContractError(f"schedules of {least} to {most} moves: use bounds from 0 to {MOST}")
    move = st.tuples(st.integers(1, len(MOVES) - 1), st.integers(0, PLACES - 1), st.integers(0, PLACES - 1))
    return st.lists(move, min_size=least, max_size=most).map(
        lambda moves: spelled([number for move in moves for number in move])
    )


def values(spec: AttributeSpec) -> tuple[Scalar, ...]:
    """Values to try for an attribute: its default, then the usual, the unusual and the allowed ones, each once."""
    listed = (spec.default, *spec.usual, *spec.unusual, *spec.choices)
    if isinstance(spec.default, bool):
        listed = (*listed, not spec.default)
    coerced = (spec.coerce(value, "a value of the contract") for value in listed)
    return tuple(dict.fromkeys(coerced))
