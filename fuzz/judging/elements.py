"""The few elements of a trial that are kept with their inputs: the worst ones, and random ones beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.backends.base import Array
from fuzz.judging import rows
from fuzz.judging.region import elementwise
from fuzz.measure import Measurement
from fuzz.oracle.arithmetic import DependencyArithmetic
from fuzz.oracle.element import evaluate
from fuzz.oracle.slices import slice_size
from fuzz.targets import Target
from fuzz.workbench import Bench
from results.columns import Row
from strategies.sampling import stream

SAMPLED_FIRST, SAMPLED_EVERY = 16, 64
"""Elements are kept of the first 16 trials of a problem, of every 64th, and of each with an outlier or a flag."""
LONGEST_SLICE = 256
"""Reduction length up to which the leading inputs of a kept element are listed."""
LARGEST_SLICE = 12_500
"""Scalar operations behind an element up to which they are: one of a chain of reductions depends on everything."""


def kept_elements(
    bench: Bench, context: rows.Context, index: int, target: Target, output: int, values: Array, m: Measurement
) -> list[Row]:
    """Rows of the kept elements of one output; none of most trials."""
    sampled = index < SAMPLED_FIRST or index % SAMPLED_EVERY == 0
    if not (m.size and (sampled or m.flagged or m.above[0])):
        return []
    problem, seed = context.problem, context.seed
    yardstick = bench.rung(target.dtype).yardsticks[output]
    random = stream(problem.draw_id, seed, index, "elements").integers(m.size, size=2)
    flat = values.reshape(-1)
    chosen = [("worst", m.rho.index), ("relative", m.rel.index), ("absolute", _furthest(flat, yardstick.value))]
    chosen += [("random", int(i)) for i in random]
    found: list[Row] = []
    for kind, position in chosen:
        truth, bound = float(yardstick.value[position]), float(yardstick.bound[position])
        found.append(
            {
                "problem_id": problem.id,
                "seed": seed,
                "index": index,
                "output": context.output_names[output],
                "target": target.spelling(problem.home),
                "variant": "",
                "against": "truth",
                "trial": rows.trial_name(problem.id, index),
                "operator": problem.operator,
                "dtype": target.dtype,
                "kind": kind,
                "element": position,
                "value": float(flat[position]),
                "truth": truth,
                "bound": bound,
                "amplification": bound / abs(truth) if truth else float("inf"),
                "rho": float(yardstick.rho[position]),
                "inputs": _leading_inputs(bench, target, output, position),
            }
        )
    return found


def _furthest(flat: Array, truth: Array) -> int:
    """Position of the largest finite absolute error."""
    with np.errstate(all="ignore"):
        errors = np.abs(flat - truth)
    return int(np.argmax(np.where(np.isfinite(errors), errors, -1.0)))


def _leading_inputs(bench: Bench, target: Target, output: int, position: int) -> str:
    at: Any = tuple(int(i) for i in np.unravel_index(position, bench.output_shapes[output]))
    arrays = bench.rung(target.dtype).inputs()
    if bench.program.opaque:
        here = zip(bench.program.inputs, arrays, strict=True) if elementwise(bench.contract) else ()
        return rows.inputs_text(tuple((name, at, float(array[at])) for name, array in here))
    if bench.reduction_length > LONGEST_SLICE or slice_size(bench.program, output) > LARGEST_SLICE:
        return "[]"
    return rows.inputs_text(evaluate(bench.program, output, at, arrays, DependencyArithmetic()).inputs)
