"""The elements that the scatter plot shows: all outliers and the worst, and a share of the rest that never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.columns import FLAG
from results.tallies import PLAIN

if TYPE_CHECKING:
    from results.reading import Results

MOST = 4000
"""Points of all plots of a campaign together."""
WORST = 200
"""So many by rho, and by relative error, come first."""
OUTLIER = 0.1
"""An outlier has a relative error above it, or a rho above FLAG."""


class Point(Struct, frozen=True):
    """One sampled element of one output."""

    operator: str
    target: str
    dtype: str
    trial: str
    output: str
    element: int
    amplification: float
    """E/|truth|, positive and finite."""
    relative: float
    """|value - truth|/|truth|, finite."""
    rho: float
    outlier: bool


class Sample(Struct, frozen=True):
    """Elements of one dtype."""

    dtype: str
    points: tuple[Point, ...]
    elements: int
    """Kept elements of the campaign, of which the points are some."""
    outliers: int
    """Of these, with a relative error above 0.1 or rho above 2, where both can be drawn."""
    zero: int
    """Elements without a place in the plot, since the truth is 0 ..."""
    nonfinite: int
    """... or since the result or the truth is NaN or infinite."""

    @property
    def drawable(self) -> int:
        return self.elements - self.zero - self.nonfinite


def samples(results: Results, most: int = MOST) -> list[Sample]:
    """One sample a dtype, those with most elements first."""
    counted = results.records(f"""
        SELECT dtype, count(*) AS elements, count(*) FILTER ({_DRAWABLE} AND {_OUTLIER}) AS outliers,
               count(*) FILTER (truth = 0 AND isfinite(value)) AS zero,
               count(*) FILTER (NOT ({_DRAWABLE}) AND NOT (truth = 0 AND isfinite(value))) AS nonfinite
        FROM ({_ELEMENTS}) WHERE dtype IS NOT NULL GROUP BY dtype ORDER BY elements DESC, dtype
    """)
    each = most // max(1, len(counted))
    return [Sample(points=tuple(_points(results, row["dtype"], each)), **row) for row in counted]


_RELATIVE = "abs(value - truth) / abs(truth)"
_DRAWABLE = f"""
    (truth <> 0 AND isfinite(value) AND isfinite(truth) AND amplification > 0 AND isfinite(amplification)
     AND isfinite({_RELATIVE}) AND NOT isnan(rho))
"""
_OUTLIER = f"({_RELATIVE} > {OUTLIER} OR rho > {FLAG})"
_ELEMENTS = f"""
    SELECT problem_id, seed, "index", operator, output, target, trial, element, any_value(dtype) AS dtype,
           any_value(value) AS value, any_value(truth) AS truth, any_value(amplification) AS amplification,
           any_value(rho) AS rho
    FROM elements WHERE against = 'truth' AND {PLAIN}
      AND value IS NOT NULL AND truth IS NOT NULL AND amplification IS NOT NULL AND rho IS NOT NULL
    GROUP BY problem_id, seed, "index", operator, output, target, trial, element
"""
"""An element may be kept twice, as the worst by rho and as the worst by relative error."""

_MIXED = '(("index" % 1000003) * 7919 + (element % 1000003) * 104729) % 1000003'
"""Orders the rest as if at random, the same at each call, and all targets of a draw together."""


def _points(results: Results, dtype: str, most: int) -> list[Point]:
    rows = results.records(f"""
        SELECT operator, target, dtype, trial, output, element, amplification, relative, rho, outlier FROM (
            SELECT *, row_number() OVER (ORDER BY rho DESC, relative DESC, {_KEY}) <= {WORST}
                   OR row_number() OVER (ORDER BY relative DESC, rho DESC, {_KEY}) <= {WORST} AS worst
            FROM (SELECT *, {_RELATIVE} AS relative, {_OUTLIER} AS outlier
                  FROM ({_ELEMENTS}) WHERE dtype = '{dtype.replace("'", "''")}' AND {_DRAWABLE}))
        ORDER BY CASE WHEN worst THEN 0 WHEN outlier THEN 1 ELSE 2 END, {_MIXED}, {_KEY} LIMIT {most}
    """)
    return [Point(**_plain(row)) for row in rows]


_KEY = 'problem_id, seed, "index", output, target, element'


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: row[name] or "" for name in ("operator", "target", "trial", "output")}


def worst(sample: Sample, most: int = 10) -> list[Point]:
    """Those with the largest rho, and with the largest relative error."""
    half = most // 2
    by_rho = sorted(sample.points, key=lambda point: -point.rho)[: most - half]
    rest = [point for point in sample.points if point not in by_rho]
    return by_rho + sorted(rest, key=lambda point: -point.relative)[:half]
