"""How numbers, tables and headings look on a terminal; the same without colour when the output is piped."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from results.statistics.proportions import Interval
from results.visible import shortened, visible, visible_lines

WIDE = 110
"""Consoles of at least so many columns get intervals on the line of their count."""

_INDENT = 2
_LONGEST, _LONGEST_CELL = 2000, 300
"""Characters of a paragraph and of a cell; of longer ones the start is shown."""
_SPACE = re.compile(r"[\t\n\x0b\x0c\r\x85\u2028\u2029]+")

_WRAP: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
"""Paths, trial names and options stay whole, so that they can be copied."""


class TextConsole(Console):
    """A console on which names and messages are text, whatever is in them: no markup, no control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, **options)  # "numpy:cpu[dtype=float64]" is no markup

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, control characters in them as escapes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible_lines(segment.text), segment.style)


def line_of(text: str, most: int = _LONGEST) -> str:
    """`text` on one line, as a terminal shows it; of a long one the start."""
    return visible(shortened(_SPACE.sub(" ", text), most))


def heading(console: Console, title: str) -> None:
    """An empty line and a title."""
    console.print()
    console.print(Text(line_of(title), style="bold"))


def say(console: Console, text: str, style: str = "", indent: int = _INDENT) -> None:
    """A paragraph, wrapped at words. Square brackets and colons are printed as they are."""
    space = " " * indent
    for line in textwrap.wrap(
        line_of(text), max(20, console.width - 1), initial_indent=space, subsequent_indent=space, **_WRAP
    ):
        console.print(Text(line, style=style), soft_wrap=True)


def table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], words: int = 1) -> None:
    """A table without frame. The first `words` columns wrap where the console is narrow, later ones never do."""
    cells = [list(row) for row in rows]
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    for number, name in enumerate(columns):
        right = number >= words and all(_is_number(row[number]) for row in cells)
        grid.add_column(Text(name), justify="right" if right else "left", overflow="fold", no_wrap=number >= words)
    for row in cells:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row))
    console.print(Padding(grid, (0, 0, 0, _INDENT), expand=False))


def count(value: int) -> str:
    """1234567 as 1,234,567."""
    return f"{value:,}"


def short(value: float | None) -> str:
    """Two or three digits: 0.91, 3.2e5, 6.1e-5, inf; a dash where there is no value."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def percent(rate: float) -> str:
    """A rate in per cent with two significant digits and without the sign: 0.64, 12, 0.0054, 100, inf, nan."""
    value = 100 * rate
    if not math.isfinite(value):
        return str(value)
    if value == 0 or value >= 100:
        return f"{value:.0f}"
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}"


def percent_of(k: int, n: int) -> str:
    """k of n as a percentage with its sign; a dash where n is 0."""
    return f"{percent(k / n)} %" if n else "-"


def interval_cell(interval: Interval, console: Console) -> Text:
    """Count, rate and interval: "32 = 0.64 % [0.44, 0.90]", on two lines where the console is narrow."""
    between = " " if console.width >= WIDE else "\n"
    low, high = percent(interval.low), percent(interval.high)
    return Text(f"{interval.k:,} = {percent(interval.rate)} %{between}[{low}, {high}]")


def verdict_text(name: str | None, finding: bool) -> Text:
    """A verdict, in red where it is a finding."""
    return Text(_cell(name or "-"), style="red" if finding else "")


def _cell(text: str) -> str:
    return line_of(text, _LONGEST_CELL)


def _is_number(cell: str | Text) -> bool:
    plain = cell.plain if isinstance(cell, Text) else cell
    return plain[:1] in "-0123456789" or plain in ("inf", "nan", "")
