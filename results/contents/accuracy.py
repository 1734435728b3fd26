"""The accuracy table of an exhaustive campaign: the largest error of each function, and where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.accuracy import Line, Spot, decimal, hexadecimal, lines, rounded_up
from results.contents.table import Cell, Column, Table, number, word
from results.report_accuracy import COMPOSED, notes, share, short_share
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results


def accuracy(results: Results) -> Table:
    """One line a function, dtype and target over all numbers of the format. ResultsError where no campaign ran them."""
    found = lines(results)
    columns = (
        Column("function"),
        Column("target"),
        Column("dtype"),
        Column("inputs", True, "numbers of the format that were measured"),
        Column("ulp", True, "largest error in units in the last place of the exact result, rounded up"),
        Column("at x"),
        Column("x exactly"),
        Column("ulp, normal", True, "the same without subnormal inputs and results"),
        Column("rounded", True, "results that are the number nearest to the exact value"),
        Column("NaN/inf", True, "inputs where result or truth alone is NaN or infinite"),
        Column("flagged", True, "elements with rho above 2"),
        Column("verdict"),
    )
    return Table(columns, tuple(_row(line) for line in found), tuple(notes(found)))


def _row(line: Line) -> tuple[Cell, ...]:
    finding = bool(line.verdict) and VERDICTS[line.verdict].finding and not line.composed
    flagged = short_share(line.flagged, line.inputs) if line.flagged else "0"
    spot = line.worst
    return (
        word(line.function),
        word(line.target + (COMPOSED if line.composed else "")),
        word(line.dtype),
        Cell("all", line.inputs) if line.complete else number(line.inputs),
        _ulp(spot),
        word(decimal(spot.x, line.dtype)) if spot else Cell("-"),
        word(hexadecimal(spot.x)) if spot else Cell("-"),
        _ulp(line.normal),
        Cell("-") if line.rounded is None else Cell(share(line.rounded, line.inputs), line.rounded),
        Cell(f"{line.nonfinite:,}", line.nonfinite, finding and line.nonfinite > 0),
        Cell(flagged, line.flagged, finding and line.flagged > 0),
        Cell(line.verdict or "-", VERDICTS[line.verdict].severity if line.verdict else None, finding),
    )


def _ulp(spot: Spot | None) -> Cell:
    return Cell("-") if spot is None else Cell(rounded_up(spot.ulp), spot.ulp)
