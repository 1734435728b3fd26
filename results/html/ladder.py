"""Which rung of the ladder 1e-1 ... 1e-12 fails: a coloured table, since names of targets are long."""

from __future__ import annotations

from collections.abc import Sequence

from results.contents.operators import Line
from results.html import escape
from results.html.tables import boxed
from results.layout import count, percent_of

SHOWN = 200
"""Operators."""
MOST_TARGETS = 40


def worst_rung(line: Line) -> int | None:
    """The smallest k whose 1e-k some trial exceeds; None where none does."""
    return next((k for k, n in enumerate(line.above, start=1) if n), None)


def ladder(found: Sequence[Line]) -> str:
    """Operators against targets; of one operator in one dtype, its targets against the rungs. Empty without outputs."""
    measured = [line for line in found if line.trials]
    if not measured:
        return ""
    if len({(line.operator, line.dtype) for line in measured}) == 1:
        return _rungs(measured)
    return _operators(measured)


def _rungs(lines: Sequence[Line]) -> str:
    heads = "".join(f'<th scope="col">1e-{k}</th>' for k in range(1, 13))
    rows = "".join(
        f'<tr><th scope="row">{escape.shortened(line.target, escape.SHORT)}</th>{"".join(_shares(line))}</tr>'
        for line in sorted(lines, key=lambda line: line.target)
    )
    return _table(f'<th scope="col">target</th>{heads}', rows, len(lines))


def _shares(line: Line) -> list[str]:
    """The share of trials above each rung."""
    return [
        f'<td class="h{_level(n / line.trials)}" title="{count(n)} of {count(line.trials)} trials above 1e-{k}">'
        f"{percent_of(n, line.trials) if n else '·'}</td>"
        for k, n in enumerate(line.above, start=1)
    ]


def _operators(lines: Sequence[Line]) -> str:
    targets = sorted({line.target for line in lines})[:MOST_TARGETS]
    several = len({line.dtype for line in lines}) > 1
    at = {(line.operator, line.dtype, line.target): line for line in lines}
    names = sorted({(line.operator, line.dtype) for line in lines})
    rows = []
    for operator, dtype in names[:SHOWN]:
        name = f"{operator} in {dtype}" if several else operator
        cells = "".join(_worst(at.get((operator, dtype, target))) for target in targets)
        rows.append(f'<tr><th scope="row">{escape.shortened(name, escape.SHORT)}</th>{cells}</tr>')
    heads = "".join(f'<th scope="col">{escape.shortened(target, escape.SHORT)}</th>' for target in targets)
    more = len(names) - SHOWN
    note = f'<p class="note">And {more} more operators.</p>' if more > 0 else ""
    return _table(f'<th scope="col">operator</th>{heads}', "".join(rows), len(names)) + note


def _worst(line: Line | None) -> str:
    """The worst rung with its share of trials."""
    if line is None:
        return '<td class="none" title="no output">-</td>'
    rung = worst_rung(line)
    if rung is None:
        return f'<td class="h0" title="no relative error above 1e-12 in {count(line.trials)} trials">within 1e-12</td>'
    rest = "; ".join(
        f"1e-{k}: {percent_of(n, line.trials)}" for k, n in enumerate(line.above, start=1) if n and k < rung + 8
    )
    share = percent_of(line.above[rung - 1], line.trials)
    return f'<td class="h{_heat(rung)}" title="above {rest}">1e-{rung}<span class="share">{share}</span></td>'


def _level(share: float) -> int:
    """Eight shades."""
    return 0 if share == 0 else 1 + min(7, int(share * 8))


def _heat(rung: int) -> int:
    """1e-1 is the darkest of eight shades, 1e-8 and below the lightest."""
    return max(1, 9 - rung)


def _table(heads: str, rows: str, number: int) -> str:
    inside = f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="{boxed(number)}"><table class="heat">{inside}</table></div>'
