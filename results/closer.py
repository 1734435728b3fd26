"""Which of the two targets of each pair is closer to the truth: the sign test over the trials of a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from results.errors import RefusedQuantity, ResultsError
from results.permitted import require
from results.statistics.closer import Closer, closer_to_truth
from results.statistics.multiple import false_discovery
from results.tallies import PAIRS, PLAIN

if TYPE_CHECKING:
    from results.reading import Results

_KEYS = ("operator", "problem_id", "dtype", "output", "first", "second")

_QUERY = f"""
    WITH pairs AS (
        SELECT DISTINCT problem_id, seed, "index", output, target AS first, against AS second
        FROM measurements WHERE {PAIRS}
    ), against_truth AS (
        SELECT problem_id, seed, "index", output, target, operator, dtype, abs_rms
        FROM measurements WHERE against = 'truth' AND {PLAIN} AND abs_rms IS NOT NULL AND isfinite(abs_rms)
    )
    SELECT one.operator, pairs.problem_id, one.dtype, pairs.output, first, second,
           one.abs_rms AS rms_first, other.abs_rms AS rms_second
    FROM pairs
    JOIN against_truth one ON one.problem_id = pairs.problem_id AND one.seed = pairs.seed
        AND one."index" = pairs."index" AND one.output = pairs.output AND one.target = pairs.first
    JOIN against_truth other ON other.problem_id = pairs.problem_id AND other.seed = pairs.seed
        AND other."index" = pairs."index" AND other.output = pairs.output AND other.target = pairs.second
    ORDER BY one.operator, pairs.problem_id, one.dtype, pairs.output, first, second
"""


class CloserLine(Struct, frozen=True):
    """One output of one operator, and one pair of targets."""

    operator: str
    problem_id: str
    """Empty where the trials of all problems are one sample."""
    dtype: str
    """Of the first target."""
    output: str
    first: str
    second: str
    found: Closer
    adjusted: float | None = None
    """p after Benjamini and Hochberg over all lines of the campaign."""

    @property
    def closer(self) -> str:
        """The target that is closer to the truth; empty where neither is."""
        if self.adjusted is None or not self.found.differs or self.adjusted >= 0.05:
            return ""
        return self.first if self.found.first_closer > self.found.second_closer else self.second


class CloserLines(Struct, frozen=True):
    """All lines of a campaign, or why there is none."""

    lines: tuple[CloserLine, ...] = ()
    refused: str = ""


def closer_lines(results: Results) -> CloserLines:
    """The comparison of every pair that the campaign names. Nothing where it names none."""
    if not results.records(f"SELECT 1 FROM measurements WHERE {PAIRS} LIMIT 1"):
        return CloserLines()
    table = results.sql(_QUERY)
    if not table.num_rows:
        return CloserLines()
    apart = results.plan == "fixed"  # its problems were chosen: each is a question of its own
    columns = {name: np.asarray(table.column(name).to_pylist(), object) for name in _KEYS}
    problems = len(set(columns["problem_id"].tolist()))
    try:
        require("paired", results.plan, problems=1 if apart else problems, repeated=_repeated(table.num_rows, columns))
    except (RefusedQuantity, ResultsError) as refusal:
        return CloserLines(refused=str(refusal))
    groups: dict[tuple[str, str, str, str, str, str], list[int]] = {}
    for place, key in enumerate(zip(*(columns[name].tolist() for name in _KEYS), strict=True)):
        operator, problem, dtype, output, one, other = key
        groups.setdefault((operator, problem if apart else "", dtype, output, one, other), []).append(place)
    first, second = (table.column(name).to_numpy() for name in ("rms_first", "rms_second"))
    found = [closer_to_truth(first[at], second[at]) for at in groups.values()]
    adjusted = false_discovery([one.p for one in found])
    return CloserLines(
        tuple(
            CloserLine(operator, problem, dtype, output, one, other, compared, p)
            for (operator, problem, dtype, output, one, other), compared, p in zip(groups, found, adjusted, strict=True)
        )
    )


def _repeated(rows: int, columns: dict[str, npt.NDArray[np.object_]]) -> bool:
    """Whether a problem has several trials of an output and pair."""
    return len(set(zip(*(columns[name].tolist() for name in _KEYS), strict=True))) < rows
