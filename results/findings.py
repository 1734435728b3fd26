"""Findings: what counts against an implementation, grouped so that one line is one thing to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.tallies import TRIAL_KEY

if TYPE_CHECKING:
    from results.reading import Results


class FindingGroup(Struct, frozen=True):
    """All trials in which one output of one target has one verdict that is a finding."""

    operator: str
    output: str
    target: str
    verdict: str
    provenance: str
    """library or user; composed in what `composed_findings` returns."""
    variants: str
    """The wrappers of the kernel under which it was seen, comma-separated; empty for the plain kernel."""
    trials: int
    of_trials: int
    """Trials that this target ran of this operator."""
    worst_rho: float | None
    """None where there was no output to measure."""
    worst_relative: float | None
    trial: str
    """Name of the trial with the largest rho, for `ulpfuzz repro`."""
    detail: str


def findings(results: Results) -> list[FindingGroup]:
    """Findings against libraries and user code, the most severe first; empty means nothing to blame.

    A row is a finding when its verdict is one (results/verdicts.py) and its provenance is not `composed`.
    """
    return _groups(results, "coalesce(m.provenance, '') <> 'composed'")


def composed_findings(results: Results) -> list[FindingGroup]:
    """The same for formulations that ulpfuzz composed from a library's primitives: not blamed on the library."""
    return _groups(results, "m.provenance = 'composed'")


def _groups(results: Results, whose: str) -> list[FindingGroup]:
    rows = results.records(f"""
        WITH found AS (
            SELECT m.*, v.severity, coalesce(m.rho_max, -1) AS size
            FROM measurements AS m JOIN verdicts AS v ON m.verdict = v.name
            WHERE v.finding AND {whose}
        )
        SELECT operator, coalesce(output, '') AS output, target, verdict,
               coalesce(any_value(provenance), '') AS provenance,
               coalesce(string_agg(DISTINCT variant, ', ' ORDER BY variant) FILTER (variant <> ''), '') AS variants,
               count(DISTINCT ({TRIAL_KEY})) AS trials, max(rho_max) AS worst_rho, max(rel_max) AS worst_relative,
               coalesce(arg_max(trial, size), '') AS trial,
               coalesce(arg_max(coalesce(detail, error, ''), size), '') AS detail
        FROM found GROUP BY operator, output, target, verdict
        ORDER BY any_value(severity) DESC, worst_rho DESC NULLS LAST, operator, output, target
    """)
    runs = _trials_run(results) if rows else {}
    return [FindingGroup(**row, of_trials=runs[row["operator"], row["target"]]) for row in rows]


def _trials_run(results: Results) -> dict[tuple[str, str], int]:
    rows = results.records(f"""
        SELECT operator, target, count(DISTINCT ({TRIAL_KEY})) AS n FROM measurements GROUP BY operator, target
    """)
    return {(row["operator"], row["target"]): row["n"] for row in rows}
