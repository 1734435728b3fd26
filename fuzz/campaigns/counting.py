"""Running counts over the rows of a campaign, as they arrive or as they are on disk."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fuzz.campaigns.snapshot import FindingCount, TargetCounts
from results.columns import COLUMNS
from results.store import Store
from results.verdicts import NO_VALUE, VERDICTS

_AT = {column.name: position for position, column in enumerate(COLUMNS)}
_TARGET, _AGAINST, _VARIANT, _TRIAL = (_AT[name] for name in ("target", "against", "variant", "trial"))
_OPERATOR, _VERDICT, _DETAIL, _PROVENANCE = (_AT[name] for name in ("operator", "verdict", "detail", "provenance"))
_TENTH, _HUNDREDTH, _FLAGGED, _RHO = (_AT[name] for name in ("above_1e01", "above_1e02", "flagged", "rho_max"))

_UNSUPPORTED, _NOT_RUN = "unsupported", "not run"
_FAILURES = NO_VALUE - {_UNSUPPORTED}
_FINDINGS = frozenset(name for name, verdict in VERDICTS.items() if verdict.finding)
_COMPOSED = "composed"


class _Target:
    """Counts of one target, and what the trial that came last has added to them: its other outputs add no more."""

    __slots__ = ("above_1e01", "above_1e02", "failures", "flagged", "measured", "seen", "trial", "trials")

    def __init__(self) -> None:
        self.trials = self.measured = self.above_1e01 = self.above_1e02 = self.flagged = 0
        self.failures: dict[str, int] = {}
        self.trial = ""
        self.seen = 0


class _Finding:
    __slots__ = ("last", "rho", "trial", "trials")

    def __init__(self) -> None:
        self.trials, self.rho = 0, -1.0
        self.trial = self.last = ""


_MEASURED, _HAS_TENTH, _HAS_HUNDREDTH, _HAS_FLAG, _FAILED = 1, 2, 4, 8, 16


class Counts:
    """Counts per target against the truth, and findings. The rows of a trial come together."""

    def __init__(self, targets: Iterable[str] = ()) -> None:
        self._targets = {target: _Target() for target in targets}
        self._findings: dict[tuple[str, str, str], _Finding] = {}

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Count rows, lists in the order of COLUMNS."""
        for row in rows:
            verdict = row[_VERDICT]
            if verdict in _FINDINGS and row[_PROVENANCE] != _COMPOSED:
                self._add_finding(row)
            if row[_AGAINST] == "truth" and not row[_VARIANT]:
                self._add_truth(row, verdict)

    def _add_truth(self, row: Sequence[Any], verdict: str | None) -> None:
        of = self._targets.get(row[_TARGET])
        if of is None:
            of = self._targets[row[_TARGET]] = _Target()
        if verdict == _UNSUPPORTED or (verdict == "indeterminate" and str(row[_DETAIL]).startswith(_NOT_RUN)):
            return
        if row[_TRIAL] != of.trial:
            of.trial, of.seen = row[_TRIAL], 0
            of.trials += 1
        seen = of.seen
        if row[_TENTH] is not None:
            if not seen & _MEASURED:
                seen |= _MEASURED
                of.measured += 1
            if row[_HUNDREDTH] and not seen & _HAS_HUNDREDTH:
                seen |= _HAS_HUNDREDTH
                of.above_1e02 += 1
            if row[_TENTH] and not seen & _HAS_TENTH:
                seen |= _HAS_TENTH
                of.above_1e01 += 1
            if row[_FLAGGED] and not seen & _HAS_FLAG:
                seen |= _HAS_FLAG
                of.flagged += 1
        elif verdict in _FAILURES and not seen & _FAILED:
            seen |= _FAILED
            of.failures[verdict] = of.failures.get(verdict, 0) + 1
        of.seen = seen

    def _add_finding(self, row: Sequence[Any]) -> None:
        key = row[_OPERATOR], row[_TARGET], row[_VERDICT]
        found = self._findings.get(key)
        if found is None:
            found = self._findings[key] = _Finding()
        if row[_TRIAL] != found.last:
            found.last = row[_TRIAL]
            found.trials += 1
        rho = _size(row[_RHO])
        if rho > found.rho or not found.trial:
            found.rho, found.trial = rho, row[_TRIAL]

    def load(self, directory: Path) -> None:
        """Start from what the campaign in `directory` has on disk, finished shards and partial ones alike."""
        from results.reading import open as open_results

        if not _has_rows(directory):
            return
        results = open_results(directory, verify=False)
        for row in results.records(_TARGETS_SQL):
            of = self._targets.setdefault(row["target"], _Target())
            of.trials += row["trials"]
            of.measured += row["measured"]
            of.above_1e01 += row["above_1e01"]
            of.above_1e02 += row["above_1e02"]
            of.flagged += row["flagged"]
        for row in results.records(_FAILURES_SQL):
            self._targets[row["target"]].failures[row["verdict"]] = row["trials"]
        for row in results.records(_FINDINGS_SQL):
            found = self._findings.setdefault((row["operator"], row["target"], row["verdict"]), _Finding())
            found.trials, found.rho, found.trial = row["trials"], row["rho"], row["trial"]

    def targets(self) -> tuple[TargetCounts, ...]:
        return tuple(
            TargetCounts(
                target,
                of.trials,
                of.measured,
                of.above_1e01,
                of.above_1e02,
                of.flagged,
                tuple(sorted(of.failures.items())),
            )
            for target, of in list(self._targets.items())
        )

    def findings(self) -> list[FindingCount]:
        """The most severe first, then the largest, in the order of `ulpfuzz report`."""
        found = [
            FindingCount(*key, of.trials, of.trial, of.rho if 0 <= of.rho < math.inf else None)
            for key, of in list(self._findings.items())
        ]
        return sorted(
            found,
            key=lambda one: (-VERDICTS[one.verdict].severity, -(one.worst_rho or 0.0), one.operator, one.target),
        )


def trials_on_disk(directory: Path) -> int:
    """How many trials have rows in the campaign."""
    from results.reading import open as open_results

    if not _has_rows(directory):
        return 0
    results = open_results(directory, verify=False)
    (row,) = results.records('SELECT count(*) AS n FROM (SELECT DISTINCT problem_id, seed, "index" FROM measurements)')
    return int(row["n"])


def _has_rows(directory: Path) -> bool:
    """Whether any trial is finished."""
    store = Store(directory)
    return bool(store.done() or store.partial())


def _size(rho: float | None) -> float:
    """rho to compare by: what cannot be measured is below everything, NaN above."""
    return -1.0 if rho is None else math.inf if math.isnan(rho) else rho


_RAN = f"verdict <> '{_UNSUPPORTED}' AND NOT (verdict = 'indeterminate' AND coalesce(detail, '') LIKE '{_NOT_RUN}%')"
_BY_TRIAL = """(
    SELECT target, problem_id, "index", bool_or(above_1e01 IS NOT NULL) AS measured, bool_or(above_1e01 > 0) AS tenth,
           bool_or(above_1e02 > 0) AS hundredth, bool_or(flagged > 0) AS flagged
    FROM trials WHERE coalesce(RAN, true) GROUP BY ALL
)""".replace("RAN", _RAN)
_TARGETS_SQL = f"""
    SELECT target, count(*) AS trials, count(*) FILTER (measured) AS measured, count(*) FILTER (tenth) AS above_1e01,
           count(*) FILTER (hundredth) AS above_1e02, count(*) FILTER (flagged) AS flagged
    FROM {_BY_TRIAL} GROUP BY target ORDER BY target
"""
_FAILURES_SQL = f"""
    SELECT target, verdict, count(DISTINCT (problem_id, "index")) AS trials
    FROM trials WHERE verdict IN ({", ".join(f"'{name}'" for name in sorted(_FAILURES))}) GROUP BY ALL ORDER BY ALL
"""
_FINDINGS_SQL = f"""
    SELECT operator, target, verdict, count(DISTINCT (problem_id, "index")) AS trials,
           arg_max(trial, size) AS trial, max(size) AS rho
    FROM (SELECT *, CASE WHEN rho_max IS NULL THEN -1 WHEN isnan(rho_max) THEN 'infinity'::DOUBLE ELSE rho_max END
                    AS size
          FROM measurements WHERE verdict IN ({", ".join(f"'{name}'" for name in sorted(_FINDINGS))})
                            AND coalesce(provenance, '') <> '{_COMPOSED}')
    GROUP BY operator, target, verdict ORDER BY ALL
"""
