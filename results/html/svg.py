"""Pieces of SVG as text. Colours are classes: the page's style says what they are, by day, by night and on paper."""

from __future__ import annotations

from collections.abc import Sequence

from results.html import escape
from results.html.scale import LogScale

COLOURS = 8
"""Classes c0 ... c7; targets beyond share the last one."""


def colour(position: int) -> str:
    """The class of the target at `position`."""
    return f"c{min(position, COLOURS - 1)}"


def drawing(width: float, height: float, parts: Sequence[str], *, label: str, name: str = "plot", **more: str) -> str:
    """An <svg> of so many units, drawn to scale. `label` says what one sees to who cannot see it."""
    opening = escape.attributes(
        class_=name,
        viewBox=f"0 0 {escape.number(width)} {escape.number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        **more,
    )
    return f"<svg{opening}>{''.join(parts)}</svg>"


def line(x1: float, y1: float, x2: float, y2: float, name: str) -> str:
    return f"<line{escape.attributes(x1=x1, y1=y1, x2=x2, y2=y2, class_=name)}/>"


def rectangle(x: float, y: float, width: float, height: float, name: str) -> str:
    shape = escape.attributes(x=x, y=y, width=max(0.0, width), height=max(0.0, height), class_=name)
    return f"<rect{shape}/>"


def label(x: float, y: float, content: str, name: str = "", anchor: str = "start", turned: bool = False) -> str:
    """A text; `turned` runs upwards."""
    turn = f"rotate(-90 {escape.number(x)} {escape.number(y)})" if turned else None
    where = escape.attributes(x=x, y=y, class_=name or None, text_anchor=anchor, transform=turn)
    return f"<text{where}>{escape.text(content)}</text>"


def polyline(points: Sequence[tuple[float, float]], name: str, **more: str) -> str:
    """A line through `points`."""
    coordinates = " ".join(f"{escape.number(x)},{escape.number(y)}" for x, y in points)
    return f"<polyline{escape.attributes(points=coordinates, class_=name, **more)}/>"


def point(x: float, y: float, radius: float, name: str, title: str = "", **more: str) -> str:
    """A dot with a text where the pointer rests."""
    shape = escape.attributes(cx=x, cy=y, r=radius, class_=name, **more)
    return f"<circle{shape}><title>{escape.text(title)}</title></circle>" if title else f"<circle{shape}/>"


def bottom_axis(scale: LogScale, top: float, bottom: float, title: str, most: int = 8) -> list[str]:
    """Ticks with labels below a plot, lines through it, and what the axis shows."""
    parts = []
    for at, name in scale.marks(most):
        x = scale.decade(at)
        parts += [line(x, top, x, bottom, "grid"), label(x, bottom + 17, name, "tick", "middle")]
    return [*parts, label((scale.start + scale.end) / 2, bottom + 37, title, "axis", "middle")]


def left_axis(scale: LogScale, left: float, right: float, title: str, most: int = 8) -> list[str]:
    """The same on the left."""
    parts = []
    for at, name in scale.marks(most):
        y = scale.decade(at)
        parts += [line(left, y, right, y, "grid"), label(left - 8, y + 4, name, "tick", "end")]
    return [*parts, label(14, (scale.start + scale.end) / 2, title, "axis", "middle", turned=True)]
