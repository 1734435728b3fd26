"""One island of the plan `search`: what is searched, with how many evaluations, and which problems come out of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from fuzz.campaigns.drawing import FRESH
from fuzz.execution import NoBreadcrumb, Outcome, Run, execute
from fuzz.plan import Hunt
from fuzz.search.anatomy import anatomy
from fuzz.search.evolution import Champion, Evolution
from fuzz.search.keys import Keys, key_of, values_of
from fuzz.search.objective import Kind, Objective
from fuzz.search.seeds import ends
from fuzz.targets import Target
from fuzz.trial import Cell
from fuzz.workbench import Bench
from strategies.contract import Contract
from strategies.given import STORE
from strategies.precision import precision
from strategies.problem import Problem
from strategies.recipes import Constant, Recipe, Uniform
from strategies.sampling import stream

RULE = "search-1"
"""Name of the rule from (problem, targets, seed) to champions, kernels being the same. A new rule gets a new name."""
Arrays = Mapping[str, Any]


def evolve(
    bench: Bench,
    targets: Sequence[Target],
    kind: Kind,
    evaluations: int,
    seed: int,
    run: Run,
    without: Collection[int] = (),
    watch: Callable[[Arrays], None] = lambda arrays: None,
) -> Evolution:
    """A finished search for the problem shape of `bench`. `watch` sees the inputs of every evaluation before it."""
    a = anatomy(bench)
    objective = Objective(bench, targets, run, kind, without)
    random = stream(RULE, seed, evaluations, bench.problem.id)
    found = Evolution(bench.contract, bench.problem, a, objective, len(targets), evaluations, seed, random, watch)
    found.run()
    return found


def hunted(
    bench: Bench,
    cell: Cell,
    hunt: Hunt,
    run: Run,
    killers: Mapping[int, Arrays],
    watch: Callable[[Arrays], None] = lambda arrays: None,
) -> list[Problem]:
    """The problems of the island: for each target its champion, then FRESH times the population it stems from.

    `bench` is that of the cell's problem. `killers`: inputs that ended a worker, by target. Such a target takes no
    part, and these inputs are its champion. Where no input had any error, the cell's own problem takes the place of
    both.
    """
    problem = cell.problem
    found = evolve(bench, cell.targets, Kind.RHO, hunt.evaluations, hunt.seed, run, killers, watch)
    listed: list[Problem] = []
    for target, champion in enumerate(found.champions):
        one, population = problem, problem
        if target in killers:
            one = _given(problem, killers[target])
        elif champion.score > 0:
            arrays = {name: array.copy() for name, array in found.arrays(champion).items()}
            one = _given(problem, arrays)
            population = structs.replace(problem, recipes=_population(bench.contract, problem, found, champion))
        listed += [one, *[population] * FRESH]
    return listed


def save_given(problems: Sequence[Problem], folder: str) -> None:
    """Write the arrays of the champions."""
    for recipe in {recipe for problem in problems for recipe in problem.recipes}:
        if (content := getattr(recipe, "content", None)) is not None:
            STORE.save(folder, content, STORE.resolve(content))


def run_in_process(bench: Bench, target: Target, purpose: str) -> Outcome:
    """Run a kernel where nobody picks up the pieces."""
    crumb = NoBreadcrumb()
    return execute(bench, target, purpose, lambda stage: crumb.mark(0, 0, stage, purpose), crumb.clear)


def _given(problem: Problem, arrays: Arrays) -> Problem:
    return structs.replace(problem, recipes=tuple(STORE.add(array, name) for name, array in arrays.items()))


def _population(contract: Contract, problem: Problem, found: Evolution, champion: Champion) -> tuple[Recipe, ...]:
    """What the champion is one of. Where it is a number of each input, the numbers of its binades; else the recipes
    that it began as."""
    columns = [found.anatomy.columns[spec.name] for spec in contract.inputs]
    if not found.anatomy.pointwise:
        return found.recipes[champion.origin]
    genes = champion.genes[champion.individual]
    return tuple(
        _binade(spec.name, int(genes[at[0]]), problem.home, ends(spec, problem.home))
        for spec, at in zip(contract.inputs, columns, strict=True)
    )


def _binade(name: str, key: int, home: str, limits: tuple[int, int]) -> Recipe:
    """Numbers with the sign and the exponent of one, inside the domain. Of zero, zero."""
    p = precision(home)
    step = 2 ** (p.digits - 1)
    first = abs(key) // step * step
    ends_ = sorted(int(math.copysign(1, key)) * k for k in (first, min(first + step - 1, key_of(p.largest, home))))
    keys: Keys = np.clip(np.array(ends_, np.int64), *limits)
    low, high = (float(value) for value in values_of(keys, home))
    return Constant((name,), 0.0) if key == 0 else Uniform((name,), low, high)
