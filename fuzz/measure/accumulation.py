"""rho under the other models of accumulation: ideal, pairwise, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.oracle.bound import OutputTruth
from fuzz.oracle.models import Model
from fuzz.thresholds import FLAG, ORDER

Array = NDArray[Any]


def rho_by_model(truth: OutputTruth, bound: Array, rho: Array, worst: int) -> dict[str, float]:
    """rho at the worst element under the other models, and their maxima where they can matter.

    `bound` and `rho` are flat, those of the square-root model.
    """
    largest = float(rho[worst])
    lengths = [n for n in truth.parts if n > 1]
    if not lengths:
        return {"rho_ideal": largest, "rho_tree": largest, "rho_sequential": largest}
    figures: dict[str, float] = {}
    bound_here = float(bound[worst])
    for model, name in ((Model.IDEAL, "rho_ideal"), (Model.TREE, "rho_tree"), (Model.SEQUENTIAL, "rho_sequential")):
        here = sum(float(part.reshape(-1)[worst]) * (model.h(n) if n else 1.0) for n, part in truth.parts.items())
        figures[name] = largest * bound_here / here if here else 0.0
    looser = max(Model.SQRT.h(n) / Model.TREE.h(n) for n in lengths)
    if largest * looser > ORDER or largest > FLAG:
        for model, name in ((Model.TREE, "rho_tree_max"), (Model.SEQUENTIAL, "rho_sequential_max")):
            ratio = bound / truth.excused(model).reshape(-1)
            figures[name] = float(np.nanmax(rho * ratio))
    return figures
