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

WORST = 8
"""Elements adjudicated a trial: those with the largest rho."""

SCREEN_ERROR = 1.0
"""A truth computed in the target's own precision may itself be one bound off."""


def is_screen(rung: Rung) -> bool:
    """Whether the truth has no more digits than the outputs it judges."""
    return bool(rung.bound.wide == np.dtype(rung.dtype))


def measure(bench: Bench, rung: Rung, output: int, values: Array) -> Measurement:
    """Figures of one output; where the truth is a screen and decides, the worst elements are evaluated exactly."""
    yardstick = rung.yardsticks[output]
    measured = yardstick.measure(values)
    if not is_screen(rung) or not FLAG < measured.rho.largest <= FLAG + SCREEN_ERROR:
        return measured
    arithmetic = adjudicator()
    if arithmetic is None:
        return measured
    flat = values.reshape(-1)
    candidates = np.argsort(yardstick.rho)[-WORST:][::-1]
    shape = bench.output_shapes[output]
    best = Spot()
    try:
        for position in (int(p) for p in candidates if yardstick.rho[p] > FLAG):
            at = tuple(int(i) for i in np.unravel_index(position, shape))
            exact = evaluate(bench.program, output, at, rung.inputs(), arithmetic).value
            error = abs(
                arithmetic.rounded(arithmetic.apply("subtract", arithmetic.number(float(flat[position])), exact))
            )
            bound = float(yardstick.bound[position])
            rho = error / (yardstick.u * bound)
            yardstick.rho[position] = rho
            if rho >= best.largest:
                truth = arithmetic.rounded(exact)
                amplification = bound / abs(truth) if truth else np.inf
                best = Spot(rho, position, float(flat[position]), truth, amplification)
    except SliceTooLarge:
        return measured
    flagged = int(np.count_nonzero(yardstick.rho > FLAG))
    if flagged:
        worst = int(yardstick.rho.argmax())
        if worst != best.index:
            return structs.replace(measured, flagged=flagged)
    return structs.replace(measured, rho=best, flagged=flagged)
