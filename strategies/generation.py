"""Hypothesis strategies for problems, from the contract alone, and for schedules.

Only bounded integers and sampled_from are drawn, and nothing is rejected: the same strategies serve a user's own
`@given`, the exploring plan, and (through `strategies.iid`) independent sampling.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from strategies import sizes
from strategies.choices import Choices, Way, choices
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


Homes: TypeAlias = DType | Sequence[DType] | SearchStrategy[DType]
"""A home dtype, several (the simplest first), or a strategy that draws one."""


def problems(
    contract: Contract,
    *,
    home: Homes = "float32",
    families: Sequence[str] | None = None,
    budget: float = sizes.BUDGET,
    dims: Mapping[str, int] | None = None,
    attributes: Mapping[str, Scalar] | None = None,
) -> SearchStrategy[Problem]:
    """Problems that keep `contract`; shrinks to small dims, default attributes, the first home and default recipes.

    families: names of `FAMILIES` and `JOINT_FAMILIES` (default: all), simplest first. budget: most operations, and
    elements, of a problem. dims, attributes: fix all sizes, all attributes (those not named at their defaults), instead
    of drawing them: a new shape or attribute costs every target a compilation.
    Raises ContractError at once for an unknown dtype, family or attribute, or when no family suits an input; for a
    dtype that a strategy draws, when it is drawn.
    """
    sized = shapes(contract, budget=budget) if dims is None else st.just(dict(dims))
    chosen = settings(contract) if attributes is None else st.just(dict(complete(contract, attributes)))

    @functools.cache
    def recipes(name: DType) -> SearchStrategy[tuple[Recipe, ...]]:
        if name not in PRECISIONS:
            raise ContractError(f"unknown dtype {name!r}: use one of {', '.join(PRECISIONS)}")
        return _recipes(choices(contract, name, families))

    if isinstance(home, SearchStrategy):
        homes = home
    else:
        names = (home,) if isinstance(home, str) else tuple(home)
        if not names:
            raise ContractError("problems need a home dtype: name at least one")
        for name in names:
            recipes(name)
        homes = st.sampled_from(names)
    return _problems(contract, homes, sized, chosen, recipes)


def shapes(contract: Contract, *, budget: float = sizes.BUDGET) -> SearchStrategy[dict[str, int]]:
    """Sizes of the contract's dims within `budget`; now and then one of them is 0."""
    return _shapes(contract, {name: st.sampled_from(menu) for name, menu in sizes.menus(contract).items()}, budget)


@st.composite
def _shapes(
    draw: DrawFn, contract: Contract, menus: Mapping[str, SearchStrategy[int]], budget: float
) -> dict[str, int]:
    drawn = sizes.within(contract, {name: draw(menu) for name, menu in menus.items()}, budget)
    may_be_empty = [dim.name for dim in contract.dims if dim.minimum == 0]
    if may_be_empty and draw(st.integers(0, EMPTY_ONE_IN - 1)) == EMPTY_ONE_IN - 1:
        drawn[draw(st.sampled_from(may_be_empty))] = 0
    return drawn


def settings(contract: Contract) -> SearchStrategy[dict[str, Scalar]]:
    """Values of all attributes of the contract, each drawn from those worth trying (`values`)."""
    return _settings({name: st.sampled_from(values(spec)) for name, spec in contract.attributes})


@st.composite
def _settings(draw: DrawFn, menus: Mapping[str, SearchStrategy[Scalar]]) -> dict[str, Scalar]:
    return {name: draw(menu) for name, menu in menus.items()}


@st.composite
def _problems(
    draw: DrawFn,
    contract: Contract,
    homes: SearchStrategy[DType],
    sized: SearchStrategy[dict[str, int]],
    chosen: SearchStrategy[dict[str, Scalar]],
    recipes: Callable[[DType], SearchStrategy[tuple[Recipe, ...]]],
) -> Problem:
    dims = draw(sized)
    attributes = draw(chosen)
    home = draw(homes)
    return make_problem(contract, dims=dims, home=home, recipes=draw(recipes(home)), attributes=attributes)


def _recipes(offered: Choices) -> SearchStrategy[tuple[Recipe, ...]]:
    """One recipe for each input, or one for two of them; the chances are those of `strategies.choices.chances`."""
    apart = [_one_of(menu.values()) for menu in offered.apart]
    together = [st.tuples(*(st.sampled_from(menu[family]) for menu in offered.apart)) for family in offered.together]
    instead = {Way.APART: st.just(()), Way.TOGETHER: st.one_of(*together), Way.JOINT: _joint(offered)}
    return _chosen(st.tuples(*apart), st.sampled_from(offered.ways), instead)


@st.composite
def _chosen(
    draw: DrawFn,
    apart: SearchStrategy[tuple[Recipe, ...]],
    ways: SearchStrategy[Way],
    instead: Mapping[Way, SearchStrategy[tuple[Recipe, ...]]],
) -> tuple[Recipe, ...]:
    """Every input apart, then what takes its place: fewer choices are simpler to Hypothesis, so it shrinks to these."""
    recipes = draw(apart)
    taken = draw(instead[draw(ways)])
    filled = {name for recipe in taken for name in recipe.fills}
    return (*taken, *(recipe for recipe in recipes if recipe.fills[0] not in filled))


def _joint(offered: Choices) -> SearchStrategy[tuple[Recipe, ...]]:
    return st.tuples(_one_of(offered.joint.values()))


def _one_of(families: Iterable[Sequence[Recipe]]) -> SearchStrategy[Recipe]:
    """A family, then one of its recipes: all families are equally likely."""
    return st.one_of(*(st.sampled_from(recipes) for recipes in families))


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
