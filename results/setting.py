"""What ran: problems, targets with their implementations, environment, and what gave no output and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.tallies import AGAINST_TRUTH
from results.verdicts import NO_VALUE

if TYPE_CHECKING:
    from results.reading import Results


class Setting(Struct, frozen=True):
    """The problems of a campaign in a few words each; a tuple holds every value that occurs, a few at most."""

    problems: int
    operators: tuple[str, ...]
    dims: tuple[str, ...]
    attributes: tuple[str, ...]
    recipes: tuple[str, ...]
    dtypes: tuple[str, ...]
    seeds: tuple[int, ...]
    trials: int
    environments: tuple[str, ...]


class Ran(Struct, frozen=True):
    """A target as it ran."""

    target: str
    dtype: str
    implementations: str
    provenance: str
    operators: int


class Missing(Struct, frozen=True):
    """Trials of a target without an output, by verdict and reason."""

    target: str
    operator: str
    verdict: str
    reason: str
    trials: int


def setting(results: Results) -> Setting:
    """The problems that ran."""
    values = ", ".join(
        f'list_slice(list_sort(list(DISTINCT "{column}") FILTER ("{column}" IS NOT NULL)), 1, 1000) AS "{name}"'
        for name, column in (
            ("operators", "operator"),
            ("dims", "dims"),
            ("attributes", "attributes"),
            ("recipes", "recipes"),
            ("dtypes", "home"),
            ("seeds", "seed"),
            ("environments", "environment"),
        )
    )
    (row,) = results.tallied(f"""
        SELECT count(DISTINCT problem_id) AS problems,
               (SELECT coalesce(sum(n), 0)::BIGINT FROM trial_kinds) AS trials, {values}
        FROM outcomes
    """)
    problems, trials = row.pop("problems"), row.pop("trials")
    return Setting(problems=problems, trials=trials, **{key: tuple(found or ()) for key, found in row.items()})


def targets_that_ran(results: Results) -> list[Ran]:
    """Each target of a trial with what it ran."""
    rows = results.tallied(f"""
        SELECT target, coalesce(string_agg(DISTINCT dtype, ', ' ORDER BY dtype), '') AS dtype,
               coalesce(string_agg(DISTINCT implementation, ', ' ORDER BY implementation), '') AS implementations,
               coalesce(string_agg(DISTINCT provenance, ', ' ORDER BY provenance), '') AS provenance,
               count(DISTINCT operator) AS operators
        FROM outcomes WHERE {AGAINST_TRUTH} GROUP BY target ORDER BY target
    """)
    return [Ran(**row) for row in rows]


def without_output(results: Results) -> list[Missing]:
    """Why trials gave no output, the most frequent first."""
    names = ", ".join(f"'{name}'" for name in sorted(NO_VALUE))
    return _reasons(results, f"verdict IN ({names})")


def undecided(results: Results) -> list[Missing]:
    """Why the oracle could not decide, the most frequent first."""
    return _reasons(results, "verdict = 'indeterminate'")


def describe_environment(record: Mapping[str, Any]) -> str:
    """An environment record on one line: its values, versions and libraries in the order written; no flag lists."""
    parts: list[str] = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            parts.extend(f"{name} {item}" for name, item in value.items() if isinstance(item, str | int | float))
        elif isinstance(value, list):
            parts.extend(f"{key} {_values(item)}" for item in value if isinstance(item, Mapping))
        elif isinstance(value, str | int | float) and value != "":
            parts.append(f"{key} {value}")
    return ", ".join(parts)


def _values(record: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {item}" if isinstance(item, int) else str(item) for name, item in record.items())


def _reasons(results: Results, where: str) -> list[Missing]:
    rows = results.tallied(f"""
        SELECT target, operator, verdict, reason, sum(trials)::BIGINT AS trials
        FROM reasons WHERE {where} GROUP BY ALL ORDER BY trials DESC, target, operator, reason
    """)
    return [Missing(**row) for row in rows]
