"""Families of input populations: which recipes are worth trying for an input, given its domain and landmarks.

A family writes down expressions; those that leave the input's domain are made positive (abs), or else dropped. So a
new family is one table row, and no family needs to know about domains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import Struct

from strategies.contract import ContractError, Spec
from strategies.expressions import parse_recipe
from strategies.precision import DType, Precision, precision
from strategies.recipe import Recipe
from strategies.recipes import Abs, Signed

NEAR_ULPS = 16
"""Half width of the interval around a landmark, in ulps of the landmark: a few numbers on either side."""


class Family(Struct, frozen=True):
    """A row of `FAMILIES`. `expressions` lists the simplest first, for an input and its home format."""

    name: str
    doc: str
    expressions: Callable[[Spec, Precision], Iterable[str]]


def _number(value: float) -> str:
    return repr(float(value))


def _inward(spec: Spec, p: Precision) -> tuple[float, float]:
    """The domain's ends as numbers of the format that lie inside it; infinite where it has no end."""
    low, high = (p.numpy.type(end) for end in (spec.domain.low, spec.domain.high))
    if float(low) < spec.domain.low:
        low = np.nextafter(low, p.numpy.type(math.inf))
    if float(high) > spec.domain.high:
        high = np.nextafter(high, p.numpy.type(-math.inf))
    return float(low), float(high)


def _default(spec: Spec, p: Precision) -> Iterable[str]:
    return (spec.default,)


def _normal(spec: Spec, p: Precision) -> Iterable[str]:
    return ("normal(0,1)", "normal(1,1)", "normal(0,0.01)", "normal(0,100)")


def _uniform(spec: Spec, p: Precision) -> Iterable[str]:
    low, high = _inward(spec, p)
    yield from ("uniform(0,1)", "uniform(-1,1)", "uniform(-100,100)", "ramp(-8,8)")
    if math.isfinite(low) and math.isfinite(high):
        yield f"uniform({_number(low)},{_number(high)})"
        yield f"ramp({_number(low)},{_number(high)})"
    elif math.isfinite(low):
        yield f"uniform({_number(low)},{_number(low + 1)})"
    elif math.isfinite(high):
        yield f"uniform({_number(high - 1)},{_number(high)})"


def _magnitudes(spec: Spec, p: Precision) -> Iterable[str]:
    for low, high in ((1e-3, 1e3), (1e-9, 1e9), (p.smallest_normal, p.largest)):
        yield f"signed(loguniform({_number(low)},{_number(high)}))"
    if (high := min(1.0, _inward(spec, p)[1])) > 1e-9:
        yield f"signed(loguniform(1e-9,{_number(high)}))"


def _offset(spec: Spec, p: Precision) -> Iterable[str]:
    return tuple(f"offset(1e{power})" for power in range(1, 8))


def _constant(spec: Spec, p: Precision) -> Iterable[str]:
    yield from ("constant(0)", "constant(1)", "constant(-1)", "constant(0.1)", "constant(1e4)")
    yield from (f"constant({_number(end)})" for end in _inward(spec, p) if math.isfinite(end))


def _integers(spec: Spec, p: Precision) -> Iterable[str]:
    return ("integers(0,1)", "integers(-8,8)", "integers(-1000,1000)", f"integers({-(2**p.digits)},{2**p.digits})")


def _sparse(spec: Spec, p: Precision) -> Iterable[str]:
    return ("sparse(normal(0,1),0.5)", "sparse(normal(0,1),0.9)", "sparse(normal(0,1),0.99)")


def _tiny(spec: Spec, p: Precision) -> Iterable[str]:
    yield f"signed(loguniform({_number(p.smallest_normal)},{_number(p.smallest_normal * 2.0**p.digits)}))"
    root = 2.0 ** (p.minimum_exponent // 2)  # squares underflow below it
    yield f"signed(loguniform({_number(root / 16)},{_number(root * 16)}))"
    yield "subnormal()"


def _huge(spec: Spec, p: Precision) -> Iterable[str]:
    root = 2.0 ** ((p.maximum_exponent + 1) // 2)  # squares overflow from here on
    yield f"signed(loguniform({_number(root / 16)},{_number(root * 16)}))"
    yield f"signed(loguniform({_number(p.largest / 4)},{_number(p.largest)}))"


def _landmark(spec: Spec, p: Precision) -> Iterable[str]:
    for landmark in spec.landmarks:
        at = landmark.at
        if math.isfinite(at) and abs(at) <= p.largest / 2:
            reach = NEAR_ULPS * max(abs(at) * 2.0 ** (1 - p.digits), p.smallest_subnormal)
            yield f"uniform({_number(at - reach)},{_number(at + reach)})"
            yield f"uniform({_number(at - abs(at) / 64)},{_number(at + abs(at) / 64)})"
            yield f"constant({_number(at)})"


def _special(spec: Spec, p: Precision) -> Iterable[str]:
    return ("special(normal(0,1),0.01)", "special(normal(0,1),0.5)")


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("default", "the recipe the operator's contract names", _default),
        Family("normal", "moderate values around 0 and 1", _normal),
        Family("uniform", "bounded values, the whole domain where it is bounded, even grids", _uniform),
        Family("magnitudes", "all binades alike, up to the format's whole range", _magnitudes),
        Family("offset", "mean far larger than the spread: subtracting the mean cancels", _offset),
        Family("constant", "all elements equal; the ends of the domain", _constant),
        Family("integers", "values whose sums and products are often exact", _integers),
        Family("sparse", "mostly zeros", _sparse),
        Family("tiny", "near underflow of x and of x*x; subnormal", _tiny),
        Family("huge", "near overflow of x and of x*x", _huge),
        Family("landmark", "within a few ulps, and within 1/64, of the points the contract calls delicate", _landmark),
        Family("special", "a few or many of +-0, +-inf, NaN", _special),
    )
}
"""Families by name, simplest first."""


def recipes_of(family: Family, spec: Spec, home: DType) -> tuple[Recipe, ...]:
    """The family's recipes for one input at `home` that stay inside its domain, simplest first, without repetition."""
    kept: dict[Recipe, None] = {}
    for expression in family.expressions(spec, precision(home)):
        recipe = parse_recipe(expression, (spec.name,))
        positive = recipe.recipe if isinstance(recipe, Signed) else Abs(recipe.fills, recipe)
        kept.update(dict.fromkeys([r for r in (recipe, positive) if _fits(r, spec, home)][:1]))
    return tuple(kept)


def menu(spec: Spec, home: DType, families: Sequence[str]) -> tuple[tuple[Recipe, ...], ...]:
    """Non-empty families of recipes for one input. ContractError when none of `families` fits its domain."""
    found = tuple(recipes for name in families if (recipes := recipes_of(FAMILIES[name], spec, home)))
    if not found:
        raise ContractError(
            f"no recipe of {', '.join(families)} stays in the domain [{spec.domain.low}, {spec.domain.high}] "
            f"of input {spec.name!r}: add the family 'default'"
        )
    return found


def _fits(recipe: Recipe, spec: Spec, home: DType) -> bool:
    """Whether the recipe exists at `home` and cannot leave the domain."""
    try:
        recipe.check(home, ())
    except ContractError:
        return False
    low, high = recipe.support(home)
    return spec.domain.low <= low and high <= spec.domain.high
