"""Findings: what counts against an implementation, grouped so that one line is one thing to look at."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.libraries import versions_of
from results.outcomes import FINDINGS, NOT_RUN, RAN, among, quoted_list
from results.quoting import quoted
from results.rates import interval
from results.statistics.proportions import Interval
from results.tallies import PLAIN, TRIAL_KEY
from results.verdicts import NO_VALUE

if TYPE_CHECKING:
    from results.reading import Results

SIGNATURE = ("operator", "output", "backend", "device", "options", "dtype", "verdict", "against", "region")
"""What makes two findings one. Nothing in it depends on a campaign, a machine or a version."""

ID_DIGITS = 10
"""Forty bits: among a thousand findings two ids agree by chance once in two million cases."""

WIDER_ONLY = "only the wider precision shows it"
"""What the detail of a finding says where the target's own dtype is healthy, as its ladder was climbed unasked."""

_TARGET = ("operator", "backend", "device", "options", "dtype")
_OF_THE_CALL = NO_VALUE | {"input_modified", "out_of_bounds_write", "dtype_mismatch"}
"""Verdicts of a whole call: all outputs have them, and the finding is none of one output."""

ANY_SCHEDULE = "regexp_replace(coalesce(options, ''), 'schedule=[0-9.]+', 'schedule=any')"
"""In SQL, the options of a target, all its schedules taken together: a defect that many random ones meet is one."""


def any_schedule(options: str) -> str:
    """The same in Python: "schedule=2.1" as "schedule=any"."""
    return re.sub(r"schedule=[0-9.]+", "schedule=any", options, count=1)


_COLUMNS = {name: f"coalesce({name}, '') AS {name}" for name in SIGNATURE} | {
    "options": f"{ANY_SCHEDULE} AS options",
    "output": f"CASE WHEN verdict IN {tuple(sorted(_OF_THE_CALL))} THEN '' ELSE coalesce(output, '') END AS output",
    "against": "CASE WHEN against = 'truth' THEN 'truth' ELSE 'target' END AS against",
}
COMPOSED = "composed"
"""Provenance of formulations that ulpfuzz wrote from a library's primitives."""
_BLAMED = "coalesce(provenance, '') <> 'composed'"
_COMPOSED = "provenance = 'composed'"


class FindingGroup(Struct, frozen=True, kw_only=True):
    """All trials with one signature: one defect, or a few that look alike."""

    operator: str
    output: str
    """Empty where the whole call failed."""
    backend: str
    device: str
    options: str
    dtype: str
    verdict: str
    against: str
    """truth, or target where the row compares two targets."""
    region: str
    """Where, coarsely (docs/findings.md); empty in campaigns written before the column existed."""
    target: str
    provenance: str
    """library or user; composed in what `composed_findings` returns."""
    variants: str
    """The wrappers of the kernel under which it was seen, comma-separated; empty for the plain kernel."""
    trials: int
    of_trials: int
    """Trials that this target ran of this operator in this dtype."""
    not_run: int
    """Trials not run because the target had ended too many workers."""
    rate: Interval | None
    """trials / of_trials with its 95 % interval; None where the plan supports none (docs/findings.md)."""
    worst_rho: float | None
    """None where there was no output to measure."""
    worst_relative: float | None
    worst_ulp: float | None
    trial: str
    """Name of the trial with the largest rho, for `ulpfuzz repro`."""
    detail: str
    environments: tuple[str, ...]
    """Hashes of the environments it was seen in, the first first."""
    versions: tuple[tuple[str, tuple[str, ...]], ...]
    """Versions of the library concerned in these environments, by distribution."""

    @property
    def signature(self) -> dict[str, str]:
        """What the id is a hash of."""
        return {name: getattr(self, name) for name in SIGNATURE}

    @property
    def id(self) -> str:
        """Ten hexadecimal digits, the same in every campaign."""
        return finding_id(self.signature)

    @property
    def title(self) -> str:
        """The finding in one sentence."""
        seen = ", seen in the wider precision only" if WIDER_ONLY in self.detail else ""
        return f"{self.subject}: {self.verdict}{self.where}{seen}"

    @property
    def subject(self) -> str:
        """Who and what: target, operator, output, dtype."""
        output = f" ({self.output})" if self.output else ""
        return f"{self.target} {self.operator}{output} in {self.dtype}"

    @property
    def where(self) -> str:
        """The region behind a comma; nothing where it says "any"."""
        return "" if not self.region or self.region.startswith("any ") else f", {self.region}"


class Accusation(Struct, frozen=True):
    """Trials of one operator in which one target has one verdict, over all outputs, dtypes and regions."""

    operator: str
    target: str
    verdict: str
    trials: int
    of_trials: int


def finding_id(signature: Mapping[str, str]) -> str:
    """The id of a signature (a value for each name in SIGNATURE)."""
    text = json.dumps({name: signature[name] for name in SIGNATURE}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def findings(results: Results) -> list[FindingGroup]:
    """Findings against libraries and user code, the most severe first; empty means nothing to blame.

    A row is a finding when its verdict is one (results/verdicts.py) and its provenance is not `composed`. Read from
    findings.parquet where that was made of the same rows, else computed.
    """
    kept = _kept(results)
    return _groups(results, _BLAMED) if kept is None else [group for group in kept if group.provenance != COMPOSED]


def composed_findings(results: Results) -> list[FindingGroup]:
    """The same for formulations that ulpfuzz composed from a library's primitives: not blamed on the library."""
    kept = _kept(results)
    return _groups(results, _COMPOSED) if kept is None else [group for group in kept if group.provenance == COMPOSED]


def computed(results: Results) -> list[FindingGroup]:
    """All of them, from the rows: what findings.parquet holds."""
    return [*_groups(results, _BLAMED), *_groups(results, _COMPOSED)]


def _kept(results: Results) -> list[FindingGroup] | None:
    from results.findings_file import read_findings

    return read_findings(results.directories[0], results.covered) if len(results.directories) == 1 else None


def trials_of(results: Results, group: FindingGroup) -> tuple[str, ...]:
    """The trials that have this finding, each as problem_id/seed/index, sorted."""
    where = " AND ".join(f"{name} = {quoted(value)}" for name, value in group.signature.items())
    rows = results.records(f"""
        SELECT DISTINCT concat(problem_id, '/', seed, '/', "index") AS trial FROM (
            SELECT {", ".join(_COLUMNS.values())}, {TRIAL_KEY}
            FROM measurements AS m JOIN verdicts AS v ON m.verdict = v.name WHERE v.finding AND {_BLAMED}
        ) WHERE {where} ORDER BY trial
    """)
    return tuple(row["trial"] for row in rows)


def accusations(results: Results) -> list[Accusation]:
    """What the headline says: findings by target, verdict and operator, the most severe first."""
    rows = results.tallied("""
        SELECT operator, target, verdict, trials FROM accused JOIN verdicts ON verdict = name WHERE NOT composed
        ORDER BY severity DESC, rho DESC NULLS LAST, operator, target
    """)
    counted = results.tallied("SELECT operator, target, sum(trials)::BIGINT AS n FROM ran GROUP BY ALL") if rows else []
    ran = {(row["operator"], row["target"]): row["n"] for row in counted}
    return [
        Accusation(**row, of_trials=max(row["trials"], ran.get((row["operator"], row["target"]), 0))) for row in rows
    ]


def _suspects(results: Results, whose: str) -> str:
    """In SQL, the rows of problems that have a finding at all; empty where none has. Of others no row is read."""
    found = results.tallied(f"SELECT DISTINCT operator, problem_id FROM outcomes WHERE found AND {whose}")
    return among(found) if found else ""


def _groups(results: Results, whose: str) -> list[FindingGroup]:
    suspects = _suspects(results, whose)
    if not suspects:
        return []
    names = ", ".join(SIGNATURE)
    found = f"""
        SELECT {", ".join(_COLUMNS.values())}, target, provenance, variant, {TRIAL_KEY}, rho_max, rel_max, ulp_max,
               trial, coalesce(detail, error, '') AS detail, environment, v.severity
        FROM measurements AS m JOIN verdicts AS v ON m.verdict = v.name
        WHERE {suspects} AND m.verdict IN ({FINDINGS}) AND {whose}
    """
    rows = results.records(f"""
        WITH found AS ({found}), ordered AS (
            SELECT *, row_number() OVER (
                PARTITION BY {names} ORDER BY coalesce(rho_max, -1) DESC, "index", problem_id, seed, variant
            ) = 1 AS worst FROM found
        )
        SELECT {names}, min(target) AS target, coalesce(min(provenance), '') AS provenance,
               coalesce(string_agg(DISTINCT variant, ', ' ORDER BY variant) FILTER (variant <> ''), '') AS variants,
               count(DISTINCT ({TRIAL_KEY})) AS trials, max(rho_max) AS worst_rho, max(rel_max) AS worst_relative,
               max(ulp_max) AS worst_ulp, coalesce(any_value(trial) FILTER (worst), '') AS trial,
               any_value(detail) FILTER (worst) AS detail
        FROM ordered GROUP BY {names}
        ORDER BY any_value(severity) DESC, worst_rho DESC NULLS LAST, {names}
    """)
    if not rows:
        return []
    ran, seen = _ran(results), _environments(results, found, [_key(row, SIGNATURE) for row in rows])
    return [_group(results, row, ran[_key(row, _TARGET)], seen.get(_key(row, SIGNATURE), ())) for row in rows]


def _group(results: Results, row: dict[str, Any], ran: dict[str, Any], environments: Sequence[str]) -> FindingGroup:
    of_trials = max(row["trials"], ran["n"])
    return FindingGroup(
        **row,
        of_trials=of_trials,
        not_run=ran["not_run"],
        rate=interval(results, row["trials"], of_trials) if _has_rate(results, ran["problems"]) else None,
        environments=tuple(environments),
        versions=versions_of(row["backend"], [results.environments.get(name, {}) for name in environments]),
    )


def _ran(results: Results) -> dict[tuple[str, ...], dict[str, Any]]:
    """Trials run and not run, and problems, by operator and target."""
    who = ", ".join(_COLUMNS[name] for name in _TARGET)
    counted = results.tallied(f"""
        SELECT r.*, p.problems FROM (
            SELECT {who}, sum(trials)::BIGINT AS n, sum(not_run)::BIGINT AS not_run, count(*) AS targets
            FROM ran GROUP BY ALL) AS r
        JOIN (SELECT {who}, count(DISTINCT problem_id) AS problems FROM outcomes GROUP BY ALL) AS p
        USING ({", ".join(_TARGET)})
    """)
    found = {_key(row, _TARGET): row for row in counted}
    shared = [row for row in counted if row["targets"] > 1]
    return found | (_ran_together(results, shared) if shared else {})


def _ran_together(results: Results, shared: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The same where several targets, schedules of one, are taken for one: a trial counts once for all of them."""
    operators, backends = (quoted_list({row[name] for row in shared}) for name in ("operator", "backend"))
    rows = results.records(f"""
        SELECT {", ".join(_TARGET)}, count(*) FILTER (ran) AS n, count(*) FILTER (not_run) AS not_run,
               count(DISTINCT problem_id) AS problems
        FROM (SELECT {", ".join(_COLUMNS[name] for name in _TARGET)}, {TRIAL_KEY},
                     bool_or(against = 'truth' AND {RAN}) AS ran, bool_or({NOT_RUN} AND {PLAIN}) AS not_run
              FROM measurements WHERE coalesce(operator, '') IN ({operators}) AND coalesce(backend, '') IN ({backends})
              GROUP BY ALL)
        GROUP BY {", ".join(_TARGET)}
    """)
    return {_key(row, _TARGET): row for row in rows}


def _environments(results: Results, found: str, keys: Sequence[tuple[str, ...]]) -> Mapping[tuple[str, ...], list[str]]:
    """Environments of each finding that has any, by its key, in the order of the draws."""
    every = [row["environment"] for row in results.tallied("SELECT DISTINCT environment FROM outcomes WHERE found")]
    if len(every) == 1 and every[0] is not None:
        return dict.fromkeys(keys, every)
    names = ", ".join(SIGNATURE)
    rows = results.records(f"""
        SELECT {names}, environment FROM ({found}) WHERE environment IS NOT NULL
        GROUP BY {names}, environment ORDER BY min("index"), environment
    """)
    seen: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        seen.setdefault(_key(row, SIGNATURE), []).append(row["environment"])
    return seen


def _has_rate(results: Results, problems: int) -> bool:
    """Whether the trials are independent draws of one thing: of one problem, or of a survey's population."""
    if results.plan == "survey":
        return all(manifest.get("trials_per_problem") == 1 for manifest in results.manifests)
    return results.plan == "fixed" and problems == 1


def _key(row: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(row[name] for name in names)
