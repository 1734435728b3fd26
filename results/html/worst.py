"""The worst elements of a scatter plot as a table: readable without pointing at anything."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from results.contents.setting import place
from results.contents.table import Cell, Column, Table, figure, word
from results.html.points import Sample, worst
from results.html.tables import table

if TYPE_CHECKING:
    from results.reading import Results

_COLUMNS = (
    Column("target"),
    Column("operator"),
    Column("element"),
    Column("relative error", True),
    Column("amplification", True),
    Column("rho", True),
    Column("repeat"),
)


def worst_table(results: Results, sample: Sample) -> str:
    """Those with the largest rho and with the largest relative error, with the commands that repeat them."""
    directory = place(results)
    rows = tuple(
        (
            word(point.target),
            word(point.operator),
            word(f"{point.output}[{point.element}]"),
            figure(point.relative),
            figure(point.amplification),
            figure(point.rho),
            Cell(f"ulpfuzz repro {directory} {shlex.quote(point.trial)}", point.trial),
        )
        for point in worst(sample)
    )
    return table(Table(_COLUMNS, rows), "data commands")
