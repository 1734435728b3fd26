"""Rows of every kind that a running campaign counts, as lists of cells."""

from __future__ import annotations

import math
from typing import Any

from results.columns import COLUMNS


def row(trial: int, target: str = "a", **cells: Any) -> list[Any]:
    values = {
        "problem_id": "p" * 16,
        "seed": 0,
        "index": trial,
        "trial": f"pppppppp-{trial}",
        "operator": "sum",
        "output": "y",
        "variant": "",
        "against": "truth",
        "target": target,
        "verdict": "rounding",
        "provenance": "library",
        "above_1e01": 0,
        "above_1e02": 0,
        "flagged": 0,
        "rho_max": 0.5,
    } | cells
    return [values.get(column.name) for column in COLUMNS]


NONE = {"above_1e01": None, "above_1e02": None, "flagged": None, "rho_max": None}
MIXED = [
    row(0, above_1e01=3, above_1e02=9),
    row(0, output="z", above_1e01=1, above_1e02=1, flagged=1, verdict="unstable", rho_max=7.0),
    row(0, "b", verdict="crashed", **NONE),
    row(0, "b", output="z", verdict="crashed", **NONE),
    row(0, "a", against="b", above_1e01=5, above_1e02=5, flagged=5),
    row(1, above_1e02=1, flagged=2, verdict="unstable", rho_max=50.0),
    row(1, output="z", verdict="unstable", rho_max=3.0),
    row(1, "b", verdict="unsupported", **NONE),
    row(2, "b", verdict="indeterminate", detail="not run: quarantined", **NONE),
    row(2, "a", variant="batch[8]", above_1e01=1, verdict="batch_variant"),
    row(3, "c", verdict="unstable", provenance="composed", flagged=1),
    row(4, "c", verdict="wrong", rho_max=math.nan, flagged=1, above_1e01=1, above_1e02=1),
]
