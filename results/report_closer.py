"""Which of two targets is closer to the truth, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.contents.closer import TITLE, closer
from results.layout import heading, say, table

if TYPE_CHECKING:
    from rich.console import Console

    from results.reading import Results


MOST = 24
"""Lines shown."""


def print_closer(results: Results, console: Console) -> None:
    """The table of each pair that the campaign names; nothing where it names none."""
    content = closer(results, MOST)
    if content is None:
        return
    heading(console, TITLE)
    if content.rows:
        cells = [tuple(cell.text for cell in row) for row in content.rows]
        table(console, [column.name for column in content.columns], cells, words=4)
    for note in content.notes:
        say(console, note)
