"""Rows from figures: the columns of results.columns filled from the engine's values. Pure."""

from __future__ import annotations

import functools
import json
from typing import Any

from msgspec import Struct

from fuzz.backends.base import Implementation
from fuzz.judging.judge import Judgement, Ladder
from fuzz.measure import Measurement
from fuzz.measure.allowance import rounded_up
from fuzz.oracle.constants import DEFAULT_PROFILE
from fuzz.targets import Target
from fuzz.thresholds import FLAG
from results.columns import ALLOWANCES, RUNGS, Row, allowance_column, rung_column
from strategies.canonical import canonical
from strategies.problem import Problem

_RUNG_NAMES = tuple(rung_column(k) for k in RUNGS)
_ALLOWANCE_NAMES = tuple(allowance_column(k) for k in ALLOWANCES)


def trial_name(problem_id: str, index: int) -> str:
    """Short name of a trial: eight digits of the problem and the number of the draw."""
    return f"{problem_id[:8]}-{index}"


class Context(Struct, frozen=True):
    """What all rows of one problem share."""

    problem: Problem
    seed: int
    environment: str
    elements: tuple[int, ...]
    """Size of each output."""
    output_names: tuple[str, ...]
    reduction_length: int

    def row(self, index: int, output: int, target: Target, against: str, implementation: Implementation | None) -> Row:
        """Key and description of one row."""
        row = dict(_fixed(self.problem, target))
        row |= {
            "seed": self.seed,
            "index": index,
            "output": self.output_names[output],
            "against": against,
            "trial": trial_name(self.problem.id, index),
            "elements": self.elements[output],
            "reduction_length": self.reduction_length,
            "environment": self.environment,
        }
        if implementation is not None:
            row["implementation"] = implementation.name
            row["provenance"] = implementation.provenance
        return row


@functools.lru_cache(maxsize=1024)
def _fixed(problem: Problem, target: Target) -> Row:
    return {
        "problem_id": problem.id,
        "target": target.spelling(problem.home),
        "variant": "",
        "draw_id": problem.draw_id,
        "operator": problem.operator,
        "attributes": canonical(dict(problem.attributes)),
        "dims": ",".join(f"{name}={size}" for name, size in problem.dims),
        "recipes": "; ".join(f"{','.join(recipe.fills)}={recipe.expression()}" for recipe in problem.recipes),
        "home": problem.home,
        "backend": target.backend,
        "device": target.device,
        "options": ",".join(f"{key}={value}" for key, value in target.options),
        "dtype": target.dtype,
    }


def figures(m: Measurement) -> Row:
    """Columns of a measurement, against the truth or against another target."""
    row: Row = {
        "abs_max": m.abs_max,
        "abs_rms": m.abs_rms,
        "abs_mean": m.abs_mean,
        "rel_max": m.rel.largest,
        "rel_index": m.rel.index,
        "rel_value": m.rel.value,
        "rel_truth": m.rel.truth,
        "rel_amplification": m.rel.amplification,
        "rho_max": m.rho.largest,
        "rho_index": m.rho.index,
        "rho_value": m.rho.value,
        "rho_truth": m.rho.truth,
        "rho_amplification": m.rho.amplification,
        "nan_count": m.nan_count,
        "inf_count": m.inf_count,
        "nonfinite_mismatch": m.nonfinite_mismatch,
        "overflow_explained": m.overflow_explained,
        "truth_mean": rounded_up(m.truth_mean),
    }
    row.update(zip(_RUNG_NAMES, m.above, strict=True))
    row.update(zip(_ALLOWANCE_NAMES, m.atols, strict=True))
    return row


def truth_figures(m: Measurement, ladder: Ladder | None, known_by: str) -> Row:
    """Columns that only a comparison with the truth has."""
    row: Row = {
        "ulp_max": m.ulp_max,
        "ulp_index": m.ulp_index,
        "rho_ideal": m.rho_ideal,
        "rho_tree": m.rho_tree,
        "rho_sequential": m.rho_sequential,
        "rho_tree_max": m.rho_tree_max,
        "rho_mean": m.rho_mean,
        "rho_internal": m.rho_internal,
        "internal": _internal(m),
        "flagged": m.flagged,
        "profile": DEFAULT_PROFILE,
        "known_by": known_by,
    }
    if ladder is not None:
        row |= {"rung_dtype": ladder.rung_dtype, "rung_rho": ladder.rung_rho, "rung_slope": ladder.slope}
        row["rung_abs"] = ladder.rung_abs
    return row


def _internal(m: Measurement) -> str | None:
    """Which precision inside explains a 16-bit result: see the column `internal`."""
    if m.rho_internal is None:
        return None
    if m.rho_internal <= FLAG:
        return "float32"
    return "storage" if m.rho.largest <= FLAG else "beyond"


def verdict(j: Judgement) -> Row:
    return {"verdict": j.verdict, "detail": j.detail}


def inputs_text(inputs: tuple[tuple[str, tuple[int, ...], float], ...], limit: int = 16) -> str:
    """The leading inputs of an element as canonical JSON: [name, index, value]."""
    leading: list[list[Any]] = [[name, list(index), value] for name, index, value in inputs[:limit]]
    return json.dumps(json.loads(canonical(leading)), separators=(",", ":"))
