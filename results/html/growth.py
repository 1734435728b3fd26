"""How the error grows with the length of the reduction, where a campaign has four lengths or more."""

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
MOST_PLOTS = 6
WIDTH, HEIGHT = 540.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 524.0, 14.0, 270.0


class Series(Struct, frozen=True):
    """One target on one kind of input: root mean square error by reduction length."""

    target: str
    points: tuple[tuple[int, float, int], ...]
    """Length, error in units of the output, trials."""

    @property
    def slope(self) -> float:
        """p of error ~ length^p: least squares on logarithms."""
        return slope([(float(n), error) for n, error, _ in self.points])


class Growth(Struct, frozen=True):
    """One operator with one choice of attributes and inputs in one dtype."""

    operator: str
    attributes: str
    recipes: str
    dtype: str
    series: tuple[Series, ...]


def growths(results: Results) -> list[Growth]:
    """What has at least four lengths, those with the most first."""
    rows = results.records(f"""
        SELECT operator, attributes, recipes, dtype, target, list((length, error, trials) ORDER BY length) AS points
        FROM (SELECT operator, coalesce(attributes, '') AS attributes, coalesce(recipes, '') AS recipes, dtype, target,
                     reduction_length AS length, sqrt(avg(abs_rms * abs_rms)) AS error, count(*) AS trials
              FROM trials WHERE reduction_length > 0 AND isfinite(abs_rms) AND abs_rms < 1e150 GROUP BY ALL)
        WHERE error > 0 GROUP BY ALL HAVING count(*) >= {LEAST_SIZES} ORDER BY count(*) DESC, ALL
    """.replace(", ALL\n", ", operator, attributes, recipes, dtype, target\n"))
    hidden = quiet(results)
    found: dict[tuple[str, ...], list[Series]] = {}
    for row in rows:
        if row["target"] not in hidden:
            key = tuple(row[name] for name in ("operator", "attributes", "recipes", "dtype"))
            points = tuple(tuple(point.values()) for point in row["points"])
            found.setdefault(key, []).append(Series(row["target"], points))
    return [
        Growth(*key, tuple(sorted(series, key=lambda one: one.target))) for key, series in list(found.items())
    ][:MOST_PLOTS]


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
    """Errors with a line through them, a target a colour; dashed the square root law for comparison."""
    every = [point for series in growth.series for point in series.points]
    x = log_scale([float(n) for n, _, _ in every], LEFT, RIGHT, least=1)
    y = log_scale([error for _, error, _ in every], BOTTOM, TOP, least=1)
    parts = [*svg.left_axis(y, LEFT, RIGHT, "rms error"), *svg.bottom_axis(x, TOP, BOTTOM, "reduction length n")]
    for series in growth.series:
        kind = colour.get(series.target, svg.colour(svg.COLOURS))
        places = [(x.at(float(n)), y.at(error)) for n, error, _ in series.points]
        parts.append(svg.polyline(places, f"curve {kind}"))
        for (across, up), (n, error, trials) in zip(places, series.points, strict=True):
            said = f"{series.target}, n = {count(n)}: rms error {short(error)} in {count(trials)} outputs"
            parts.append(svg.point(across, up, 3.6, f"dot {kind}", said))
    return svg.drawing(WIDTH, HEIGHT, parts, label=f"growth of the error of {growth.operator}", name="plot growth")


def tell(series: Series) -> str:
    """The exponent of a target."""
    return f"{series.target}: error grows like n^{series.slope:.2f} over {len(series.points)} lengths"
