"""All planted faults, and what a number of trials makes of each."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import planted_functions
import planted_products
import planted_statistics
from planted_defects import DEFECTS, Defect, run

from results.verdicts import VERDICTS

FLAGGED_SHARE, NAMED_SHARE = 0.95, 0.9
"""Least share of trials that are findings, and of findings that have the verdict due."""

NEW: tuple[Defect, ...] = (*planted_statistics.FAULTS, *planted_products.FAULTS, *planted_functions.FAULTS)
ALL: tuple[Defect, ...] = (*DEFECTS, *NEW)


def identify(defect: Defect) -> str:
    return f"{defect.operator}-{defect.name}-{defect.dtype}"


class Score(NamedTuple):
    """What the trials of one planted fault showed."""

    defect: Defect
    trials: int
    flagged: int
    named: int
    seen: Counter[str]
    largest: float
    other: str
    """Why the first trial with another verdict got it."""

    @property
    def harmless(self) -> bool:
        """Whether the verdict due accuses nobody."""
        return not any(VERDICTS[verdict].finding for verdict in self.defect.verdicts)

    @property
    def passed(self) -> bool:
        if self.harmless:
            return not self.flagged and self.named >= NAMED_SHARE * self.trials
        return self.flagged >= FLAGGED_SHARE * self.trials and self.named >= NAMED_SHARE * self.flagged


def score(defect: Defect, trials: int, seed: int = 0) -> Score:
    rows = run(defect, trials, seed)
    seen = Counter(str(row["verdict"]) for row in rows)
    return Score(
        defect,
        len(rows),
        sum(count for verdict, count in seen.items() if VERDICTS[verdict].finding),
        sum(seen[verdict] for verdict in defect.verdicts),
        seen,
        max(max(float(row.get("rho_max") or 0), float(row.get("rung_rho") or 0)) for row in rows),
        next((str(row["detail"]) for row in rows if row["verdict"] not in defect.verdicts), ""),
    )
