"""Campaigns over many operators: one line an operator, backend and dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from results.tallies import AGAINST_TRUTH
from results.verdicts import NO_VALUE, VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

_NAMES = list(VERDICTS)


class Cell(Struct, frozen=True):
    """One operator on one target in one dtype, over all problems and outputs."""

    operator: str
    target: str
    dtype: str
    trials: int
    """Trials with a row."""
    flagged: int
    """Of these, trials with an element of rho > 2."""
    worst_verdict: str
    worst_rho: float | None
    """Outputs that are right but for subnormals read as zero are left out."""
    findings: bool
    """Whether a row of code that is not ours is a finding."""

    @property
    def severity(self) -> int:
        """Position of the worst verdict in the order of severity."""
        return VERDICTS[self.worst_verdict].severity

    @property
    def digits_lost(self) -> float | None:
        """log10 max(1, largest rho): decimal digits lost beyond what rounding and conditioning excuse."""
        return None if self.worst_rho is None else math.log10(max(1.0, self.worst_rho))

    @property
    def telling(self) -> bool:
        """Whether it needs a line of its own: flagged, or not within rounding for another reason."""
        return self.flagged > 0 or VERDICTS[self.worst_verdict].finding or self.worst_verdict == "indeterminate"

    @property
    def absent(self) -> bool:
        """Whether the backend does not offer the operator in this dtype."""
        return self.worst_verdict == "unsupported" and self.worst_verdict in NO_VALUE


def cells(results: Results) -> list[Cell]:
    """Operators with findings first, the most severe before the others; the targets of an operator together."""
    rows = results.tallied(f"""
        SELECT operator, target, dtype, sum(n)::BIGINT AS trials, sum(flagged)::BIGINT AS flagged,
               max(severity) AS severity, max(kept) AS worst_rho,
               bool_or(found AND provenance IS DISTINCT FROM 'composed') AS findings
        FROM outcomes JOIN verdicts ON verdict = name WHERE {AGAINST_TRUTH}
        GROUP BY operator, target, dtype ORDER BY operator, dtype, target
    """)
    found = [Cell(**row, worst_verdict=_NAMES[severity]) for row in rows for severity in [row.pop("severity")]]
    worst: dict[str, tuple[bool, int]] = {}
    for cell in found:
        worst[cell.operator] = max(worst.get(cell.operator, (False, 0)), (cell.findings, cell.severity))
    return sorted(found, key=lambda cell: (tuple(-int(part) for part in worst[cell.operator]), cell.operator))
