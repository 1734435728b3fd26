"""How the error grows with a size: a line an operator, target and size that varies."""

from __future__ import annotations

from results.contents.table import Cell, Column, Table, figure, number, word
from results.growth_words import explained
from results.growths import LEAST_SHOWN, Panel, Series, growths
from results.reading import Results
from results.report_growth import missing

TITLE = "How the error grows"


def growth(results: Results) -> Table | None:
    """Exponents with intervals; None where no size varies, or the plan supports no growth law."""
    panels = growths(results, LEAST_SHOWN)
    if not panels:
        return None
    columns = (
        Column("operator"),
        Column("with", hint="the dim that varies, or n, the length of the reduction"),
        Column("target"),
        Column("dtype"),
        Column("sizes", True),
        Column("error at the smallest", True),
        Column("at the largest", True),
        Column("slope", True, "exponent of the growth"),
        Column("95 % interval"),
        Column("law"),
    )
    rows = tuple(_row(panel, series) for panel in panels for series in panel.series)
    return Table(columns, rows, (*explained(panels), *missing(panels)))


def _row(panel: Panel, series: Series) -> tuple[Cell, ...]:
    law = series.law
    return (
        word(panel.operator + (f" ({panel.fixed})" if panel.fixed else "")),
        word(panel.axis),
        word(series.target),
        word(panel.dtype),
        number(len(series.points)),
        figure(series.points[0][1]),
        figure(series.points[-1][1]),
        Cell(f"{law.slope:z.2f}", law.slope) if law else Cell(""),
        word(f"{law.low:z.2f} to {law.high:z.2f}" if law else "too few sizes or trials"),
        word(law.law if law else ""),
    )
