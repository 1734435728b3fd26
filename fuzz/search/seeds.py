"""What a search starts from: draws of the families of recipes, and the ends and the middle of every binade."""

from __future__ import annotations

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
GRID_SHARE = 0.75
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
    """Keys of the points that the contract calls delicate, of zero, and of the ends of the format and the domain."""
    p = precision(home)
    points = [mark.at for mark in spec.landmarks if abs(mark.at) <= p.largest]
    points += [sign * edge for edge in (p.smallest_normal, p.largest, 1.0) for sign in (1.0, -1.0)]
    keys = [0, *(key_of(point, home) for point in points), *ends(spec, home)]
    return np.array(list(dict.fromkeys(keys)), np.int64)


def grid(specs: Sequence[Spec], home: DType, most: int, random: np.random.Generator) -> Keys:
    """Individuals of one number for each input: first, middle and last number of every binade, both signs, and the
    landmarks. Of more than one input, random combinations. At most `most` individuals, evenly chosen."""
    p = precision(home)
    step = 2 ** (p.digits - 1)
    binades = np.arange(p.maximum_exponent - p.minimum_exponent + 2, dtype=np.int64) * step
    inside = np.concatenate([binades, binades + step // 2, binades + step - 1])
    columns = []
    for spec in specs:
        low, high = ends(spec, home)
        keys = np.unique(np.concatenate([inside, -inside, landmarks(spec, home)]))
        columns.append(keys[(keys >= low) & (keys <= high)])
    if len(columns) == 1:
        (keys,) = columns
        chosen = keys[np.linspace(0, len(keys) - 1, min(most, len(keys))).astype(np.intp)] if most else keys[:0]
        return np.ascontiguousarray(chosen[:, None])
    count = min(most, sum(map(len, columns)))
    return np.stack([keys[random.integers(0, len(keys), count)] for keys in columns], axis=1)
