"""Report section: how the error grows with a size, where a campaign has several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from results.growth_words import explained
from results.growths import Panel, Series, growths
from results.layout import count, heading, say, short, table
from results.statistics.growth import LEAST_SIZES, LEAST_TRIALS

if TYPE_CHECKING:
    from results.reading import Results

TITLE = "How the error grows"
SHOWN = 12
"""Panels; the pages show more."""
COLUMNS = ("target", "sizes", "smallest", "error", "largest", "error", "slope", "95 % interval", "law")


def print_growth(results: Results, console: Console) -> None:
    """Exponents with their intervals; nothing where no four sizes vary, or the plan supports no growth law."""
    panels = growths(results, LEAST_SIZES)
    if not panels:
        return
    heading(console, TITLE)
    for panel in panels[:SHOWN]:
        say(console, f"{panel.title}: with {panel.axis}", style="bold")
        table(console, COLUMNS, [cells(series) for series in panel.series])
    if len(panels) > SHOWN:
        say(console, f"And {len(panels) - SHOWN} more: `ulpfuzz report --html` shows them.")
    for line in (*explained(panels), *missing(panels)):
        say(console, line)


def cells(series: Series) -> tuple[str, ...]:
    """A line of the table."""
    (small, first, _), (large, last, _) = series.points[0], series.points[-1]
    law = series.law
    fitted = ("", "", "") if law is None else (f"{law.slope:z.2f}", f"{law.low:z.2f} to {law.high:z.2f}", law.law)
    return (series.target, str(len(series.points)), count(small), short(first), count(large), short(last), *fitted)


def missing(panels: list[Panel]) -> tuple[str, ...]:
    """Why some have no slope."""
    if all(series.law for panel in panels for series in panel.series):
        return ()
    return (f"Where no slope is shown: it needs {LEAST_SIZES} sizes of {LEAST_TRIALS} trials, each with an error.",)
