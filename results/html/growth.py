"""How the error grows with the length of the reduction, where a campaign has four lengths or more.

Absolute errors grow with the result, whatever the algorithm. So errors are in units of u E where each reduction is
rounded once, `rho_ideal`: of a sum of terms of one sign that is u times the sum. In these units sums in blocks and in
trees stay about constant, running sums with independent roundings grow like the square root of the length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from results.errors import NotPermitted
from results.html import svg
from results.html.scale import log_scale
from results.layout import count, short
from results.permitted import require
from results.quiet import quiet
from results.statistics.growth import LEAST_SIZES, LEAST_TRIALS, Growth, fitted_law

if TYPE_CHECKING:
    from results.reading import Results

MOST_PLOTS = 6
WIDTH, HEIGHT = 540.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 524.0, 14.0, 270.0


class Series(Struct, frozen=True):
    """One target on one kind of input: root mean square of `rho_ideal` by reduction length."""

    target: str
    points: tuple[tuple[int, float, int], ...]
    """Length, error in units of what a reduction rounded once excuses, outputs."""

    @property
    def law(self) -> Growth:
        """How its error grows."""
        sizes, errors, outputs = zip(*self.points, strict=True)
        return fitted_law(sizes, errors, sum(outputs))

    def line(self) -> list[tuple[float, float]]:
        """Both ends of the line through the points, on logarithmic axes."""
        lengths, slope = [float(n) for n, _, _ in self.points], self.law.slope
        middle = sum(map(math.log, lengths)) / len(lengths)
        height = sum(math.log(error) for _, error, _ in self.points) / len(lengths)
        return [(n, math.exp(height + slope * (math.log(n) - middle))) for n in (min(lengths), max(lengths))]


class Panel(Struct, frozen=True):
    """One operator with one choice of attributes and inputs in one dtype."""

    operator: str
    attributes: str
    recipes: str
    dtype: str
    series: tuple[Series, ...]


def growths(results: Results) -> list[Panel]:
    """What has at least four lengths, those with the most first; nothing where the plan supports no growth law."""
    try:
        require("growth", results.plan)
    except NotPermitted:
        return []
    names = "operator, attributes, recipes, dtype, target"
    rows = results.records(f"""
        SELECT {names}, list(length ORDER BY length) AS lengths, list(error ORDER BY length) AS errors,
               list(trials ORDER BY length) AS trials
        FROM (SELECT operator, coalesce(attributes, '') AS attributes, coalesce(recipes, '') AS recipes, dtype, target,
                     reduction_length AS length, sqrt(avg(rho_ideal * rho_ideal)) AS error, count(*) AS trials
              FROM trials WHERE reduction_length > 0 AND isfinite(rho_ideal) AND rho_ideal < 1e150 GROUP BY ALL)
        WHERE error > 0 AND trials >= {LEAST_TRIALS} GROUP BY {names} HAVING count(*) >= {LEAST_SIZES}
        ORDER BY count(*) DESC, {names}
    """)
    hidden = quiet(results)
    found: dict[tuple[str, str, str, str], list[Series]] = {}
    for row in rows:
        if row["target"] not in hidden:
            key = row["operator"], row["attributes"], row["recipes"], row["dtype"]
            points = tuple(zip(row["lengths"], row["errors"], row["trials"], strict=True))
            found.setdefault(key, []).append(Series(row["target"], points))
    chosen = list(found.items())[:MOST_PLOTS]
    return [Panel(*key, tuple(sorted(series, key=lambda one: one.target))) for key, series in chosen]


def plot(growth: Panel, colour: Mapping[str, str]) -> str:
    """Errors with the law fitted to them, a colour a target."""
    every = [point for series in growth.series for point in series.points]
    x = log_scale([float(n) for n, _, _ in every], LEFT, RIGHT, least=1)
    y = log_scale([error for _, error, _ in every], BOTTOM, TOP, least=1)
    parts = [
        *svg.left_axis(y, LEFT, RIGHT, "error / (u E), rounded once"),
        *svg.bottom_axis(x, TOP, BOTTOM, "reduction length n"),
    ]
    for series in growth.series:
        kind = colour.get(series.target, svg.colour(svg.COLOURS))
        places = [(x.at(float(n)), y.at(error)) for n, error, _ in series.points]
        parts.append(svg.polyline([(x.at(n), y.at(error)) for n, error in series.line()], f"curve {kind}"))
        for (across, up), (n, error, trials) in zip(places, series.points, strict=True):
            said = f"{series.target}, n = {count(n)}: error {short(error)} u E in {count(trials)} outputs"
            parts.append(svg.point(across, up, 3.6, f"dot {kind}", said))
    return svg.drawing(WIDTH, HEIGHT, parts, label=f"growth of the error of {growth.operator}", name="plot growth")


def tell(series: Series) -> str:
    """The exponent of a target, its interval and what that is called."""
    law = series.law
    return (
        f"{series.target}: error grows like n^{law.slope:.2f} [{law.low:.2f}, {law.high:.2f}] over {law.sizes} lengths"
        f": {law.law}"
    )
