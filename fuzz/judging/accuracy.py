"""Figures for the accuracy table: what a row needs where the inputs are all numbers of a format."""

from __future__ import annotations

import math

import numpy as np

from fuzz.backends.base import Array
from fuzz.judging.nearest import Nearest
from fuzz.measure import Measurement
from fuzz.workbench import Bench, Rung
from results.columns import Row
from strategies.problem import Problem
from strategies.recipes import Bits


def counts(problem: Problem) -> bool:
    """Whether the inputs of `problem` are those of an accuracy table."""
    return all(isinstance(recipe, Bits) for recipe in problem.recipes) and len(problem.recipes) == 1


def figures(bench: Bench, rung: Rung, output: int, values: Array, m: Measurement, nearest: Nearest | None) -> Row:
    """Columns on the worst inputs of a function of one number, and on how many results are correctly rounded.

    The yardstick holds the errors of `values`; `nearest` is None where the truth is not that much wider.
    """
    x = rung.inputs()[0].reshape(-1)
    if not m.size or x.size != m.size:
        return {}
    yardstick = rung.yardsticks[output]
    flat, normal = values.reshape(-1), (m.ulp_max, m.ulp_index)
    least = yardstick.precision.smallest_normal
    if not _normal(float(x[m.ulp_index]), float(yardstick.value[m.ulp_index]), least):
        normal = yardstick.largest_ulp_at(_normals(x, yardstick.value, least))
    row: Row = {
        "ulp_value": float(flat[m.ulp_index]),
        "ulp_truth": float(yardstick.value[m.ulp_index]),
        "ulp_input": float(x[m.ulp_index]),
    }
    if normal[1] >= 0:
        row |= {"ulp_normal_max": normal[0], "ulp_normal_input": float(x[normal[1]])}
    if m.first_mismatch >= 0:
        row["nonfinite_input"] = float(x[m.first_mismatch])
    if nearest is not None:
        row |= {"correctly_rounded": nearest.rounded(values), "rounding_undecided": len(nearest.undecided)}
    return row


def _normal(x: float, truth: float, least: float) -> bool:
    return (abs(x) >= least or x == 0) and (math.isnan(truth) or abs(truth) >= least)


def _normals(x: Array, truth: Array, least: float) -> Array:
    """Positions where neither the input nor the result is subnormal."""
    with np.errstate(all="ignore"):
        wide = np.abs(x.astype(np.float64))
        chosen: Array = ((wide >= least) | (wide == 0)) & ((np.abs(truth) >= least) | (truth == 0))
    return np.flatnonzero(chosen)
