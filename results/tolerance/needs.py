"""What each trial needs: the largest A(r) over the healthy targets, for every r that the rows have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from results.columns import ALLOWANCES, allowance_column
from results.statistics.samples import Floats
from results.tallies import PAIRS, PLAIN, TRIAL_KEY
from results.units import NUMBERS

if TYPE_CHECKING:
    from results.reading import Results

MULTIPLES = (0, *ALLOWANCES)
"""Values of rtol looked at, in units of u."""
_COLUMNS = ("abs_max", *map(allowance_column, ALLOWANCES))
TRUTH = f"against = 'truth' AND {PLAIN}"


class Group(Struct, frozen=True, order=True):
    """What one line of the answer is about."""

    operator: str
    output: str
    dtype: str
    size: str
    """The dims; empty where the plan draws them."""


class Needs(Struct, frozen=True):
    """The trials of one problem, or of a population: what each needs, the largest over the targets."""

    problem: str
    """problem_id; empty for a population."""
    atols: Floats
    """A(r) for r = multiples u; infinite where a result is not finite and the truth is. Shape (trials, multiples)."""
    multiples: tuple[int, ...]
    """Those of MULTIPLES that all rows have; 0 always is one."""
    rho: Floats
    """Largest rho; NaN where it is not known."""
    truth_mean: float | None
    """Median over the trials of mean |truth|; None in rows written before it was kept."""
    targets: tuple[str, ...]
    inputs: str = ""
    """The recipes of the problem."""
    complete: bool = False
    """Whether the trials hold every number of the inputs' format (plan exhaustive)."""

    @property
    def trials(self) -> int:
        return len(self.atols)


class Excluded(Struct, frozen=True, order=True):
    """A target that has findings: its errors are not those of a healthy implementation."""

    operator: str
    dtype: str
    target: str
    verdicts: tuple[str, ...]
    trials: int
    """Trials that have them."""


def excluded(results: Results) -> tuple[Excluded, ...]:
    """Targets with findings, by operator and dtype."""
    rows = results.records(f"""
        SELECT coalesce(operator, '') AS operator, coalesce(dtype, '') AS dtype, target,
               list_sort(list(DISTINCT verdict)) AS verdicts, count(DISTINCT ({TRIAL_KEY})) AS trials
        FROM measurements JOIN verdicts ON verdict = name WHERE finding AND {PLAIN} GROUP BY ALL ORDER BY ALL
    """)
    return tuple(Excluded(**(row | {"verdicts": tuple(row["verdicts"])})) for row in rows)


def needs(results: Results, *, by_size: bool, by_problem: bool, pairs: bool = False) -> dict[Group, tuple[Needs, ...]]:
    """Needs of the healthy targets in every group. With `pairs`, of two healthy targets against each other."""
    trials = results.sql(f"""
        WITH unhealthy AS (SELECT DISTINCT operator, dtype, target FROM measurements JOIN verdicts ON verdict = name
                           WHERE finding AND {PLAIN}),
        healthy AS (SELECT * FROM measurements ANTI JOIN unhealthy USING (operator, dtype, target)),
        asked AS ({_PAIRED if pairs else f"SELECT * FROM healthy WHERE {TRUTH}"})
        SELECT coalesce(operator, '') AS operator, coalesce(output, '') AS output, coalesce(dtype, '') AS dtype,
               {"coalesce(dims, '')" if by_size else "''"} AS size, {TRIAL_KEY}, count(*) AS rows,
               max(truth_mean) AS truth_mean, max(rho_max) AS rho,
               max(elements) AS elements, any_value(home) AS home, any_value(recipes) AS recipes,
               {", ".join(_needed(name) for name in _COLUMNS)},
               list_sort(list(DISTINCT target)) AS targets
        FROM asked WHERE abs_max >= 0 AND NOT isnan(abs_max) GROUP BY ALL ORDER BY ALL
    """)
    columns = {name: trials.column(name).to_numpy(zero_copy_only=False) for name in trials.column_names}
    found: dict[Group, dict[str, list[int]]] = {}
    keys = zip(*(columns[name] for name in ("operator", "output", "dtype", "size", "problem_id")), strict=True)
    for at, (*group, problem) in enumerate(keys):
        found.setdefault(Group(*group), {}).setdefault(problem if by_problem else "", []).append(at)
    return {
        group: tuple(_needs(problem, columns, rows) for problem, rows in problems.items())
        for group, problems in found.items()
    }


_PAIRED = f"""
    SELECT healthy.* FROM healthy SEMI JOIN
        (SELECT DISTINCT problem_id, output, dtype, target FROM healthy WHERE {TRUTH} AND abs_max IS NOT NULL) AS other
    ON other.problem_id = healthy.problem_id AND other.output = healthy.output AND other.dtype = healthy.dtype
       AND other.target = healthy.against
    WHERE {PAIRS}
"""
"""Pairs of which both sides are healthy and have one dtype."""


def _needed(column: str) -> str:
    """The largest over the targets, null where a row lacks it; infinite where no tolerance helps."""
    lost = "bool_or(coalesce(nonfinite_mismatch, 0) + coalesce(overflow_explained, 0) > 0)"
    largest = f"CASE WHEN {lost} THEN 'inf'::DOUBLE ELSE max({column}) END"
    return f"CASE WHEN count({column}) < count(*) THEN NULL ELSE {largest} END AS {column}"


def _needs(problem: str, columns: dict[str, Any], rows: Sequence[int]) -> Needs:
    some = np.array(rows)
    atols = np.stack([np.asarray(columns[name], np.float64)[some] for name in _COLUMNS], axis=1)
    there = ~np.isnan(atols).any(axis=0)
    means = np.asarray(columns["truth_mean"], np.float64)[some]
    known = means[np.isfinite(means)]
    return Needs(
        problem,
        atols[:, there],
        tuple(k for k, has in zip(MULTIPLES, there, strict=True) if has),
        np.asarray(columns["rho"], np.float64)[some],
        float(np.median(known)) if len(known) else None,
        tuple(sorted({name for at in rows for name in columns["targets"][at]})),
        (columns["recipes"][rows[0]] or "") if problem else "",
        np.nansum(columns["elements"][some].astype(np.float64)) == NUMBERS.get(columns["home"][rows[0]]),
    )
