"""How the error grows with a size, drawn where a growth law can be fitted (results.growths)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from results.growths import Panel, Series
from results.html import svg
from results.html.scale import log_scale
from results.layout import count, short

MOST_PLOTS = 8
WIDTH, HEIGHT = 540.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 524.0, 14.0, 270.0


def line(series: Series) -> list[tuple[float, float]]:
    """Both ends of the line through the points, on logarithmic axes; none without a law."""
    law = series.law
    if law is None:
        return []
    sizes = [float(n) for n, _, _ in series.points]
    middle = sum(map(math.log, sizes)) / len(sizes)
    height = sum(math.log(error) for _, error, _ in series.points) / len(sizes)
    return [(n, math.exp(height + law.slope * (math.log(n) - middle))) for n in (min(sizes), max(sizes))]


def plot(growth: Panel, colour: Mapping[str, str]) -> str:
    """Errors with the law fitted to them, a colour a target."""
    every = [point for series in growth.series for point in series.points]
    x = log_scale([float(n) for n, _, _ in every], LEFT, RIGHT, least=1)
    y = log_scale([error for _, error, _ in every], BOTTOM, TOP, least=1)
    unit = "" if growth.dim else " u E"
    parts = [
        *svg.left_axis(y, LEFT, RIGHT, "rms error / mean |y|" if growth.dim else "error / (u E), rounded once"),
        *svg.bottom_axis(x, TOP, BOTTOM, growth.dim or "reduction length n"),
    ]
    for series in growth.series:
        kind = colour.get(series.target, svg.colour(svg.COLOURS))
        places = [(x.at(float(n)), y.at(error)) for n, error, _ in series.points]
        if ends := line(series):
            parts.append(svg.polyline([(x.at(n), y.at(error)) for n, error in ends], f"curve {kind}"))
        for (across, up), (n, error, trials) in zip(places, series.points, strict=True):
            at = f"{growth.axis} = {count(n)}"
            said = f"{series.target}, {at}: error {short(error)}{unit} in {count(trials)} outputs"
            parts.append(svg.point(across, up, 3.6, f"dot {kind}", said))
    return svg.drawing(WIDTH, HEIGHT, parts, label=f"growth of the error of {growth.operator}", name="plot growth")
