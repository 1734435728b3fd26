"""Families of input populations: which recipes are worth trying for an input, given its domain and landmarks.

A family writes down expressions; those that leave the input's domain are made positive (abs), or else dropped. So a
new family is one table row, and no family needs to know about domains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from strategies import populations
from strategies.contract import ContractError, Spec
from strategies.expressions import parse_recipe
from strategies.precision import DType, Precision, precision
from strategies.recipe import Recipe
from strategies.recipes import Abs, Alternating, Signed


class Family(Struct, frozen=True):
    """A row of `FAMILIES`. `expressions` lists the simplest first, for an input and its home format."""

    name: str
    doc: str
    expressions: Callable[[Spec, Precision], Iterable[str]]


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("default", "the recipe the operator's contract names", populations.default),
        Family("normal", "moderate values around 0 and 1", populations.normal),
        Family("uniform", "bounded values, the whole domain where it is bounded, even grids", populations.uniform),
        Family("magnitudes", "all binades alike, up to the format's whole range", populations.magnitudes),
        Family("offset", "mean far larger than the spread: subtracting the mean cancels", populations.offset),
        Family("constant", "all elements equal; the ends of the domain", populations.constant),
        Family("integers", "values whose sums and products are often exact", populations.integers),
        Family("sparse", "mostly zeros", populations.sparse),
        Family("tiny", "near underflow of x and of x*x; subnormal", populations.tiny),
        Family("huge", "near overflow of x and of x*x", populations.huge),
        Family("landmark", "within a few ulps, and within 1/64, of the contract's landmarks", populations.landmark),
        Family("special", "a few or many of +-0, +-inf, NaN", populations.special),
        Family("heavy", "a few elements far larger than the others", populations.heavy),
        Family("tails", "from the outermost landmarks on, and far from 0", populations.tails),
        Family("grid", "the active range, the range of exp and a bounded domain, covered densely", populations.grid),
        Family("edges", "beside the named edges of the format and the ends of binades", populations.edges),
        Family("ties", "results next to rounding midpoints: integers, square roots, reciprocals", populations.ties),
        Family("alternating", "neighbours that cancel in sums along an axis", populations.alternating),
        Family("matrices", "matrices of given condition; rows with one element", populations.matrices),
    )
}
"""Families by name, simplest first."""


def recipes_of(family: Family, spec: Spec, home: DType) -> tuple[Recipe, ...]:
    """The family's recipes for one input at `home` that stay inside its domain, simplest first, without repetition."""
    kept: dict[Recipe, None] = {}
    for expression in family.expressions(spec, precision(home)):
        recipe = parse_recipe(expression, (spec.name,))
        kept.update(dict.fromkeys([r for r in _forms(recipe) if fits(r, (spec,), home)][:1]))
    return tuple(kept)


def menus(spec: Spec, home: DType, families: Sequence[str]) -> dict[str, tuple[Recipe, ...]]:
    """The recipes for one input of each of `families` that has any. ContractError when none fits its domain."""
    found = {name: recipes for name in families if (recipes := recipes_of(FAMILIES[name], spec, home))}
    if not found:
        raise ContractError(
            f"no recipe of {', '.join(families)} stays in the domain [{spec.domain.low}, {spec.domain.high}] "
            f"of input {spec.name!r}: add the family 'default'"
        )
    return found


def menu(spec: Spec, home: DType, families: Sequence[str]) -> tuple[tuple[Recipe, ...], ...]:
    """`menus` without the names."""
    return tuple(menus(spec, home, families).values())


def fits(recipe: Recipe, specs: Sequence[Spec], home: DType) -> bool:
    """Whether the recipe exists at `home` and none of the inputs that it fills can leave its domain."""
    try:
        recipe.check(home, ())
    except ContractError:
        return False
    supports = recipe.supports(home)
    return all(s.domain.low <= low and high <= s.domain.high for s, (low, high) in zip(specs, supports, strict=True))


def _forms(recipe: Recipe) -> tuple[Recipe, ...]:
    """The recipe, and its positive form where that is still what the family is about."""
    if isinstance(recipe, Alternating):
        return (recipe,)
    return recipe, recipe.recipe if isinstance(recipe, Signed) else Abs(recipe.fills, recipe)
