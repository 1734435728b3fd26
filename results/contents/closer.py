"""Which of two targets is closer to the truth, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.closer import CloserLine, closer_lines
from results.contents.table import Cell, Column, Table, figure, word
from results.layout import count, short

if TYPE_CHECKING:
    from results.reading import Results

MOST = 200
"""Lines shown, those with a difference first."""
TITLE = "Which is closer to the truth"
NOTES = (
    "The rms error against the truth of both targets on the same trials. p: exact sign test over trials, adjusted for "
    "all lines of this table (Benjamini and Hochberg); an error's elements are not independent, its trials are.",
    "ratio: rms error of the first divided by that of the second, in the median of the trials, with its 95 % interval. "
    "Closer is no verdict: both may lie within what rounding explains.",
)


def closer(results: Results, most: int = MOST) -> Table | None:
    """One line an output and pair, `most` at most; None where the campaign names no pair. A refusal is a note below no
    line."""
    found = closer_lines(results)
    columns = (
        Column("operator"),
        Column("output"),
        Column("first / second"),
        Column("closer"),
        Column("trials", True, "in which the closer one, else the first, has the smaller rms error"),
        Column("p", True),
        Column("ratio", True),
    )
    if found.refused:
        return Table(columns, (), (f"Not compared: {found.refused}.",))
    if not found.lines:
        return None
    several = len({line.problem_id for line in found.lines}) > 1
    lines = sorted(found.lines, key=lambda line: not line.closer)
    more = len(lines) - most
    of_these = sum(bool(line.closer) for line in lines[most:])
    rest = f"And {count(more)} more lines, {count(of_these)} of them with a difference."
    notes = (*NOTES, *((rest,) if more > 0 else ()))
    return Table(columns, tuple(_row(line, several) for line in lines[:most]), notes)


def _row(line: CloserLine, several: bool) -> tuple[Cell, ...]:
    c = line.found
    wins = c.second_closer if line.closer == line.second else c.first_closer
    equal = f", {count(c.equal)} equal" if c.equal else ""
    interval = "" if c.low is None else f" [{short(c.low)}, {short(c.high)}]"
    name = f"{line.operator} {line.problem_id[:8]}" if several and line.problem_id else line.operator
    return (
        word(name),
        word(line.output),
        word(f"{line.first} / {line.second}"),
        word({line.first: "first", line.second: "second"}.get(line.closer, "neither")),
        Cell(f"{count(wins)} of {count(c.trials)}{equal}", wins),
        figure(line.adjusted),
        Cell(f"{short(c.ratio)}{interval}", c.ratio),
    )
