"""Why relative errors are large: what amplification and the verdicts say about the trials above 1e-1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.kept import kept
from results.outcomes import among
from results.tallies import AGAINST_TRUTH, TRIAL_KEY
from results.units import smallest_normal_sql, unit_sql

if TYPE_CHECKING:
    from results.reading import Results


class Blame(Struct, frozen=True):
    """Trials of a campaign by what explains them; an outlier has a relative error above 1e-1 somewhere."""

    trials: int
    outliers: int
    """Trials in which a target is that far from the truth, or from another target."""
    blamed: int
    """Outliers in which some row is a finding."""
    composed: int
    """Other outliers in which a formulation that ulpfuzz composed has a finding's verdict."""
    undecided: int
    """Other outliers in which the oracle could not decide."""
    ordered: int
    """Other outliers with a verdict of `accumulation_order`."""
    composed_trials: int
    """Trials, outliers or not, in which composed formulations alone have a finding's verdict."""

    @property
    def explained(self) -> int:
        """Outliers that rounding and conditioning explain."""
        return self.outliers - self.blamed - self.composed - self.undecided


class Causes(Struct, frozen=True):
    """The outputs more than 1e-1 from the truth, of any target: one row for each trial, output and target."""

    rows: int
    trials: int
    elements: int
    amplification_min: float | None
    amplification_median: float | None
    moved_min: float | None
    """Smallest of u * amplification: relative change of the result when the inputs change by one rounding unit."""
    conditioned: int
    """Rows whose error is at most 2 u * amplification: the input explains it. The three figures above are of these."""
    underflow: int
    """Rows whose true value is below the normal range: few digits are left, or none."""
    ulp_median: float | None
    ulp_max: float | None
    rho_max: float | None
    verdicts: dict[str, int]
    """Rows by verdict, the most frequent first."""


def blame(results: Results) -> Blame:
    """Count the outliers of a campaign and those that something is to blame for."""
    (row,) = results.tallied("""
        SELECT coalesce(sum(n), 0)::BIGINT AS trials, coalesce(sum(n) FILTER (outlier), 0)::BIGINT AS outliers,
               coalesce(sum(n) FILTER (outlier AND blamed), 0)::BIGINT AS blamed,
               coalesce(sum(n) FILTER (outlier AND NOT blamed AND composed), 0)::BIGINT AS composed,
               coalesce(sum(n) FILTER (outlier AND NOT blamed AND NOT composed AND undecided), 0)::BIGINT AS undecided,
               coalesce(sum(n) FILTER (outlier AND NOT (blamed OR composed OR undecided) AND ordered), 0)::BIGINT
                   AS ordered,
               coalesce(sum(n) FILTER (NOT blamed AND composed), 0)::BIGINT AS composed_trials
        FROM trial_kinds WHERE plain
    """)
    return Blame(**row)


@kept(Causes | None)
def causes(results: Results) -> Causes | None:
    """What is known about the outputs more than 1e-1 from the truth; None where there is none."""
    problems = results.tallied(f"SELECT DISTINCT operator, problem_id FROM outcomes WHERE a1 > 0 AND {AGAINST_TRUTH}")
    if not problems:
        return None
    (row,) = results.records(f"""
        SELECT count(*) AS "rows", count(DISTINCT ({TRIAL_KEY})) AS trials, sum(above_1e01)::BIGINT AS elements,
               min(rel_amplification) FILTER (conditioned) AS amplification_min,
               median(rel_amplification) FILTER (conditioned) AS amplification_median,
               min(moved) FILTER (conditioned) AS moved_min, count(*) FILTER (conditioned) AS conditioned,
               count(*) FILTER (underflow) AS underflow,
               median(ulp_max) AS ulp_median, max(ulp_max) AS ulp_max, max(rho_max) AS rho_max,
               histogram(coalesce(verdict, 'none')) AS verdicts
        FROM (SELECT *, NOT underflow AND NOT isnan(rel_max) AND rel_max <= 2 * moved AS conditioned
              FROM (SELECT *, {unit_sql("dtype")} * rel_amplification AS moved,
                           coalesce(abs(rel_truth) < {smallest_normal_sql("dtype")}, false) AS underflow
                    FROM trials WHERE above_1e01 > 0 AND {among(problems)}))
    """)
    verdicts = sorted(row.pop("verdicts"), key=lambda one: (-one[1], one[0]))
    return Causes(**row, verdicts=dict(verdicts))
