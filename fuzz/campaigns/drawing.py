"""Plans whose problems are drawn: what each shard has, as a pure function of seed, operator, dtype and number."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from random import Random

from msgspec import Struct

from fuzz.operators import operator
from fuzz.search.island import island
from strategies.contract import Contract, Scalar
from strategies.precision import DType
from strategies.problem import Problem, make_problem
from strategies.standard import standard_dims

SURVEY, EXPLORE, SEARCH = "survey", "explore", "search"

SURVEY_CHUNK = 20
"""Problems a shard of a survey: at 0.3-1 s of compilation each."""
EXPLORE_CHUNK = 32
"""Problems of one shape, a shard of an exploration: on all backends and both rungs of the precision ladder a shape
takes up to a second to compile, and a trial of it some 50 ms, as nearly every one climbs the ladder."""
FRESH = 8
"""Trials of a search with fresh draws of the population that a champion stems from: a champion is the largest of many
thousands, and says nothing of how often such inputs come up."""
EVALUATIONS = 2000
"""Sets of input arrays that an island of a search evaluates: some twenty seconds on five backends."""
ISLANDS = 4
"""Islands of an operator and dtype where the request names no end."""
SHAPES = 64
"""Shapes that the engine is asked for at a time: it begins with small ones, and seeks boundaries from then on."""


class Drawing(Struct, frozen=True):
    """How a plan draws. `draw(contract, home, seed, block, size)` gives the problems of one block."""

    chunk: int
    """Problems a block, unless the campaign says otherwise."""
    draw: Callable[[Contract, DType, int, int, int], Sequence[Problem]]
    alone: bool
    """Whether what a trial does depends on its number only, not on the block it is in."""
    by_target: bool = False
    """Whether a block has `chunk` trials for each target."""

    def size(self, targets: int) -> int:
        """Trials a block."""
        return self.chunk * targets if self.by_target else self.chunk


def _independent(contract: Contract, home: DType, seed: int, block: int, size: int) -> Sequence[Problem]:
    """Problems block*size, ... of one stream of independent ones: blocks of any size give the same stream."""
    from strategies.generation import problems
    from strategies.iid import independent

    return independent(problems(contract, home=home), seed, block, size)


def _explored(contract: Contract, home: DType, seed: int, block: int, size: int) -> Sequence[Problem]:
    """Inputs that Hypothesis' engine tries for one shape; from the first again where it finds no more."""
    from strategies.generation import problems
    from strategies.iid import explored

    dims, attributes = _shape(contract, seed, block)
    strategy = problems(contract, home=home, dims=dims, attributes=attributes)
    found = explored(strategy, seed, block, size)
    return [found[number % len(found)] for number in range(size)]


def _searched(contract: Contract, home: DType, seed: int, block: int, size: int) -> Sequence[Problem]:
    """What an island searches: one shape. The problems of its trials are known once it has been searched."""
    from strategies.expressions import parse_recipe

    dims, attributes = _shape(contract, seed, block)
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    problem = make_problem(contract, dims=island(contract, dims), home=home, recipes=recipes, attributes=attributes)
    return [problem] * size


DRAWN = {
    SURVEY: Drawing(SURVEY_CHUNK, _independent, alone=True),
    EXPLORE: Drawing(EXPLORE_CHUNK, _explored, alone=False),
    SEARCH: Drawing(1 + FRESH, _searched, alone=False, by_target=True),
}
"""Plans that draw their problems."""


@functools.lru_cache(maxsize=4)
def drawn(plan: str, name: str, home: DType, seed: int, block: int, size: int) -> tuple[Problem, ...]:
    """The problems of a block of a plan, for an operator at a home dtype."""
    return tuple(DRAWN[plan].draw(operator(name).contract, home, seed, block, size))


def _shape(contract: Contract, seed: int, block: int) -> tuple[dict[str, int], dict[str, Scalar]]:
    """Sizes and attributes of a block: the usual ones first, then what the engine tries, in an order without trend."""
    if block == 0:
        return standard_dims(contract), {name: spec.default for name, spec in contract.attributes}
    turn, place = divmod(block - 1, SHAPES)
    shapes = _shapes(contract, seed, turn)
    dims, attributes = shapes[place % len(shapes)]
    return dict(dims), dict(attributes)


@functools.lru_cache(maxsize=256)
def _shapes(contract: Contract, seed: int, turn: int) -> list[tuple[dict[str, int], dict[str, Scalar]]]:
    from hypothesis import strategies as st

    from strategies.generation import settings, shapes
    from strategies.iid import explored

    found = explored(st.tuples(shapes(contract), settings(contract)), seed, turn, SHAPES)
    Random(f"{seed}|{turn}").shuffle(found)  # a string seeds it by its SHA-512
    return found
