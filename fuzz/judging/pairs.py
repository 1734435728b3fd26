"""Rows of two targets against each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuzz.execution import Failure, Outcome
from fuzz.judging import rows
from fuzz.measure import Measurement
from fuzz.targets import Target
from fuzz.thresholds import ACCEPT, FLAG, ill_conditioned_above
from fuzz.workbench import Bench
from results.columns import Cell, Row

_LEFT_OUT = ("nan_count", "inf_count", "nonfinite_mismatch", "overflow_explained")
"""Columns that count elements which do not enter the rms error."""


def pair_rows(
    bench: Bench, context: rows.Context, index: int, one: Target, a: Outcome, other: Target, b: Outcome
) -> list[Row]:
    """A row for each output: `one`, whose outcome is `a`, against `other`, whose outcome is `b`."""
    coarser = max((one.dtype, other.dtype), key=lambda dtype: bench.rung(dtype).yardsticks[0].u)
    found = []
    for output in range(len(bench.output_shapes)):
        row = context.row(index, output, one, other.spelling(bench.problem.home), a.implementation)
        if isinstance(a, Failure) or isinstance(b, Failure):
            row["detail"] = "one side has no output"
        else:
            yardstick = bench.rung(coarser).yardsticks[output]
            wide = np.result_type(*(bench.rung(t.dtype).bound.wide for t in (one, other)))
            pair = bench.pair(output, wide)
            measured = pair.compare(a.values[output], b.values[output], yardstick)
            row |= rows.figures(measured) | pair_verdict(measured, yardstick.u)
        found.append(row)
    return found


def with_ratios(pairs: Sequence[Row], rows: Sequence[Row]) -> None:
    """Write into rows of two targets which is closer to the truth, from the rows of a trial against the truth.

    An output of which elements were left out, as they are not finite, has no error to compare with another's.
    """
    errors = {
        (row["target"], row["output"]): row.get("abs_rms")
        for row in rows
        if row["against"] == "truth" and not row["variant"] and not any(row.get(name) for name in _LEFT_OUT)
    }
    for pair in pairs:
        one, other = (errors.get((pair[side], pair["output"])) for side in ("target", "against"))
        pair["rms_ratio"] = _ratio(one, other)


def _ratio(one: Cell, other: Cell) -> float | None:
    """one / other of two rms errors; 1 where they are equal, None where one is missing or not finite."""
    if not (isinstance(one, float) and isinstance(other, float) and math.isfinite(one) and math.isfinite(other)):
        return None
    if one == other:
        return 1.0
    return one / other if other else math.inf


def pair_verdict(m: Measurement, u: float) -> Row:
    """Two roundings are allowed one bound each. Beyond that the truth rows say whose error it is, not the pair."""
    if m.equal:
        return {"verdict": "exact", "detail": "bitwise equal"}
    if m.nonfinite_mismatch or m.rho.largest > FLAG:
        return {
            "detail": f"differ by {m.rho.largest:.3g} times what two roundings allow: see either side against the truth"
        }
    if m.rho.largest > ACCEPT:
        return {"verdict": "borderline", "detail": f"rho {m.rho.largest:.3g} of two roundings"}
    detail = f"relative difference {m.rel.largest:.2g}, rho {m.rho.largest:.2g} of two roundings"
    return {"verdict": "ill_conditioned" if m.rel.largest > ill_conditioned_above(u) else "rounding", "detail": detail}
