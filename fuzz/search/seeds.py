"""What a search starts from: draws of the families of recipes, and the ends and the middle of every binade."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from fuzz.search.anatomy import Anatomy
from fuzz.search.keys import Keys, key_of
from strategies.contract import Contract, Spec
from strategies.families import FAMILIES
from strategies.generation import problems
from strategies.iid import independent
from strategies.precision import DType, precision
from strategies.problem import Problem
from strategies.recipe import Recipe
from strategies.sampling import draw

SPECIAL = "special"
"""The family of NaN and infinities: they have no error of a size."""
NEAR_POWERS = 3
"""A landmark's neighbours on the grid are 1, 2, 4 ... numbers away, so many of them to either side."""
GRID_SHARE = 0.5
"""Of all individuals that a search may evaluate, those of the grid at most: the rest is left to climb."""


def populations(contract: Contract, problem: Problem, seed: int, chunk: int, size: int) -> list[tuple[Recipe, ...]]:
    """Recipes for the inputs of `problem`, drawn independently from the families."""
    families = [name for name in FAMILIES if name != SPECIAL]
    strategy = problems(contract, home=problem.home, families=families, dims=dict(problem.dims))
    return [found.recipes for found in independent(strategy, seed, chunk, size)]


def drawn(
    contract: Contract, problem: Problem, recipes: tuple[Recipe, ...], seed: int, into: Mapping[str, Any], a: Anatomy
) -> Keys:
    """Individuals of one draw."""
    draw(structs.replace(problem, recipes=recipes), contract, seed, 0, into)
    return a.read(into)


def ends(spec: Spec, home: DType) -> tuple[int, int]:
    """Least and largest key in the domain of an input; the finite numbers where it has no end."""
    p = precision(home)
    low, high = (key_of(min(max(end, -p.largest), p.largest), home) for end in (spec.domain.low, spec.domain.high))
    return low, high


def landmarks(spec: Spec, home: DType) -> NDArray[np.int64]:
    """Keys of the points that the contract calls delicate, of the edges of the format, both with either sign, of zero
    and of the ends of the domain; those inside it."""
    points = [mark.at for mark in spec.landmarks if abs(mark.at) <= precision(home).largest] + edges(home)
    keys = [sign * key_of(point, home) for point in points for sign in (1, -1)]
    return _inside(np.array([0, *ends(spec, home), *keys]), spec, home)


def edges(home: DType) -> list[float]:
    """Where a number, its square, its exponential or its reciprocal leaves the format, becomes subnormal or zero, or is
    lost beside 1."""
    p = precision(home)
    ranges = (p.largest, p.smallest_normal, p.smallest_subnormal, p.unit_roundoff)
    return [1.0, *ranges, *(math.sqrt(end) for end in ranges), *(math.log(end) for end in ranges)]


def grid(specs: Sequence[Spec], home: DType, most: int, random: np.random.Generator) -> Keys:
    """Individuals of one number for each input: the landmarks and numbers near to them, then first, middle and last
    number of every binade, both signs. Of more than one input, random combinations. At most `most` individuals, those
    of binades evenly chosen."""
    columns = [np.concatenate([_near(spec, home), _binades(spec, home)]) for spec in specs]
    if len(columns) > 1:
        count = min(most, sum(map(len, columns)))
        return np.stack([keys[random.integers(0, len(keys), count)] for keys in columns], axis=1)
    near, binades = _near(specs[0], home)[:most], _binades(specs[0], home)
    left = min(most - len(near), len(binades))
    chosen = binades[np.linspace(0, len(binades) - 1, left).astype(np.intp)]
    return np.concatenate([near, chosen])[:, None]


def _near(spec: Spec, home: DType) -> NDArray[np.int64]:
    steps = [sign * 2**power for power in range(NEAR_POWERS) for sign in (1, -1)]
    return _inside(np.concatenate([landmarks(spec, home) + step for step in (0, *steps)]), spec, home)


def _binades(spec: Spec, home: DType) -> NDArray[np.int64]:
    p = precision(home)
    step = 2 ** (p.digits - 1)
    firsts = np.arange(p.maximum_exponent - p.minimum_exponent + 2, dtype=np.int64) * step
    keys = np.concatenate([firsts, firsts + step // 2, firsts + step - 1])
    return _inside(np.concatenate([keys, -keys]), spec, home)


def _inside(keys: NDArray[np.int64], spec: Spec, home: DType) -> NDArray[np.int64]:
    low, high = ends(spec, home)
    return np.unique(keys[(keys >= low) & (keys <= high)])
