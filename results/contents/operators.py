"""Every operator, dtype and target of a campaign in one line each, and those that have accuracy issues."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from results.columns import RUNGS
from results.contents.table import Cell, Column, Table, figure, number, share, verdict, word
from results.layout import count
from results.quiet import quiet, told
from results.tallies import AGAINST_TRUTH
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

SHOWN = 1500
"""Lines of the table; a campaign of hundreds of schedules may have more."""
_NAMES = list(VERDICTS)
_DIGITS = (
    "No digits lost beside a finding: NaN or an infinity, a last bit that IEEE 754 requires, a failed call, subnormals "
    "read as zero, or an error that only the other precision shows."
)


class Line(Struct, frozen=True):
    """One operator in one dtype on one target. A trial counts once, with its worst output."""

    operator: str
    dtype: str
    target: str
    provenance: str
    """library, composed or user."""
    problems: int
    run: int
    """Trials with a row."""
    trials: int
    """Of these, trials with an output to measure."""
    above: tuple[int, ...]
    """Trials with a relative error above 1e-1, 1e-2, ... 1e-12."""
    flagged: int
    """Trials with an element of rho > 2."""
    worst_relative: float | None
    amplification: float | None
    """At the element of the worst relative error."""
    worst_ulp: float | None
    worst_rho: float | None
    lost_rho: float | None
    """The same without results that are right but for subnormals read as zero."""
    worst_verdict: str

    @property
    def composed(self) -> bool:
        """Whether ulpfuzz wrote it from primitives: nothing in it is blamed on the library."""
        return self.provenance == "composed"

    @property
    def finding(self) -> bool:
        """Whether its worst verdict counts against somebody."""
        return VERDICTS[self.worst_verdict].finding and not self.composed

    @property
    def issue(self) -> bool:
        """Whether rounding does not explain it, or nobody could tell."""
        return self.flagged > 0 or VERDICTS[self.worst_verdict].finding or self.worst_verdict == "indeterminate"

    @property
    def severity(self) -> int:
        return VERDICTS[self.worst_verdict].severity


def lines(results: Results) -> list[Line]:
    """Findings first, the most severe before the others, then by the largest rho."""
    rows = results.tallied(f"""
        SELECT operator, dtype, target, coalesce(min(provenance), '') AS provenance,
               count(DISTINCT problem_id) AS problems, sum(n)::BIGINT AS run, sum(measured)::BIGINT AS trials,
               {", ".join(f"sum(a{k})::BIGINT AS a{k}" for k in RUNGS)}, sum(flagged)::BIGINT AS flagged,
               max(relative) AS worst_relative,
               arg_max(amplification, struct_pack(r := relative, a := amplification)) AS amplification,
               max(ulp) AS worst_ulp, max(rho) AS worst_rho, max(kept) AS lost_rho, max(severity) AS severity
        FROM outcomes LEFT JOIN verdicts ON verdict = name WHERE {AGAINST_TRUTH} GROUP BY operator, dtype, target
    """)
    hidden = quiet(results)
    found = [_line(row) for row in rows if row["target"] not in hidden]
    return sorted(found, key=lambda line: (not line.finding, -line.severity, -_size(line), *_name(line)))


def issues(found: Sequence[Line]) -> Table:
    """Operators with accuracy issues, a line a target: what a maintainer wants to see first."""
    columns = (
        Column("operator"),
        Column("target"),
        Column("dtype"),
        Column("verdict"),
        Column("worst rho", True, "error divided by what rounding and conditioning excuse"),
        Column(
            "digits lost",
            True,
            "log10 of the worst rho, without results that only read subnormals as zero",
        ),
        Column("flagged", True, "trials with an element of rho above 2"),
        Column("code", hint="who wrote the formula: the library, ulpfuzz from its primitives (composed), or the user"),
    )
    rows = tuple(
        (
            word(line.operator),
            word(line.target),
            word(line.dtype),
            verdict(line.worst_verdict, not line.composed),
            figure(line.worst_rho),
            _digits(line.lost_rho),
            share(line.flagged, line.trials, line.finding),
            word(line.provenance),
        )
        for line in found
        if line.issue
    )
    told = (_DIGITS,) if any(line.finding and not _digits(line.lost_rho).key for line in found if line.issue) else ()
    return Table(columns, rows[:SHOWN], (*told, *_cut(rows)))


def everything(results: Results, found: Sequence[Line]) -> Table:
    """All operators and targets: how often, and how badly."""
    columns = (
        Column("operator"),
        Column("target"),
        Column("dtype"),
        Column("worst verdict"),
        Column("trials", True, "trials with an output to measure"),
        Column("above 1e-1", True, "trials with a relative error above 0.1"),
        Column("above 1e-2", True, "trials with a relative error above 0.01"),
        Column("flagged", True, "trials with an element of rho above 2"),
        Column("largest relative", True, "largest relative error"),
        Column("amplification", True, "there: E/|truth|, units of u of relative error that rounding explains"),
        Column("largest ulp", True, "largest error in units in the last place of the truth"),
        Column("largest rho", True, "error divided by what rounding and conditioning excuse"),
    )
    rows = tuple(
        (
            word(line.operator),
            word(line.target),
            word(line.dtype),
            verdict(line.worst_verdict, not line.composed),
            number(line.trials),
            share(line.above[0], line.trials),
            share(line.above[1], line.trials),
            share(line.flagged, line.trials, line.finding),
            figure(line.worst_relative),
            figure(line.amplification),
            figure(line.worst_ulp),
            figure(line.worst_rho),
        )
        for line in found
    )
    hidden = tuple(f"Besides, {text}." for text in told(len(quiet(results))))
    return Table(columns, rows[:SHOWN], (*_cut(rows), *hidden))


def healthy_sentence(found: Sequence[Line]) -> str:
    """How much stays within rounding; empty where nothing does."""
    healthy = [line for line in found if not line.issue and line.trials]
    if not healthy:
        return ""
    trials = sum(line.trials for line in healthy)
    whole = {line.operator for line in healthy} - {line.operator for line in found if line.issue}
    text = f"{_pairs(len(healthy))} within what rounding explains, in {count(trials)} results."
    if len({line.operator for line in found}) > 1 and whole:
        text += f" Operators within rounding on every target ({len(whole)}): {', '.join(sorted(whole))}."
    return text


def _pairs(n: int) -> str:
    return "1 pair of operator and target stays" if n == 1 else f"{count(n)} pairs of operator and target stay"


def _line(row: dict[str, Any]) -> Line:
    above = tuple(row.pop(f"a{k}") for k in RUNGS)
    severity = row.pop("severity")
    return Line(**row, above=above, worst_verdict=_NAMES[severity or 0])


def _size(line: Line) -> float:
    rho = line.worst_rho
    return -1.0 if rho is None or math.isnan(rho) else rho


def _name(line: Line) -> tuple[str, ...]:
    return (line.operator, line.dtype or "", line.target)


def _digits(rho: float | None) -> Cell:
    if rho is None or math.isnan(rho):
        return Cell("-")
    lost = math.log10(max(1.0, rho))
    return Cell(f"{lost:.1f}", lost)


def _cut(rows: Sequence[object]) -> tuple[str, ...]:
    more = len(rows) - SHOWN
    return (f"And {count(more)} more, less severe.",) if more > 0 else ()
