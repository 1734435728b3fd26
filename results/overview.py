"""Campaigns of many problems: one line an operator and target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.tallies import AGAINST_TRUTH
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

_NAMES = list(VERDICTS)


class OperatorTally(Struct, frozen=True):
    """One operator on one target, over all problems and outputs."""

    operator: str
    target: str
    problems: int
    problems_flagged: int
    trials: int
    """Trials with an output to measure."""
    flagged: int
    worst_verdict: str
    worst_rho: float | None

    @property
    def severity(self) -> int:
        """Position of the worst verdict in the order of severity."""
        return VERDICTS[self.worst_verdict].severity


def operator_tallies(results: Results) -> list[OperatorTally]:
    """One tally for each operator and target, the most severe first."""
    rows = results.tallied(f"""
        SELECT operator, target, count(DISTINCT problem_id) AS problems,
               count(DISTINCT problem_id) FILTER (flagged > 0) AS problems_flagged,
               sum(judged)::BIGINT AS trials, sum(flagged)::BIGINT AS flagged,
               max(severity) AS severity, max(rho) AS worst_rho
        FROM outcomes LEFT JOIN verdicts ON verdict = name WHERE {AGAINST_TRUTH}
        GROUP BY operator, target ORDER BY severity DESC NULLS LAST, worst_rho DESC NULLS LAST, operator, target
    """)
    tallies = []
    for row in rows:
        severity = row.pop("severity")
        tallies.append(OperatorTally(**row, worst_verdict=_NAMES[severity or 0]))
    return tallies
