"""Which target has which colour: the same in every plot of a campaign."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from results.html import escape, svg

OTHERS = "others"


def colours(targets: Sequence[str]) -> dict[str, str]:
    """The class of each target, in the order given; those without a colour of their own share the last."""
    return {target: svg.colour(position) for position, target in enumerate(targets)}


def legend(of: Mapping[str, str], shown: Collection[str]) -> str:
    """The targets in `shown` with their colours. The page's script hides a target's marks at a click."""
    own = [(name, kind) for name, kind in of.items() if name in shown]
    last = svg.colour(svg.COLOURS)
    shared = [name for name, kind in own if kind == last]
    entries = [(name, kind) for name, kind in own if kind != last or len(shared) == 1]
    if len(shared) > 1:
        entries.append((f"{len(shared)} {OTHERS}", last))
    marks = "".join(
        f'<li{escape.attributes(class_=f"key {kind}", data_colour=kind)}><span class="dot"></span>'
        f"{escape.text(_short(name))}</li>"
        for name, kind in entries
    )
    return f'<ul class="legend">{marks}</ul>'


def _short(name: str) -> str:
    return name if len(name) <= escape.SHORT else f"{name[: escape.SHORT - 1]}\u2026"
