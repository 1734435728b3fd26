"""How rho is distributed: the share of results up to each value, counted by DuckDB at 32 steps an octave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from results.html import svg
from results.html.scale import LogScale, log_scale
from results.layout import count
from results.quiet import quiet

if TYPE_CHECKING:
    from results.reading import Results

STEPS = 32
"""Steps of an octave: 1 and 2, the thresholds, are steps, and at steps the curve is exact."""
LOWEST, HIGHEST = -24, 60
"""Octaves between which steps are counted."""
WIDTH, HEIGHT = 720.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 704.0, 14.0, 310.0


class Curve(Struct, frozen=True):
    """Results of a target by rho."""

    target: str
    results: int
    """Outputs with a rho."""
    steps: tuple[tuple[float, int], ...]
    """Values in increasing order, with the number of results up to and including each. The last may be infinite."""

    def up_to(self, rho: float) -> int:
        """Results with at most this rho, a step."""
        return max((n for value, n in self.steps if value <= rho), default=0)


def curves(results: Results) -> list[Curve]:
    """One curve a target, in alphabetical order; schedules without findings are left out."""
    rows = results.records(f"""
        SELECT target, step, count(*) AS n FROM (
            SELECT target, CASE WHEN rho_max <= {2.0**LOWEST!r} THEN {LOWEST * STEPS}
                                WHEN rho_max > {2.0**HIGHEST!r} THEN {HIGHEST * STEPS + 1}
                                ELSE ceil(log2(rho_max) * {STEPS})::INTEGER END AS step
            FROM trials WHERE rho_max IS NOT NULL AND NOT isnan(rho_max))
        GROUP BY target, step ORDER BY target, step
    """)
    hidden = quiet(results)
    found: dict[str, list[tuple[float, int]]] = {}
    for row in rows:
        if row["target"] in hidden:
            continue
        steps = found.setdefault(row["target"], [])
        value = float("inf") if row["step"] > HIGHEST * STEPS else 2.0 ** (row["step"] / STEPS)
        steps.append((value, row["n"] + (steps[-1][1] if steps else 0)))
    return [Curve(target, steps[-1][1], tuple(steps)) for target, steps in found.items()]


def ecdf(found: list[Curve], colour: Mapping[str, str]) -> str:
    """The curves, with lines at 1 and 2."""
    values = [value for curve in found for value, _ in curve.steps]
    x = log_scale([min(max(v, 1e-6), 1e12) for v in values] + [0.1, 10.0], LEFT, RIGHT)
    parts = [svg.rectangle(x.at(2), TOP, RIGHT - x.at(2), BOTTOM - TOP, "beyond")]
    for part in (0, 25, 50, 75, 100):
        y = _height(part / 100)
        parts += [svg.line(LEFT, y, RIGHT, y, "grid"), svg.label(LEFT - 8, y + 4, f"{part} %", "tick", "end")]
    parts += svg.bottom_axis(x, TOP, BOTTOM, "rho = |error| / (u E)")
    parts.append(svg.label(14, (TOP + BOTTOM) / 2, "results with at most this rho", "axis", "middle", turned=True))
    for threshold, name in ((1.0, "bound"), (2.0, "flag")):
        parts.append(svg.line(x.at(threshold), TOP, x.at(threshold), BOTTOM, name))
    parts.append(svg.label(x.at(1) - 6, BOTTOM - 8, "explained", "note", "end"))
    parts.append(svg.label(x.at(2) + 6, BOTTOM - 8, "flagged", "flag"))
    parts += [_curve(curve, x, colour.get(curve.target, svg.colour(svg.COLOURS))) for curve in found]
    said = "distribution of rho: " + "; ".join(shares(curve) for curve in found[:12])
    return svg.drawing(WIDTH, HEIGHT, parts, label=said, name="plot ecdf")


def shares(curve: Curve) -> str:
    """How many results each threshold lets through."""
    flagged = curve.results - curve.up_to(2.0)
    return (
        f"{curve.target}: {count(curve.up_to(1.0))} of {count(curve.results)} results up to 1, "
        f"{count(curve.up_to(2.0) - curve.up_to(1.0))} between 1 and 2, {count(flagged)} above 2"
    )


def _curve(curve: Curve, x: LogScale, kind: str) -> str:
    points: list[tuple[float, float]] = [(LEFT, BOTTOM)]
    for value, n in curve.steps:
        if value == float("inf"):
            break
        across = x.at(value)
        points += [(across, points[-1][1]), (across, _height(n / curve.results))]
    points.append((RIGHT, points[-1][1]))
    return svg.polyline(points, f"curve {kind}", data_tell=shares(curve))


def _height(part: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * part
