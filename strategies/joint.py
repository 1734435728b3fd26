"""Families of joint recipes: what is worth trying for two inputs together, from shapes and domains alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from strategies.contract import Contract, Spec
from strategies.expressions import parse_recipe
from strategies.families import fits
from strategies.modifiers import Modifier
from strategies.precision import DType, Precision, precision
from strategies.recipe import Recipe
from strategies.recipes import Abs


class JointFamily(Struct, frozen=True):
    """A row of `JOINT_FAMILIES`. `expressions` lists what suits two inputs of a contract, the simplest first."""

    name: str
    doc: str
    expressions: Callable[[Contract, Spec, Spec, Precision], Iterable[str]]


def _close(p: Precision) -> str:
    """A few ulps."""
    return repr(4 * p.unit_roundoff)


def _opposite(contract: Contract, first: Spec, second: Spec, p: Precision) -> Iterable[str]:
    if (axis := lies_along(first, second)) is not None:
        yield f"cancelling(normal(0,1),0.001,{axis})"
        yield f"cancelling(normal(0,1),{_close(p)},{axis})"
        yield f"cancelling(signed(loguniform(0.001,1000)),0,{axis})"
        yield f"cancelling(offset(1e4),0.001,{axis})"


def _alike(contract: Contract, first: Spec, second: Spec, p: Precision) -> Iterable[str]:
    if (axis := lies_along(first, second)) is not None:
        yield f"alike(normal(0,1),0.001,{axis})"
        yield f"alike(normal(0,1),{_close(p)},{axis})"
        yield f"alike(signed(loguniform(1e-9,1e9)),{_close(p)},{axis})"
        yield from (f"alike(offset({size}),0.001,{axis})" for size in ("1e2", "1e4", "1e6"))


def _terms(contract: Contract, first: Spec, second: Spec, p: Precision) -> Iterable[str]:
    if contract.inputs.index(first) > contract.inputs.index(second):
        return  # the other order says the same
    for i, j in contracted(contract, first, second):
        yield f"cancelling_terms(normal(0,1),0.001,{i},{j})"
        yield f"cancelling_terms(normal(0,1),{_close(p)},{i},{j})"
        yield f"cancelling_terms(signed(loguniform(0.001,1000)),0,{i},{j})"


def _quotients(contract: Contract, first: Spec, second: Spec, p: Precision) -> Iterable[str]:
    if first.dims == second.dims:
        yield from ("quotient_ties(0)", "quotient_ties(15)", "signed(quotient_ties(15))")


JOINT_FAMILIES: dict[str, JointFamily] = {
    family.name: family
    for family in (
        JointFamily("opposite", "two inputs whose sum cancels, also where one is repeated along the other", _opposite),
        JointFamily("alike", "two inputs whose difference cancels and whose quotient is about 1; one offset", _alike),
        JointFamily("terms", "two inputs whose products cancel in pairs where they are summed", _terms),
        JointFamily("quotients", "two inputs of one shape whose quotient is next to a rounding midpoint", _quotients),
    )
}
"""Joint families by name, simplest first; no name is one of `FAMILIES`."""


def joint_menus(contract: Contract, home: DType, families: Sequence[str]) -> dict[str, tuple[Recipe, ...]]:
    """The joint recipes of each of `families` that has any for a pair of the contract's inputs."""
    found = {name: _recipes_of(JOINT_FAMILIES[name], contract, home) for name in families}
    return {name: recipes for name, recipes in found.items() if recipes}


def lies_along(first: Spec, second: Spec) -> int | None:
    """The axis of `first` from which on it has the dims of `second`, in order; None where it has not."""
    count = len(second.dims)
    starts = range(len(first.dims) - count + 1 if count else 0)
    return next((start for start in starts if first.dims[start : start + count] == second.dims), None)


def contracted(contract: Contract, first: Spec, second: Spec) -> list[tuple[int, int]]:
    """Axes of both inputs with a dim that no output has: their products are summed along it."""
    kept = {name for output in contract.outputs for name in output.dims}
    return [
        (i, second.dims.index(name)) for i, name in enumerate(first.dims) if name in second.dims and name not in kept
    ]


def _recipes_of(family: JointFamily, contract: Contract, home: DType) -> tuple[Recipe, ...]:
    kept: dict[Recipe, None] = {}
    for pair in itertools.permutations(contract.inputs, 2):
        if pair[0].dims == pair[1].dims and contract.inputs.index(pair[0]) > contract.inputs.index(pair[1]):
            continue  # the other order says the same
        for expression in family.expressions(contract, *pair, precision(home)):
            recipe = parse_recipe(expression, tuple(spec.name for spec in pair))
            kept.update(dict.fromkeys([r for r in _forms(recipe) if fits(r, pair, home)][:1]))
    return tuple(kept)


def _forms(recipe: Recipe) -> tuple[Recipe, ...]:
    """The recipe, and for domains of one sign the same with a positive inner population."""
    if not isinstance(recipe, Modifier):
        return (recipe,)
    inner = recipe.recipe
    return recipe, structs.replace(recipe, recipe=Abs(inner.fills, inner))
