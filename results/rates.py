"""Rates of a campaign, refused where its plan cannot support them (results.permitted).

| plan   | what may be called a rate                                                     |
|--------|-------------------------------------------------------------------------------|
| fixed  | the rate of one problem: its trials are independent draws of its inputs        |
| survey | the rate in the population, with one trial a problem: problems are drawn, too  |
| others | none: explore and search look for failures, exhaustive has nothing to estimate |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.columns import COLUMNS, RUNGS, rung_column
from results.errors import QueryError
from results.outcomes import KEYS, quoted
from results.permitted import require
from results.statistics.proportions import Interval, one_sided_upper, rate_interval
from results.statistics.sequential import confidence_sequence

if TYPE_CHECKING:
    from results.reading import Results

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


def rate(
    results: Results,
    event: str,
    by: Sequence[str] = (),
    population: bool = False,
    *,
    against: str = "truth",
    variant: str = "",
) -> RateTable:
    """How often `event` happens, for each combination of the columns `by`, with exact 95 % intervals.

    `event` compares one column with a value: "above_1e01 > 0", "flagged > 0", "verdict = 'unstable'". A trial counts
    once in a group, with the event if any of its rows there has it (several outputs or targets); rows in which the
    column is null (no output to measure) do not count. `population` asks for the rate among all problems that the
    plan can draw rather than in the ones that ran. Only rows against `against` under `variant` are looked at.

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
    one_draw = results.plan == "survey" and results.manifest.get("trials_per_problem") == 1
    of = _estimand(results.plan, counts, population, one_draw)
    return RateTable(event, of, tuple(_rate_row(results, row, by) for row in counts))


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


def _estimand(plan: str | None, counts: Sequence[dict[str, Any]], population: bool, one_draw: bool) -> str:
    """What the counts are a rate of; InvalidRate where they are none.

    `one_draw`: every trial of the survey drew its problem anew. A problem may then come up twice, by chance, without
    making its trials dependent: their inputs differ.
    """
    problems = max((row["problems"] for row in counts), default=1)
    repeated = not one_draw and any(row["n"] > row["problems"] for row in counts)
    return require("population rate" if population else "rate", plan, problems=problems, repeated=repeated)
