"""Which pair (rtol, atol), of those that keep the promise. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
from msgspec import Struct

from results.statistics.proportions import one_sided_upper
from results.statistics.samples import Floats
from results.tolerance.levels import Level, Upper, level
from results.tolerance.needs import Needs
from results.units import UNIT_ROUNDOFF

DIGITS = 2
"""Significant digits of what is recommended, rounded up."""


ONE_IN = 0.05
"""Share of trials that may need more when rtol is chosen."""


class Pair(Struct, frozen=True):
    """A recommended pair, and how often a healthy result passes."""

    rtol: float
    atol: float
    """Both rounded up to two digits, in which P(pass) can only grow."""
    eps: float
    """rtol before rounding, in units of eps = 2 u."""
    atol_eps: float | None
    """atol in units of eps times the typical |truth|; None where that is not known."""
    level: Level
    """Of the problem that keeps it least."""
    inputs: str
    """The recipes of the problem that needs the largest atol."""

    @property
    def call(self) -> str:
        """The test, ready to copy."""
        return f"numpy.testing.assert_allclose(got, want, rtol={self.rtol:g}, atol={self.atol:g})"


class Choice(Struct, frozen=True):
    """The pair for a group of problems, or why there is none."""

    pair: Pair | None
    why: str = ""
    """Why there is no pair, or why the promise is not kept."""
    tighter: Pair | None = None
    """Where the pair is not the smallest because that one keeps no promise: the smallest, which all trials passed."""


def up(value: float, digits: int = DIGITS) -> float:
    """The smallest number of so many significant decimal digits that is not below `value`."""
    if value == 0 or not math.isfinite(value):
        return value
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    below = float(exact.quantize(step, rounding=ROUND_FLOOR))  # a literal of so many digits may round to `value`
    return below if below >= value else float(exact.quantize(step, rounding=ROUND_CEILING))


def choose(
    problems: Sequence[Needs],
    dtype: str,
    flake: float,
    *,
    upper: Upper = one_sided_upper,
    no_tail: str = "",
    complete: bool = False,
) -> Choice:
    """The smallest pair that keeps `flake` on each of the problems.

    rtol is that k u (of those the rows have) beside which 19 of 20 trials pass with the smallest error allowed to an
    element of typical size, atol + rtol |truth|: the largest errors have no part in the choice, so that what is said
    about them afterwards stays true. atol is the largest of the problems' levels there. Where that keeps no promise,
    the next best k that does is taken; where none does, the first, which all trials passed. A pair that allows an error
    as large as the typical result tests nothing and is refused. `complete`: the trials are all there are, and what they
    need is a certainty.
    """
    u = UNIT_ROUNDOFF[dtype]
    means = [problem.truth_mean for problem in problems if problem.truth_mean is not None]
    typical = float(np.median(means)) if means else 0.0
    found: list[Pair] = []
    for k in _by_cost(problems, u * typical):
        at = [problem.atols[:, problem.multiples.index(k)] for problem in problems]
        levels = [_all_there_is(a) if complete else level(a, flake, upper, no_tail) for a in at]
        decides = max(range(len(levels)), key=lambda i: levels[i].value)
        atol = levels[decides].value
        least = max(levels, key=lambda one: (not one.kept, one.at_most)).at(up(atol))
        if math.isfinite(atol) and (least.kept or not found):
            scale = 2 * u * typical
            pair = Pair(up(k * u), up(atol), k / 2, atol / scale if scale else None, least, problems[decides].inputs)
            found.append(pair)
            if least.kept:
                break
    if not found:
        return Choice(None, _lost(problems))
    first, pair = found[0], found[-1]
    if typical and pair.atol + pair.rtol * typical >= typical:
        if first is not pair and first.atol + first.rtol * typical < typical:
            return Choice(first, f"the smallest atol that would, {pair.atol:g}, is as large as typical results")
        return Choice(
            None,
            f"a test with atol {pair.atol:g} would pass anything: typical results are as large as {typical:.2g}; "
            "inputs of so unlike sizes need a plan for each size",
        )
    return Choice(pair, pair.level.why, first if first is not pair else None)


def _by_cost(problems: Sequence[Needs], unit: float) -> list[int]:
    """The k that all problems have, the one with the smallest allowed error first; `unit` is u |truth|."""
    multiples = sorted(set.intersection(*(set(problem.multiples) for problem in problems)))

    def cost(k: int) -> float:
        needed = (problem.atols[:, problem.multiples.index(k)] for problem in problems)
        return max(float(np.quantile(atols, 1 - ONE_IN, method="higher")) for atols in needed) + k * unit

    return sorted(multiples, key=cost)


def _all_there_is(values: Floats) -> Level:
    return Level(float(values.max()), "every input", 0, len(values), 0.0, 0.0)


def _lost(problems: Sequence[Needs]) -> str:
    lost, trials = sum(int(np.isinf(one.atols[:, 0]).sum()) for one in problems), sum(one.trials for one in problems)
    return f"{lost} of {trials:,} trials have no finite result where the truth has one: no tolerance passes them"
