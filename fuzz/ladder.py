"""The precision ladder: the same target once more in the other precision, and the signs of a silent downcast."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from fuzz.adjudicate import measure
from fuzz.backends.base import Array
from fuzz.execution import LADDER, Failure, Run
from fuzz.judge import Downcast, Ladder
from fuzz.measure import Measurement
from fuzz.targets import Target
from fuzz.thresholds import FLAG, LADDER_BITS
from fuzz.workbench import Bench, Rung, copy_inputs
from strategies.expressions import parse_recipe
from strategies.precision import precision
from strategies.problem import Problem
from strategies.recipes import Recipe
from strategies.sampling import draw, extra_low_bits

LOW, HIGH = "float32", "float64"
_SMALLEST_RHO = 1e-9
"""Stands for an error of exactly zero in a logarithm; float32 inputs are often summed exactly in float64."""


class Climb(Struct, frozen=True):
    """What is climbed: one output of one target on one draw, measured at home."""

    bench: Bench
    target: Target
    output: int
    measured: Measurement
    rho: Array
    """rho of every element at the target's own dtype (a copy)."""
    seed: int
    index: int


def climb(c: Climb, run: Run) -> Ladder | Failure:
    """Run the other rung and compare. A Failure says why there is none."""
    at_home = c.bench.rung(c.target.dtype)
    if c.target.dtype == LOW:
        return _climb_up(c, run, at_home)
    return _climb_down(c, run, at_home)


def _climb_up(c: Climb, run: Run, home: Rung) -> Ladder | Failure:
    wide = structs.replace(c.target, dtype=HIGH)
    high = c.bench.rung(HIGH, LADDER)
    _fill(home, high, c, salt=0)
    outcome = run(c.bench, wide, LADDER)
    if isinstance(outcome, Failure):
        return outcome
    measured = measure(c.bench, high, c.output, outcome.values[c.output])
    rho_high = high.yardsticks[c.output].rho.copy()
    ladder = _compare(HIGH, c.rho, rho_high, c.measured, measured, measured)
    if measured.rho.largest > FLAG and c.measured.rho.largest <= FLAG:
        evidence = _downcast(c, run, wide, home, outcome.values[c.output].copy())
        ladder = structs.replace(ladder, downcast=evidence)
    return ladder


def _climb_down(c: Climb, run: Run, home: Rung) -> Ladder | Failure:
    narrow = structs.replace(c.target, dtype=LOW)
    low = c.bench.rung(LOW, LADDER)
    copy_inputs(home.arena.arrays, low.arena.arrays)
    low.refresh()
    outcome = run(c.bench, narrow, LADDER)
    if isinstance(outcome, Failure):
        return outcome
    measured = measure(c.bench, low, c.output, outcome.values[c.output])
    rho_low = low.yardsticks[c.output].rho.copy()
    ladder = _compare(LOW, rho_low, c.rho, measured, c.measured, measured)
    if c.measured.rho.largest > FLAG and measured.rho.largest <= FLAG:
        _fill(low, c.bench.rung(HIGH, LADDER), c, salt=0)
        first = run(c.bench, c.target, LADDER)
        if not isinstance(first, Failure):
            measure(c.bench, c.bench.rung(HIGH, LADDER), c.output, first.values[c.output])
            ladder = structs.replace(ladder, downcast=_downcast(c, run, c.target, low, first.values[c.output].copy()))
    return ladder


def _compare(
    rung: str, rho_low: Array, rho_high: Array, low: Measurement, high: Measurement, other: Measurement
) -> Ladder:
    """s as the median over the elements flagged at the low rung, else over those flagged at the high one."""
    flagged = rho_low > FLAG
    if not flagged.any():
        flagged = rho_high > FLAG
    slope = None
    if flagged.any():
        ratio = np.maximum(rho_high[flagged], _SMALLEST_RHO) / np.maximum(rho_low[flagged], _SMALLEST_RHO)
        slope = float(np.median(np.log2(ratio.astype(np.float64)))) / LADDER_BITS
    return Ladder(rung, other.rho.largest, low.rho.largest, high.rho.largest, slope)


def _fill(source: Rung, high: Rung, c: Climb, salt: int) -> None:
    """float64 inputs that round to the float32 ones but use their low bits; truth on those very values."""
    draw_id = c.bench.problem.draw_id
    with np.errstate(all="ignore"):
        for name, values in source.arena.arrays.items():
            wide = values.astype(np.float64)
            high.arena.arrays[name][...] = extra_low_bits(wide, draw_id, c.seed, c.index, f"{salt} {name}")
    high.refresh()


def _downcast(c: Climb, run: Run, wide: Target, low: Rung, first: Array) -> Downcast | None:
    """The three signs. `first` is the float64 output whose errors the high rung's yardstick still holds."""
    high = c.bench.rung(HIGH, LADDER)
    rms_here = _rms_in_float32_bounds(high, c.output)
    with np.errstate(all="ignore"):
        narrowed = first.astype(np.float32).astype(np.float64)
    telling = np.isfinite(first) & (first != 0)
    representable = float(np.mean(narrowed[telling] == first[telling])) if telling.any() else 0.0
    _fill(low, high, c, salt=1)
    again = run(c.bench, wide, LADDER)
    if isinstance(again, Failure):
        return None
    unchanged = float(np.mean(again.values[c.output][telling] == first[telling])) if telling.any() else 0.0
    return Downcast(representable, unchanged, rms_here, _rms_on_normal(c, run, wide, low))


def _rms_on_normal(c: Climb, run: Run, wide: Target, low: Rung) -> float:
    """rms error in float32 bounds on a draw from N(0,1) (its absolute value where the domain asks for it)."""
    bench = c.bench
    kept = {name: values.copy() for name, values in low.arena.arrays.items()}
    try:
        draw_normal(bench, low, c.seed, c.index)
        _fill(low, bench.rung(HIGH, LADDER), c, salt=2)
        outcome = run(bench, wide, LADDER)
        if isinstance(outcome, Failure):
            return 0.0
        measure(bench, bench.rung(HIGH, LADDER), c.output, outcome.values[c.output])
        return _rms_in_float32_bounds(bench.rung(HIGH, LADDER), c.output)
    finally:
        copy_inputs(kept, low.arena.arrays)


def draw_normal(bench: Bench, rung: Rung, seed: int, index: int) -> None:
    """Fill the inputs of `rung` from N(0,1), |N(0,1)| where the input's domain has no negative numbers."""
    recipes = tuple(_normal_recipe(spec.name, spec.domain.low >= 0) for spec in bench.contract.inputs)
    problem = Problem(bench.problem.operator, bench.problem.attributes, bench.problem.dims, rung.dtype, recipes)
    draw(problem, bench.contract, seed, index, rung.arena.arrays)


def _normal_recipe(name: str, positive: bool) -> Recipe:
    return parse_recipe("abs(normal(0,1))" if positive else "normal(0,1)", (name,))


def _rms_in_float32_bounds(high: Rung, output: int) -> float:
    ratio = precision(HIGH).unit_roundoff / precision(LOW).unit_roundoff
    rho = high.yardsticks[output].rho
    return float(np.sqrt(np.mean(np.square(rho, dtype=np.float64)))) * ratio if rho.size else 0.0
