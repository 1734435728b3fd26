"""What was seen, per target and per pair: trials counted, worst values found. DuckDB does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.columns import INTERNAL
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

TRIAL_KEY = 'problem_id, seed, "index"'
"""Columns that name a trial, in SQL."""

PLAIN = "(variant = '' OR variant IS NULL)"
"""Rows of the kernel as it is, not of a variant; true or false, and quicker than with coalesce."""

AGAINST_TRUTH = f"against = 'truth' AND {PLAIN}"
"""Rows of the view `trials`."""

PAIRS = f"against <> 'truth' AND {PLAIN}"
"""Rows that compare two targets."""

_NAMES = list(VERDICTS)


class Tally(Struct, frozen=True):
    """One target against the truth or against another target. A trial counts once, with its worst output."""

    target: str
    against: str
    run: int
    """Trials with a row."""
    trials: int
    """Of these, trials with an output to measure."""
    above_1e01: int
    above_1e02: int
    flagged: int
    """Trials with an element of rho > 2."""
    worst_relative: float | None
    amplification: float | None
    """Amplification at the element of the worst relative error."""
    worst_ulp: float | None
    worst_rho: float | None
    worst_verdict: str | None
    internal: str | None = None
    """Precision inside that explains the results of all trials; None where no target has a 16-bit dtype."""


def against_truth(results: Results) -> list[Tally]:
    """One tally a target, in alphabetical order."""
    return _tallies(results, AGAINST_TRUTH)


def between_targets(results: Results) -> list[Tally]:
    """One tally a pair of targets that were compared with each other."""
    return _tallies(results, PAIRS)


def verdict_counts(results: Results) -> dict[str, dict[str, int]]:
    """Trials by target and verdict against the truth. A trial has the most severe verdict of its outputs."""
    rows = results.tallied(f"""
        SELECT target, severity, sum(n)::BIGINT AS trials FROM outcomes JOIN verdicts ON verdict = name
        WHERE {AGAINST_TRUTH} GROUP BY target, severity ORDER BY target, severity
    """)
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row["target"], {})[_NAMES[row["severity"]]] = row["trials"]
    return counts


def _tallies(results: Results, where: str) -> list[Tally]:
    rows = results.tallied(f"""
        SELECT target, against, sum(n)::BIGINT AS run, sum(measured)::BIGINT AS trials,
               sum(a1)::BIGINT AS above_1e01, sum(a2)::BIGINT AS above_1e02, sum(flagged)::BIGINT AS flagged,
               max(relative) AS worst_relative, arg_max(amplification, relative) AS amplification,
               max(ulp) AS worst_ulp, max(rho) AS worst_rho, max(severity) AS severity, max(inside) AS inside
        FROM outcomes LEFT JOIN verdicts ON verdict = name WHERE {where}
        GROUP BY target, against ORDER BY target, against
    """)
    return [_tally(row) for row in rows]


def _tally(row: dict[str, Any]) -> Tally:
    severity, inside = row.pop("severity"), row.pop("inside")
    return Tally(
        **row,
        worst_verdict=None if severity is None else _NAMES[severity],
        internal=None if inside is None else INTERNAL[inside - 1],
    )
