"""Decide suspicious elements with Arb or mpmath where the truth is only a screen in the target's own precision."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from fuzz.backends.base import Array
from fuzz.measure import Measurement, Spot
from fuzz.oracle.arithmetic import adjudicator
from fuzz.oracle.element import SliceTooLarge, evaluate
from fuzz.thresholds import FLAG
from fuzz.workbench import Bench, Rung

MOST = 512
"""Elements adjudicated a trial at most, the largest rho first, until one is confirmed: a defect costs one evaluation. A
screen errs by about one bound, and by everything where a function of SciPy flushes subnormal results (erfc)."""


def is_screen(rung: Rung) -> bool:
    """Whether the truth has no more digits than the outputs it judges."""
    return bool(rung.bound.wide == np.dtype(rung.dtype))


def measure(bench: Bench, rung: Rung, output: int, values: Array) -> Measurement:
    """Figures of one output; where the truth is a screen and flags, the flagged elements are evaluated exactly."""
    yardstick = rung.yardsticks[output]
    measured = yardstick.measure(values)
    if not is_screen(rung):
        return measured
    measured = structs.replace(measured, equal=measured.equal and not measured.size)  # to a screen: not for certain
    if not measured.rho.largest > FLAG:
        return measured
    arithmetic = adjudicator()
    if arithmetic is None:
        return measured
    flat = values.reshape(-1)
    shape = bench.output_shapes[output]
    truths: dict[int, float] = {}
    try:
        while len(truths) < MOST:
            position = int(yardstick.rho.argmax())
            if position in truths or not yardstick.rho[position] > FLAG:
                break
            at = tuple(int(i) for i in np.unravel_index(position, shape))
            exact = evaluate(bench.program, output, at, rung.inputs(), arithmetic).value
            error = arithmetic.apply("subtract", arithmetic.number(float(flat[position])), exact)
            # the error times 1/u first: u E may underflow
            scaled = arithmetic.apply("multiply", error, arithmetic.number(1.0 / yardstick.u))
            bound = arithmetic.number(float(yardstick.bound[position]))
            yardstick.rho[position] = abs(arithmetic.rounded(arithmetic.apply("divide", scaled, bound)))
            truths[position] = arithmetic.rounded(exact)
    except SliceTooLarge:
        return measured
    worst = int(yardstick.rho.argmax())
    truth = truths.get(worst, float(yardstick.value[worst]))
    bound_there = float(yardstick.bound[worst])
    amplification = bound_there / abs(truth) if truth else np.inf
    spot = Spot(float(yardstick.rho[worst]), worst, float(flat[worst]), truth, amplification)
    return structs.replace(measured, rho=spot, flagged=int(np.count_nonzero(yardstick.rho > FLAG)))
