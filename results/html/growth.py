"""How the error grows with the length of the reduction, where a campaign has four lengths or more.

Absolute errors grow with the result, whatever the algorithm. So errors are in units of u E where each reduction is
rounded once, `rho_ideal`: of a sum of terms of one sign that is u times the sum. In these units sums in blocks and in
trees stay about constant, running sums with independent roundings grow like the square root of the length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from results.html import svg
from results.html.scale import log_scale
from results.layout import count, short
from results.quiet import quiet

if TYPE_CHECKING:
    from results.reading import Results

LEAST_SIZES = 4
LEAST_TRIALS = 10
"""Outputs of one length: the logarithm of a root mean square of fewer scatters too much to fit a law to."""
MOST_PLOTS = 6
WIDTH, HEIGHT = 540.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 524.0, 14.0, 270.0


class Series(Struct, frozen=True):
    """One target on one kind of input: root mean square of `rho_ideal` by reduction length."""

    target: str
    points: tuple[tuple[int, float, int], ...]
    """Length, error in units of what a reduction rounded once excuses, outputs."""

    @property
    def slope(self) -> float:
        """p of error ~ length^p: least squares on logarithms."""
        return slope([(float(n), error) for n, error, _ in self.points])

    def law(self) -> list[tuple[float, float]]:
        """Both ends of the line through the points, on logarithmic axes."""
        lengths = [float(n) for n, _, _ in self.points]
        middle = sum(map(math.log, lengths)) / len(lengths)
        height = sum(math.log(error) for _, error, _ in self.points) / len(lengths)
        return [(n, math.exp(height + self.slope * (math.log(n) - middle))) for n in (min(lengths), max(lengths))]


class Growth(Struct, frozen=True):
    """One operator with one choice of attributes and inputs in one dtype."""

    operator: str
    attributes: str
    recipes: str
    dtype: str
    series: tuple[Series, ...]


def growths(results: Results) -> list[Growth]:
    """What has at least four lengths, those with the most first."""
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
    return [Growth(*key, tuple(sorted(series, key=lambda one: one.target))) for key, series in chosen]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The exponent p of y ~ x^p by least squares on logarithms. ValueError for fewer than two different x."""
    pairs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    spread = sum((x - mean_x) ** 2 for x, _ in pairs)
    if spread == 0:
        raise ValueError("a slope needs two different sizes")
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread


def plot(growth: Growth, colour: Mapping[str, str]) -> str:
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
        parts.append(svg.polyline([(x.at(n), y.at(error)) for n, error in series.law()], f"curve {kind}"))
        for (across, up), (n, error, trials) in zip(places, series.points, strict=True):
            said = f"{series.target}, n = {count(n)}: error {short(error)} u E in {count(trials)} outputs"
            parts.append(svg.point(across, up, 3.6, f"dot {kind}", said))
    return svg.drawing(WIDTH, HEIGHT, parts, label=f"growth of the error of {growth.operator}", name="plot growth")


def tell(series: Series) -> str:
    """The exponent of a target."""
    return f"{series.target}: error grows like n^{series.slope:.2f} over {len(series.points)} lengths"
