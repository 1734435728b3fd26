"""Arb or mpmath in the place of a truth that has only the target's own precision: a screen.

No operator has one where long double is wider than float64. Elsewhere the screen of float64 may be the very code under
test, so it decides nothing: every element is evaluated exactly, or as many as SCREEN_WORK allows, evenly spaced.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import structs

from fuzz.backends.base import Array
from fuzz.measure import BoundFigures, Measurement, Spot, Yardstick
from fuzz.oracle.arithmetic import Arithmetic, adjudicator
from fuzz.oracle.element import SliceTooLarge, evaluate
from fuzz.oracle.slices import slice_size
from fuzz.thresholds import ACCEPT, FLAG
from fuzz.workbench import Bench, Rung

MOST = 512
"""Elements adjudicated a trial at most, the largest rho first, until one is confirmed: a defect costs one evaluation. A
screen errs by about one bound, and by everything where a function of SciPy flushes subnormal results (erfc)."""

SCREEN_WORK = 100_000
"""Scalar operations that the elements behind a screen may cost: a third of a second."""

UNDEFINED = (SliceTooLarge, ZeroDivisionError, ValueError, OverflowError)
"""Why an element has no exact value: too much work; an argument at a pole or outside the domain (mpmath raises)."""


def is_screen(rung: Rung) -> bool:
    """Whether the truth has no more digits than the outputs it judges."""
    return bool(rung.bound.wide == np.dtype(rung.dtype))


def measure(bench: Bench, rung: Rung, output: int, values: Array) -> Measurement:
    """Figures of one output. Behind a screen, elements are evaluated exactly: evenly spaced, then the largest rho."""
    yardstick = rung.yardsticks[output]
    measured = yardstick.measure(values)
    if not is_screen(rung):
        return measured
    measured = structs.replace(measured, equal=measured.equal and not measured.size)  # to a screen: not for certain
    arithmetic = adjudicator()
    if arithmetic is None or not measured.size:
        return measured
    flat = values.reshape(-1)
    truths: dict[int, float] = {}
    for position in _spaced(bench, output, flat.size):
        if np.isfinite(flat[position]) and np.isfinite(yardstick.value[position]):
            with contextlib.suppress(*UNDEFINED):
                truths[position] = _adjudicate(bench, rung, output, position, float(flat[position]), arithmetic)
    try:
        for _ in range(MOST):
            position = int(yardstick.rho.argmax())
            if position in truths or not yardstick.rho[position] > ACCEPT:
                break
            truths[position] = _adjudicate(bench, rung, output, position, float(flat[position]), arithmetic)
    except SliceTooLarge:
        return measured
    return _with_spot(yardstick, flat, measured, truths)


def bound_figures(bench: Bench, rung: Rung, output: int, values: Array) -> BoundFigures:
    """The figures in units of the bound alone, in half the time where the truth is no screen."""
    if is_screen(rung):
        return measure(bench, rung, output, values)
    return rung.yardsticks[output].bound_figures(values)


def _spaced(bench: Bench, output: int, size: int) -> range:
    """Positions evaluated whatever the screen says."""
    affordable = max(1, SCREEN_WORK // max(1, slice_size(bench.program, output)))
    return range(0, size, -(-size // affordable))


def replaced(
    bench: Bench,
    rung: Rung,
    output: int,
    values: Array,
    measured: Measurement,
    positions: Sequence[int],
    arithmetic: Arithmetic,
) -> tuple[int, Measurement]:
    """Evaluate the elements at `positions` exactly whether flagged or not: how many could be, and the new figures."""
    flat, truths = values.reshape(-1), {}
    for position in positions:
        with contextlib.suppress(*UNDEFINED):
            truths[position] = _adjudicate(bench, rung, output, position, float(flat[position]), arithmetic)
    return len(truths), _with_spot(rung.yardsticks[output], flat, measured, truths)


def _adjudicate(bench: Bench, rung: Rung, output: int, position: int, value: float, a: Arithmetic) -> float:
    """Put the exact rho of one element into the yardstick; its truth."""
    yardstick = rung.yardsticks[output]
    at = tuple(int(i) for i in np.unravel_index(position, bench.output_shapes[output]))
    exact = evaluate(bench.program, output, at, rung.inputs(), a).value
    error = a.apply("subtract", a.number(value), exact)
    # the error times 1/u first: u E may underflow
    scaled = a.apply("multiply", error, a.number(1.0 / yardstick.u))
    rho = abs(a.rounded(a.apply("divide", scaled, a.number(float(yardstick.bound[position])))))
    if not math.isnan(rho):  # 0/0: an exact result without any allowance
        yardstick.rho[position] = rho
    return a.rounded(exact)


def _with_spot(yardstick: Yardstick, flat: Array, measured: Measurement, truths: Mapping[int, float]) -> Measurement:
    """The figures with the largest rho after some elements were evaluated exactly."""
    worst = int(yardstick.rho.argmax())
    if worst == measured.rho.index and worst not in truths:
        return measured
    truth = truths.get(worst, float(yardstick.value[worst]))
    bound_there = float(yardstick.bound[worst])
    amplification = bound_there / abs(truth) if truth else np.inf
    spot = Spot(float(yardstick.rho[worst]), worst, float(flat[worst]), truth, amplification)
    return structs.replace(measured, rho=spot, flagged=int(np.count_nonzero(yardstick.rho > FLAG)))
