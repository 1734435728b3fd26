"""The precision ladder: the same target once more in another precision, and the signs of a silent downcast."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct, structs

from fuzz.backends.base import Array
from fuzz.execution import LADDER, Failure, Run
from fuzz.judging.adjudicate import bound_figures
from fuzz.judging.judge import Downcast, Ladder, suspicious
from fuzz.measure import BoundFigures, Yardstick
from fuzz.oracle.passes import smallest
from fuzz.targets import Target
from fuzz.thresholds import ACCEPT, FLAG, LOST, lost_at_most
from fuzz.workbench import Bench, Rung, copy_inputs
from strategies.expressions import parse_recipe
from strategies.precision import DType, precision
from strategies.problem import Problem
from strategies.recipes import Recipe
from strategies.sampling import draw, extra_low_bits

_SMALLEST_RHO = 1e-9
"""Stands for an error of exactly zero in a logarithm; float32 inputs are often summed exactly in float64."""

_UNSEEN_RHO = 2.0**-10
"""What the low rung can show of an error at least: a smaller one is an accident of its rounding. Without this floor a
float64 error of three roundings, where the float32 result happens to be exact, would seem not to shrink."""


_SAME = 0.5
"""Share of the lower rung's u E above which the higher one's is no smaller: precision divides it by 2^13 or more."""


class Pair(Struct, frozen=True):
    """Two neighbouring rungs."""

    low: DType
    high: DType

    @property
    def bits(self) -> int:
        """Bits of precision between them."""
        return precision(self.high).digits - precision(self.low).digits

    def other(self, dtype: DType) -> DType:
        return self.low if dtype == self.high else self.high


_UPPER = Pair("float32", "float64")

PAIRS: dict[DType, Pair] = {
    "bfloat16": Pair("bfloat16", "float32"),
    "float16": Pair("float16", "float32"),
    "float32": _UPPER,
    "float64": _UPPER,
}
"""The rungs climbed for a target, by its dtype. All numbers of `low` are numbers of `high`."""


class Climb(Struct, frozen=True, dict=True):
    """What is climbed: one output of one target on one draw, measured at home."""

    bench: Bench
    target: Target
    output: int
    measured: BoundFigures
    rho: Array
    """rho of every element at the target's own dtype (a copy)."""
    seed: int
    index: int
    check: Callable[[Rung, int], object] = lambda rung, output: None
    """Certifies the truth of a rung, and raises where it is wrong."""

    @cached_property
    def pair(self) -> Pair:
        return PAIRS[self.target.dtype]

    def at(self, dtype: DType) -> Target:
        """The target in another dtype."""
        return structs.replace(self.target, dtype=dtype)


def climb(c: Climb, run: Run) -> Ladder | Failure:
    """Run the other rung and compare. A Failure says why there is none."""
    at_home = c.bench.rung(c.target.dtype)
    if c.target.dtype == c.pair.high:
        return _climb_down(c, run, at_home)
    ladder = _climb_up(c, run, at_home)
    if isinstance(ladder, Ladder) and c.pair.high != _UPPER.high and ladder.stands_still():
        return _climb_further(c, run, ladder)
    return ladder


def _measured(c: Climb, rung: Rung, values: Array) -> BoundFigures:
    """Figures of a rung, whose truth is checked where a finding may rest on it."""
    measured = bound_figures(c.bench, rung, c.output, values)
    if suspicious(measured) or suspicious(c.measured):
        c.check(rung, c.output)
    return measured


def _climb_up(c: Climb, run: Run, home: Rung) -> Ladder | Failure:
    wide = c.at(c.pair.high)
    high = c.bench.rung(c.pair.high, LADDER)
    _fill(home, high, c, salt=0)
    outcome = run(c.bench, wide, LADDER)
    if isinstance(outcome, Failure):
        return outcome
    measured = _measured(c, high, outcome.values[c.output])
    slope, saturated = _slope(
        c.rho, high.yardsticks[c.output].rho, home.yardsticks[c.output], high.yardsticks[c.output]
    )
    saturated = saturated and _losable(high, c.output)
    rho = measured.rho.largest
    size = _largest_error(high.yardsticks[c.output], outcome.values[c.output])
    ladder = Ladder(c.pair.high, rho, c.measured.rho.largest, rho, slope, c.pair.low, c.pair.high, rung_abs=size)
    sequential = high.sequential_rho(c.output, outcome.values[c.output], measured)
    summed = _summed(c, c.measured)
    ladder = structs.replace(ladder, high_sequential=sequential, high_index=measured.rho.index, low_summed=summed)
    if ladder.only_high:
        first = outcome.values[c.output].copy()
        flushed = high.flush_rho(c.output, first)
        ladder = structs.replace(ladder, high_flushed=flushed, downcast=_downcast(c, run, wide, home, first))
    return _second_opinion(c, run, ladder) if saturated else ladder


def _climb_further(c: Climb, run: Run, ladder: Ladder) -> Ladder:
    """From float32 to float64 on the same draw: does the error that stands still below shrink there?"""
    middle = c.bench.rung(_UPPER.low, LADDER)
    _fill(c.bench.rung(c.target.dtype), middle, c, salt=0)
    outcome = run(c.bench, c.at(_UPPER.low), LADDER)
    if isinstance(outcome, Failure):
        return structs.replace(ladder, no_above=outcome.error)
    measured = _measured(c, middle, outcome.values[c.output])
    rho = middle.yardsticks[c.output].rho.copy()
    above = _climb_up(structs.replace(c, target=c.at(_UPPER.low), measured=measured, rho=rho), run, middle)
    if isinstance(above, Failure):
        return structs.replace(ladder, no_above=above.error)
    return structs.replace(ladder, above=above)


def _climb_down(c: Climb, run: Run, home: Rung) -> Ladder | Failure:
    narrow = c.at(c.pair.low)
    low = c.bench.rung(c.pair.low, LADDER)
    copy_inputs(home.arena.arrays, low.arena.arrays)
    low.refresh()
    outcome = run(c.bench, narrow, LADDER)
    if isinstance(outcome, Failure):
        return outcome
    measured = _measured(c, low, outcome.values[c.output])
    slope, saturated = _slope(low.yardsticks[c.output].rho, c.rho, low.yardsticks[c.output], home.yardsticks[c.output])
    saturated = saturated and _losable(home, c.output)
    rho = measured.rho.largest
    size = _largest_error(low.yardsticks[c.output], outcome.values[c.output])
    ladder = Ladder(c.pair.low, rho, rho, c.measured.rho.largest, slope, c.pair.low, c.pair.high, rung_abs=size)
    summed = _summed(c, measured)
    ladder = structs.replace(ladder, high_sequential=c.measured.rho_sequential_max, low_summed=summed)
    if ladder.only_high:
        high = c.bench.rung(c.pair.high, LADDER)
        _fill(low, high, c, salt=0)
        first = run(c.bench, c.target, LADDER)
        if not isinstance(first, Failure):
            _measured(c, high, first.values[c.output])
            ladder = structs.replace(ladder, downcast=_downcast(c, run, c.target, low, first.values[c.output].copy()))
    return _second_opinion(c, run, ladder) if saturated else ladder


def _summed(c: Climb, low: BoundFigures) -> bool:
    """Whether the order of a sum explains what exceeds FLAG at the lower rung."""
    sequential = low.rho_sequential_max
    summed = low.rho.largest > FLAG and sequential is not None and sequential <= ACCEPT
    return summed and c.bench.reduction_length > 1


def _slope(rho_low: Array, rho_high: Array, low: Yardstick, high: Yardstick) -> tuple[float | None, bool]:
    """s as the median over the elements flagged at the low rung, else over those flagged at the high one.

    An element without a correct digit at the low rung errs by no more than its size there: the ratio exaggerates the
    slope. Such elements count only where there are no others; the second value then says so. Where nothing is rounded,
    E = 0 and an error on both rungs is none of rounding: a slope of 1. So it is where u E is as large on both: there it
    is the width of a jump, between whose sides everything is accepted.
    """
    flagged = rho_low > FLAG
    if not flagged.any():
        flagged = rho_high > FLAG
    if not flagged.any():
        return None, False
    chosen = np.flatnonzero(flagged)
    with np.errstate(all="ignore"):
        jumps = high.u * high.bound[chosen] > _SAME * low.u * low.bound[chosen]
    telling = chosen[~_lost(rho_low[chosen], low, chosen) | jumps]
    saturated = not telling.size
    if not saturated:
        chosen = telling
    bits = high.precision.digits - low.precision.digits
    at_low, at_high = rho_low[chosen], rho_high[chosen]
    with np.errstate(all="ignore"):
        unrounded = high.u * high.bound[chosen] >= _SAME * low.u * low.bound[chosen]
    unrounded &= (at_low > FLAG) & (at_high > FLAG)
    with np.errstate(all="ignore"):
        ratio = _at_least(at_high, _SMALLEST_RHO) / _at_least(at_low, _UNSEEN_RHO)
        slopes = np.where(unrounded, 1.0, np.log2(ratio.astype(np.float64)) / bits)
    return float(np.median(slopes)), saturated


def _largest_error(yardstick: Yardstick, values: Array) -> float:
    """Of the finite elements."""
    with np.errstate(all="ignore"):
        errors = np.abs(values.reshape(-1) - yardstick.value)
    return float(np.max(errors, where=np.isfinite(errors), initial=0.0))


def _at_least(rho: Array, floor: float) -> Array:
    """rho, or the floor where that is larger: a pass that long double can do without where no element needs it."""
    return rho if smallest(rho) >= floor else np.maximum(rho, floor)


def _lost(rho: Array, yardstick: Yardstick, at: Array) -> Array:
    """Which of the elements `at` flat positions, whose rho is given, err by more than LOST of the truth: no correct
    digit."""
    with np.errstate(all="ignore"):
        result: Array = rho * (yardstick.u * yardstick.bound[at]) > LOST * np.abs(yardstick.value[at])
    return result


def _losable(high: Rung, output: int) -> bool:
    """Whether an unstable formula can have lost what the flagged elements of the high rung err by."""
    yardstick = high.yardsticks[output]
    with np.errstate(all="ignore"):
        flagged = np.flatnonzero(yardstick.rho > FLAG)
        errors = yardstick.rho[flagged] * (yardstick.u * yardstick.bound[flagged])
    largest = max((float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in high.inputs()), default=0.0)
    return not errors.size or not float(np.median(errors)) > lost_at_most(yardstick.u, largest)


def _second_opinion(c: Climb, run: Run, ladder: Ladder) -> Ladder:
    """Climb once more on N(0,1): a wrong formula errs there too, one that loses all digits in a region does not."""
    low, high = c.bench.rung(c.pair.low, LADDER), c.bench.rung(c.pair.high, LADDER)
    draw_normal(c.bench, low, c.seed, c.index)
    low.refresh()
    narrow = run(c.bench, c.at(c.pair.low), LADDER)
    if isinstance(narrow, Failure):
        return ladder
    _measured(c, low, narrow.values[c.output])
    _fill(low, high, c, salt=3)
    wide = run(c.bench, c.at(c.pair.high), LADDER)
    if isinstance(wide, Failure):
        return ladder
    _measured(c, high, wide.values[c.output])
    one, other = low.yardsticks[c.output], high.yardsticks[c.output]
    slope, _ = _slope(one.rho, other.rho, one, other)
    return structs.replace(ladder, slope=slope, saturated=True)


def benign_rho(c: Climb, run: Run) -> float | None:
    """Largest rho on N(0,1) in the target's own precision; None where it does not run. For targets without a ladder."""
    rung = c.bench.rung(c.target.dtype, LADDER)
    draw_normal(c.bench, rung, c.seed, c.index)
    rung.refresh()
    outcome = run(c.bench, c.target, LADDER)
    if isinstance(outcome, Failure):
        return None
    measured = _measured(c, rung, outcome.values[c.output])
    return None if measured.nonfinite_mismatch else measured.rho.largest


def _fill(source: Rung, high: Rung, c: Climb, salt: int) -> None:
    fill_extra_bits(source, high, c.bench.problem.draw_id, c.seed, c.index, salt)


def fill_extra_bits(source: Rung, high: Rung, draw_id: str, seed: int, index: int, salt: int) -> None:
    """Inputs of the higher format that round to the lower ones but use its extra bits; truth on those very values."""
    digits = precision(source.dtype).digits
    with np.errstate(all="ignore"):
        for name, values in source.arena.arrays.items():
            wide = values.astype(np.float64)
            high.arena.arrays[name][...] = extra_low_bits(wide, draw_id, seed, index, f"{salt} {name}", digits)
    high.refresh()


def _downcast(c: Climb, run: Run, wide: Target, low: Rung, first: Array) -> Downcast | None:
    """The signs. `first` is the wider output whose errors the high rung's yardstick still holds."""
    high = c.bench.rung(c.pair.high, LADDER)
    rms_here = _rms_in_low_bounds(c.pair, high, c.output)
    errors = _errors(high.yardsticks[c.output], first)
    if not (np.isfinite(first) & (first != 0)).any():  # zeros and infinities are numbers of any format: nothing telling
        draw_normal(c.bench, low, c.seed, c.index)
        _fill(low, high, c, salt=2)
        benign = run(c.bench, wide, LADDER)
        if isinstance(benign, Failure):
            return None
        _measured(c, high, benign.values[c.output])
        first = benign.values[c.output].copy()
        errors = _errors(high.yardsticks[c.output], first)
    with np.errstate(all="ignore"):
        narrowed = precision(c.pair.low).round(first).astype(first.dtype)
    telling = np.isfinite(first) & (first != 0)
    representable = float(np.mean(narrowed[telling] == first[telling])) if telling.any() else 0.0
    _fill(low, high, c, salt=1)
    again = run(c.bench, wide, LADDER)
    if isinstance(again, Failure):
        return None
    unchanged = float(np.mean(again.values[c.output][telling] == first[telling])) if telling.any() else 0.0
    repeats = _correlation(errors, _errors(high.yardsticks[c.output], again.values[c.output]))
    return Downcast(representable, unchanged, rms_here, _rms_on_normal(c, run, wide), repeats)


def _errors(yardstick: Yardstick, values: Array) -> Array:
    """Signed rho of every element, 0 where it means nothing."""
    with np.errstate(all="ignore"):
        signed = yardstick.rho_of(values.reshape(-1) - yardstick.value, np.empty_like(yardstick.value))
    signed[~np.isfinite(signed)] = 0.0
    return signed


def _correlation(a: Array, b: Array) -> float:
    """Cosine of the angle between two error vectors (no mean is taken off: a bias repeats, too)."""
    length = float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
    return float(np.dot(a, b)) / length if length else 0.0


def _rms_on_normal(c: Climb, run: Run, wide: Target) -> float:
    """rms error in bounds of the lower format on a draw from N(0,1) (|N(0,1)| where the domain asks for it)."""
    low, high = c.bench.rung(c.pair.low, LADDER), c.bench.rung(c.pair.high, LADDER)
    draw_normal(c.bench, low, c.seed, c.index)
    _fill(low, high, c, salt=2)
    outcome = run(c.bench, wide, LADDER)
    if isinstance(outcome, Failure):
        return 0.0
    _measured(c, high, outcome.values[c.output])
    return _rms_in_low_bounds(c.pair, high, c.output)


def draw_normal(bench: Bench, rung: Rung, seed: int, index: int) -> None:
    """Fill the inputs of `rung` from N(0,1), |N(0,1)| where the input's domain has no negative numbers."""
    recipes = tuple(_normal_recipe(spec.name, spec.domain.low >= 0) for spec in bench.contract.inputs)
    problem = Problem(bench.problem.operator, bench.problem.attributes, bench.problem.dims, rung.dtype, recipes)
    draw(problem, bench.contract, seed, index, rung.arena.arrays)


def _normal_recipe(name: str, positive: bool) -> Recipe:
    return parse_recipe("abs(normal(0,1))" if positive else "normal(0,1)", (name,))


def _rms_in_low_bounds(pair: Pair, high: Rung, output: int) -> float:
    ratio = 2.0**-pair.bits
    rho = high.yardsticks[output].rho
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean(np.square(rho, dtype=np.float64)))) * ratio if rho.size else 0.0
