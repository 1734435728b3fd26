"""Simpler parameters, inputs drawn anew: a flat vector of simplification indices for Hypothesis' shrinker.

Index 0 is the simplest value of a parameter, the last one that of the case itself: dims along their menus, attributes,
recipes, the numbers of a schedule.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import structs

from fuzz.operators import operator
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.scheduled import schedule_of, with_schedule
from fuzz.shrinking.search import Found, Over, Search
from fuzz.targets import Target
from strategies import sizes
from strategies.contract import Contract, ContractError, Scalar, Spec
from strategies.expressions import parse_recipe
from strategies.problem import Problem, make_problem
from strategies.recipe import Recipe
from strategies.sampling import draw
from strategies.simplification import Indices, simplified

DRAWS = 2
"""Draws of a simpler problem that are tried: its failures may be rarer. More did not lead to smaller cases."""
EVALUATIONS = 250
"""Draws looked at in this phase at most: the elements need the rest."""


class Parameters:
    """What may be simpler about a problem as it was drawn. `problem.recipes` are those of the trial."""

    def __init__(self, problem: Problem, target: Target, seed: int, index: int) -> None:
        self._contract: Contract = operator(problem.operator).contract
        self._problem, self._target, self._seed = problem, target, seed
        self._indices = list(dict.fromkeys((index, *range(DRAWS))))[:DRAWS]
        dims = dict(problem.dims)
        self._dims = [(dim.name, _sizes(self._contract, dim.name, dims[dim.name])) for dim in self._contract.dims]
        known = dict(problem.attributes)
        self._attributes: list[tuple[str, tuple[Scalar, ...]]] = [
            (name, tuple(dict.fromkeys((spec.default, known[name])))) for name, spec in self._contract.attributes
        ]
        self._recipes = [_recipes(self._contract, recipe, problem.home) for recipe in problem.recipes]
        self._numbers = schedule_of(target)

    @property
    def original(self) -> Indices:
        """The vector of the case itself."""
        menus = [len(menu) for _, menu in self._dims] + [len(menu) for _, menu in self._attributes]
        menus += [len(menu) for menu in self._recipes]
        return (*(length - 1 for length in menus), *self._numbers)

    def drawn(self, vector: Indices) -> Iterator[Specimen]:
        """The first draws of what a vector stands for; none where that is no problem."""
        parts = iter(vector)
        dims = {name: menu[next(parts)] for name, menu in self._dims}
        attributes = {name: menu[next(parts)] for name, menu in self._attributes}
        recipes = [menu[next(parts)] for menu in self._recipes]
        target = with_schedule(self._target, tuple(parts))
        try:
            problem = make_problem(
                self._contract,
                dims=sizes.fitted(self._contract, dims),
                home=self._problem.home,
                recipes=recipes,
                attributes=attributes,
            )
            for index in self._indices:
                arrays = {
                    name: np.empty(shape, np.dtype(problem.home))
                    for name, shape in self._contract.shapes(dict(problem.dims), attributes).items()
                }
                draw(problem, self._contract, self._seed, index, arrays)
                yield Specimen(problem, target, arrays)
        except ContractError:  # given arrays have one shape; a recipe may need more elements
            return


def simplify_parameters(search: Search, problem: Problem, seed: int, index: int) -> None:
    """Let Hypothesis shrink the vector of the best case; its failing draw is the best case from then on.

    `problem` has the recipes of the trial; the dims, attributes and target are those of the best case.
    """
    specimen = search.best.specimen
    current = structs.replace(problem, dims=specimen.problem.dims, attributes=specimen.problem.attributes)
    current = structs.replace(current, home=specimen.target.dtype)
    parameters = Parameters(current, specimen.target, seed, index)
    original = parameters.original
    found: dict[Indices, Found] = {}
    most = search.evaluations + EVALUATIONS
    over: list[Over] = []

    def holds(vector: Indices) -> bool:
        if over or search.evaluations >= most:
            return False
        try:
            for drawn in parameters.drawn(vector):
                if (one := search.look(drawn)) is not None:
                    found[vector] = one
                    return True
        except Over as end:
            over.append(end)
        return False

    simplest = simplified(original, holds)
    if simplest in found:
        search.keep(found[simplest])
    if over:
        raise over[0]


def _sizes(contract: Contract, name: str, size: int) -> tuple[int, ...]:
    dim = next(d for d in contract.dims if d.name == name)
    return (*(n for n in sizes.menu(dim) if n < size), size)


def _recipes(contract: Contract, recipe: Recipe, home: str) -> tuple[Recipe, ...]:
    """Ones, the operator's usual population, and the recipe of the trial."""
    if len(recipe.fills) > 1:
        return (recipe,)
    spec = contract.input(recipe.fills[0])
    simpler = (parse_recipe(text, recipe.fills) for text in ("constant(1)", spec.default))
    return tuple(dict.fromkeys((*(r for r in simpler if _fits(r, spec, home)), recipe)))


def _fits(recipe: Recipe, spec: Spec, home: str) -> bool:
    low, high = recipe.support(home)
    return spec.domain.low <= low and high <= spec.domain.high
