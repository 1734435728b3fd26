"""Error against amplification: where rounding ends and defects begin."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping

from results.html import escape, svg
from results.html.points import Point, Sample
from results.html.scale import LogScale, log_scale
from results.layout import count, short
from results.units import UNIT_ROUNDOFF

WIDTH, HEIGHT = 720.0, 470.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 704.0, 12.0, 384.0
GAP, STRIP = 8.0, 22.0
"""Below the plot: elements without error."""
ZERO = BOTTOM + GAP + STRIP / 2
BEYOND = 1e3
"""Amplifications above this many times 1/u are drawn at the edge: every digit is lost long before."""
ROOM = 2.0
"""Above the largest error: its dot is not cut."""
SMALLEST, LARGEST = 1e-4, 1e6
"""Relative errors below u/10,000 and above a million, too."""


def scatter(sample: Sample, colour: Mapping[str, str]) -> str:
    """The plot of one dtype. A dot is an element; red above the line of rho = 2 is more than rounding explains."""
    u = UNIT_ROUNDOFF.get(sample.dtype, UNIT_ROUNDOFF["float32"])
    x = log_scale([min(max(p.amplification, 0.1), BEYOND / u) for p in sample.points] + [1.0, 100.0], LEFT, RIGHT)
    errors = [min(max(p.relative, SMALLEST * u), LARGEST) for p in sample.points if p.relative > 0]
    y = log_scale([*errors, u, *(ROOM * error for error in errors)], BOTTOM, TOP, least=4)
    dots = [_dot(point, x, y, colour) for point in sorted(sample.points, key=lambda point: point.outlier)]
    parts = [
        *_beyond_rounding(x, y, u),
        svg.rectangle(LEFT, BOTTOM + GAP, RIGHT - LEFT, STRIP, "strip"),
        svg.label(LEFT - 8, ZERO + 4, "0", "tick", "end"),
        *svg.left_axis(y, LEFT, RIGHT, "relative error"),
        *svg.bottom_axis(x, TOP, BOTTOM + GAP + STRIP, "amplification E / |truth|"),
        *_line_of(x, y, u, "bound"),
        *_line_of(x, y, 2 * u, "flag"),
        f'<g class="dots">{"".join(dots)}</g>',
        svg.label(RIGHT - 10, BOTTOM - 12, "rounding and conditioning explain these", "note", "end"),
        svg.label(LEFT + 10, TOP + 18, "more than rounding explains: rho above 2", "flag"),
        *_guide(y),
    ]
    said = f"relative error against amplification of {count(len(sample.points))} elements in {sample.dtype}"
    return svg.drawing(WIDTH, HEIGHT, parts, label=said, name="plot scatter")


def caption(sample: Sample) -> str:
    """How many elements are shown, of how many, and which cannot be."""
    shown = len(sample.points)
    if shown == sample.drawable:
        text = f"All {count(shown)} elements that were kept are shown"
    else:
        outliers = sum(point.outlier for point in sample.points)
        which = "all" if outliers == sample.outliers else count(outliers)
        text = (
            f"{count(shown)} of {count(sample.drawable)} elements are shown: {which} of {count(sample.outliers)} "
            "outliers, the worst, and a fixed share of the rest"
        )
    if sample.zero:
        text += f"; {count(sample.zero)} with a true value of 0 have no place here"
    if sample.nonfinite:
        text += f"; {count(sample.nonfinite)} with NaN, an infinity or an error beyond all numbers neither"
    return f"{text}."


def tell(point: Point) -> str:
    """The element in two lines."""
    return (
        f"{point.target}, {point.operator} {point.output}[{point.element}], trial {point.trial}\n"
        f"relative error {short(point.relative)}, amplification {short(point.amplification)}, rho {short(point.rho)}"
    )


def _dot(point: Point, x: LogScale, y: LogScale, colour: Mapping[str, str]) -> str:
    across = x.at(point.amplification)
    up = y.at(point.relative) if point.relative > 0 else ZERO
    kind = f"dot {colour.get(point.target, svg.colour(svg.COLOURS))}" + (" out" if point.outlier else "")
    radius = 3.6 if point.outlier else 2.4
    return svg.point(across, up, radius, kind, tell(point), data_trial=shlex.quote(point.trial))


def _line_of(x: LogScale, y: LogScale, slope: float, name: str) -> list[str]:
    """The line error = slope * amplification, where it lies inside."""
    ends = _inside(x, y, slope)
    return [] if ends is None else [svg.line(*ends[0], *ends[1], name)]


def _inside(x: LogScale, y: LogScale, slope: float) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Both ends of error = slope * amplification inside the plot; None where it does not pass."""
    shift = math.log10(slope)
    first, last = max(x.low, y.low - shift), min(x.high, y.high - shift)
    if first >= last:
        return None
    return (x.decade(first), y.decade(first + shift)), (x.decade(last), y.decade(last + shift))


def _beyond_rounding(x: LogScale, y: LogScale, u: float) -> list[str]:
    """The area above rho = 2, and what both sides of it mean."""
    ends = _inside(x, y, 2 * u)
    if ends is None:
        return []
    (x1, y1), (x2, y2) = ends
    corners = [(LEFT, TOP), (x2, TOP), (x2, y2), (x1, y1), (LEFT, y1)]
    shape = " ".join(f"{escape.number(a)},{escape.number(b)}" for a, b in corners)
    return [f'<polygon class="beyond" points="{shape}"/>']


def _guide(y: LogScale) -> list[str]:
    """The relative error from which one speaks of an outlier."""
    if not y.low < -1 < y.high:
        return []
    height = y.decade(-1)
    return [
        svg.line(LEFT, height, RIGHT, height, "guide"),
        svg.label(RIGHT - 6, height - 5, "outliers: relative error above 1e-1", "note", "end"),
    ]
