"""The short-reduction probe: does an error survive where reductions have at most two terms?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import structs

from fuzz.backends.base import Array
from fuzz.execution import LADDER, Failure, Run
from fuzz.judging.judge import Probe
from fuzz.judging.ladder import draw_normal
from fuzz.targets import Target
from fuzz.thresholds import FLAG, LOW_PRECISION_ELEMENTS
from fuzz.workbench import Bench, Rung
from strategies.given import STORE, Given
from strategies.precision import DType
from strategies.problem import Problem
from strategies.recipe import Recipe
from strategies.sampling import draw
from strategies.sizes import fitted

SHORT = 2


def shortened(bench: Bench) -> Problem | None:
    """The same problem with reduced dims cut to two; None when no choice of one or all dims shortens the reductions."""
    dims = dict(bench.problem.dims)
    least = {dim.name: max(dim.minimum, 1) for dim in bench.contract.dims}
    reducible = [name for name, size in dims.items() if size > SHORT]
    choices = [{name: SHORT} for name in reducible] + [dict.fromkeys(reducible, SHORT)]
    longer_than_one = [name for name, size in dims.items() if size > 1]
    choices += [dict.fromkeys(longer_than_one, 1) | {name: SHORT} for name in longer_than_one]  # dims summed together
    for chosen in choices:
        short = dims | {name: max(size, least[name]) for name, size in chosen.items()}
        short = fitted(bench.contract, short)
        attributes = dict(bench.problem.attributes)
        program = bench.operator.program(bench.contract.shapes(short, attributes), attributes)
        if max(program.reduction_lengths(), default=0) <= SHORT:
            return structs.replace(bench.problem, dims=tuple(sorted(short.items())))
    return None


Check = Callable[[Bench, Rung, int], object]
"""Certifies the truth of one output of a rung, and raises where it is wrong."""


def probe(
    bench: Bench, short: Bench, target: Target, output: int, seed: int, index: int, run: Run, check: Check
) -> Probe | Failure:
    """Run `target` on the shortened problem `short`, on the same kind of data and on N(0,1).

    In the ladder's buffers: a problem that is short already is the trial's own, whose inputs and truth must stay.
    """
    rung = short.rung(target.dtype, LADDER)
    try:
        draw(_drawable(short.problem, short, target.dtype), short.contract, seed, index, rung.arena.arrays)
    except ValueError as error:  # a recipe may need more elements
        return Failure("unsupported", str(error))
    same = _rho(short, rung, target, output, run, check)
    draw_normal(short, rung, seed, index)
    benign = _rho(short, rung, target, output, run, check)
    if isinstance(same, Failure):
        return same
    if isinstance(benign, Failure):
        return benign
    share = float(np.mean(benign > FLAG)) if benign.size else 0.0
    return Probe(float(same.max(initial=0.0)), float(benign.max(initial=0.0)), share)


def _drawable(problem: Problem, short: Bench, dtype: DType) -> Problem:
    """The problem at `dtype`, its given arrays, which have one shape, cut to the beginning: the same kind of data."""
    recipes: list[Recipe] = []
    for recipe in problem.recipes:
        if isinstance(recipe, Given):
            (name,) = recipe.fills
            window = tuple(slice(0, size) for size in short.input_shapes[name])
            recipe = STORE.add(STORE.resolve(recipe.content)[window], name, recipe.name)
        recipes.append(recipe)
    return structs.replace(problem, recipes=tuple(recipes), home=dtype)


def probe_benign(
    bench: Bench, target: Target, output: int, seed: int, index: int, run: Run, check: Check
) -> Probe | Failure:
    """The same for a problem that has no shorter form: on N(0,1) alone."""
    rung = bench.rung(target.dtype, LADDER)
    draw_normal(bench, rung, seed, index)
    benign = _rho(bench, rung, target, output, run, check)
    if isinstance(benign, Failure):
        return benign
    share = float(np.mean(benign > FLAG)) if benign.size >= LOW_PRECISION_ELEMENTS else 0.0
    largest = float(benign.max(initial=0.0))
    return Probe(largest, largest, share, shortened=False)


def _rho(short: Bench, rung: Rung, target: Target, output: int, run: Run, check: Check) -> Array | Failure:
    rung.refresh()
    outcome = run(short, target, LADDER)
    if isinstance(outcome, Failure):
        return outcome
    rung.yardsticks[output].bound_figures(outcome.values[output])
    check(short, rung, output)
    result: Array = rung.yardsticks[output].rho.copy()
    return result
