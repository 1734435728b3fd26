"""Rates of a campaign, refused where its plan cannot support them (results.permitted).

| plan   | what may be called a rate                                                     |
|--------|-------------------------------------------------------------------------------|
| fixed  | the rate of one problem: its trials are independent draws of its inputs        |
| survey | the rate in the population: problems are drawn, too; exact with one trial each |
| others | none: explore and search look for failures, exhaustive has nothing to estimate |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from results.columns import COLUMNS, RUNGS, rung_column
from results.errors import QueryError
from results.outcomes import KEYS
from results.permitted import Question, require
from results.quoting import quoted
from results.statistics.clustered import generator_rate
from results.statistics.proportions import Interval, one_sided_upper, rate_interval
from results.statistics.sequential import confidence_sequence
from results.tallies import TRIAL_KEY

if TYPE_CHECKING:
    from results.reading import Results

CONFIDENCE = 0.95
_COLUMN_NAMES = frozenset(column.name for column in COLUMNS)
_EVENT = re.compile(r"\s*(\w+)\s*(=|!=|<=|>=|<|>)\s*(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|'[^']*')\s*")
_TRIAL = ("problem_id", "seed", "index")
_TALLIED: dict[str, tuple[str, str]] = {
    **{f"{rung_column(k)} > 0": (f"a{k}", "measured") for k in RUNGS},
    "flagged > 0": ("flagged", "judged"),
}
"""Events that are counted beforehand (results/outcomes.py), with the columns of k and n. With one target in a group a
trial has one outcome there."""


class RateRow(Struct, frozen=True):
    """The rate in one group."""

    group: dict[str, Any]
    interval: Interval
    upper: float
    """One-sided 95 % upper bound: what zero events exclude."""


class RateTable(Struct, frozen=True):
    """Rates of one event, and what they are rates of."""

    event: str
    of: str
    """The estimand in words."""
    rows: tuple[RateRow, ...]
    clustered: bool = False
    """Whether intervals are those of problems with several trials each (statistics.clustered)."""


def rate(
    results: Results,
    event: str,
    by: Sequence[str] = (),
    population: bool = False,
    *,
    against: str = "truth",
    variant: str = "",
) -> RateTable:
    """How often `event` happens, for each combination of the columns `by`, with 95 % intervals.

    `event` compares one column with a value: "above_1e01 > 0", "flagged > 0", "verdict = 'unstable'". A trial counts
    once in a group, with the event if any of its rows there has it (several outputs or targets); rows in which the
    column is null (no output to measure) do not count. `population` asks for the rate among all problems that the
    plan can draw rather than in the ones that ran. Only rows against `against` under `variant` are looked at.

    The intervals are exact (Clopper and Pearson). Where a survey drew several trials of each problem they are those of
    its population with problems as clusters (Korn and Graubard); for the rate in the problems that ran, of which only
    the inputs are random, see `statistics.clustered.plan_rate`.

    Raises InvalidRate, with the reason, for what the plan does not support; QueryError for an unreadable event.
    """
    predicate = event_sql(event)
    for name in by:
        if name not in _COLUMN_NAMES:
            raise QueryError(f"unknown column {name!r} to group by: see docs/schema.md")
    tallied = _TALLIED.get(" ".join(event.split()))
    if tallied and "target" in by and set(by) <= set(KEYS) - {"verdict"}:
        counts = _tallied(results, *tallied, by, against, variant)
    else:
        counts = _counts(results, predicate, by, against, variant)
    problems = max((row["problems"] for row in counts), default=1)
    repeated = not one_draw(results) and any(row["n"] > row["problems"] for row in counts)
    clustered = results.plan == "survey" and repeated and problems > 1
    question: Question = "population rate" if population else "rate"
    of = require(question, results.plan, problems=problems, repeated=repeated, cells=clustered)
    if not clustered:
        return RateTable(event, of, tuple(_rate_row(results, row, by) for row in counts))
    if ended_by_decision(results):
        require("sequential", results.plan, problems=problems, repeated=True)
    each = _counts(results, predicate, (*by, *(name for name in ("problem_id",) if name not in by)), against, variant)
    rows = tuple(_clustered_row({name: row[name] for name in by}, each) for row in counts)
    return RateTable(event, f"{of}, by problems of several trials each", rows, clustered=True)


def one_draw(results: Results) -> bool:
    """Whether every trial of the survey drew its problem anew.

    A problem may then come up twice, by chance, without making its trials dependent: their inputs differ.
    """
    return results.plan == "survey" and all(manifest.get("trials_per_problem") == 1 for manifest in results.manifests)


def in_clusters(results: Results) -> bool:
    """Whether a survey drew several trials of one problem, other than by chance."""
    if results.plan != "survey" or one_draw(results):
        return False
    draws = f"SELECT DISTINCT {TRIAL_KEY} FROM measurements"
    return bool(results.records(f"SELECT problem_id FROM ({draws}) GROUP BY problem_id HAVING count(*) > 1 LIMIT 1"))


def group_interval(
    results: Results, event: str, group: Mapping[str, str], k: int, n: int, against: str = "truth"
) -> Interval:
    """The interval of `event`, k times in n trials of a group (values by column), that suits the plan and its end."""
    if not in_clusters(results):
        return interval(results, k, n)
    rows = rate(results, event, by=tuple(group), against=against).rows
    return next(row.interval for row in rows if row.group == group)


def kind_of_interval(results: Results) -> str:
    """What the intervals are, in words."""
    if in_clusters(results):
        return "95 % confidence intervals of the population, by problems of several trials each (Korn and Graubard)"
    if ended_by_decision(results):
        return "95 % confidence sequences, valid although the trials decided the end"
    return "exact 95 % confidence intervals (Clopper and Pearson)"


def _clustered_row(group: dict[str, Any], each: Sequence[dict[str, Any]]) -> RateRow:
    """Problems as clusters. One problem says nothing about the others: the interval is all there is."""
    mine = [row for row in each if all(row[name] == value for name, value in group.items())]
    k, n = sum(row["k"] for row in mine), sum(row["n"] for row in mine)
    if len(mine) < 2:
        return RateRow(group, Interval(k, n, k / n, 0.0, 1.0, CONFIDENCE), 1.0)
    found = generator_rate([row["k"] for row in mine], np.array([row["n"] for row in mine]), CONFIDENCE)
    return RateRow(group, Interval(k, n, found.rate, found.low, found.high, CONFIDENCE), found.upper)


def interval(results: Results, k: int, n: int) -> Interval:
    """The 95 % interval that suits how the campaign ended.

    Where a decision on its rates ended it, that of Clopper and Pearson would be too narrow: a confidence sequence.
    """
    return confidence_sequence(k, n) if ended_by_decision(results) else rate_interval(k, n)


def ended_by_decision(results: Results) -> bool:
    """Whether the number of trials depends on what they showed."""
    return any(manifest.get("until") for manifest in results.manifests)


def _rate_row(results: Results, row: dict[str, Any], by: Sequence[str]) -> RateRow:
    both = interval(results, row["k"], row["n"])
    upper = both.high if ended_by_decision(results) else one_sided_upper(row["k"], row["n"])
    return RateRow({name: row[name] for name in by}, both, upper)


def event_sql(event: str) -> str:
    """The event as a SQL predicate; QueryError where it is not one column compared with one value."""
    match = _EVENT.fullmatch(event)
    if match is None:
        raise QueryError(f'cannot read the event {event!r}: compare one column with a value, e.g. "above_1e01 > 0"')
    column, operator, value = match.groups()
    if column not in _COLUMN_NAMES:
        raise QueryError(f"unknown column {column!r} in the event {event!r}: see docs/schema.md")
    return f'"{column}" {operator} {value}'


def _counts(results: Results, predicate: str, by: Sequence[str], against: str, variant: str) -> list[dict[str, Any]]:
    groups = ", ".join(f'"{name}"' for name in by)
    inner = ", ".join(dict.fromkeys([f'"{name}"' for name in (*by, *_TRIAL)]))
    quoted = against.replace("'", "''"), variant.replace("'", "''")
    return results.records(f"""
        SELECT {groups + "," if by else ""} count(*) AS n, count(*) FILTER (happened) AS k,
               count(DISTINCT problem_id) AS problems
        FROM (SELECT {inner}, bool_or({predicate}) AS happened FROM measurements
              WHERE against = '{quoted[0]}' AND coalesce(variant, '') = '{quoted[1]}' AND ({predicate}) IS NOT NULL
              GROUP BY {inner})
        {f"GROUP BY {groups} ORDER BY {groups}" if by else "HAVING count(*) > 0"}
    """)


def _tallied(results: Results, k: str, n: str, by: Sequence[str], against: str, variant: str) -> list[dict[str, Any]]:
    """The same as `_counts`, from what is counted beforehand."""
    groups = ", ".join(f'"{name}"' for name in by)
    return results.tallied(f"""
        SELECT {groups}, sum({n})::BIGINT AS n, sum({k})::BIGINT AS k,
               count(DISTINCT problem_id) FILTER ({n} > 0) AS problems
        FROM outcomes WHERE against = {quoted(against)} AND coalesce(variant, '') = {quoted(variant)}
        GROUP BY {groups} HAVING sum({n}) > 0 ORDER BY {groups}
    """)
