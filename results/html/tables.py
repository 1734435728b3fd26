"""Tables of the contents as HTML. Sorting and filtering is the page's script's; without it all rows are there."""

from __future__ import annotations

from results.contents.table import Cell, Column, Table
from results.html import escape

FILTERED = 8
"""Tables of so many rows get a box to filter them."""
TALL = 30
"""Tables of more rows scroll by themselves; on paper they do not."""


def table(content: Table, name: str = "data") -> str:
    """The table in a box of its own, which scrolls where it is wider than the page, and its notes."""
    heads = "".join(_head(column) for column in content.columns)
    rows = "".join(_row(row, content.columns) for row in content.rows)
    filtered = "" if len(content.rows) >= FILTERED else None
    shown = f"<table{escape.attributes(class_=name, data_filter=filtered)}>"
    box = boxed(len(content.rows))
    return f'<div class="{box}">{shown}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>' + notes(
        content.notes
    )


def boxed(rows: int) -> str:
    """The class of a box: it scrolls by itself where it holds many rows."""
    return "box tall" if rows > TALL else "box"


def notes(lines: tuple[str, ...]) -> str:
    """Small print."""
    return "".join(f'<p class="note">{escape.shortened(line)}</p>' for line in lines)


def paragraphs(lines: tuple[str, ...]) -> str:
    """A list of sentences."""
    if not lines:
        return ""
    return f'<ul class="said">{"".join(f"<li>{escape.shortened(line)}</li>" for line in lines)}</ul>'


def code(content: str, *, lines: bool = False) -> str:
    """A command, or with `lines` a script, to be copied by the page's script."""
    kind = "code script" if lines else "code"
    return f'<div class="{kind}"><pre><code>{escape.text(content)}</code></pre></div>'


def _head(column: Column) -> str:
    kind = "n" if column.number else None
    name = " ".join(f'<span class="word">{escape.text(word)}</span>' for word in column.name.split())
    return f"<th{escape.attributes(scope='col', class_=kind, title=column.hint or None)}>{name}</th>"


def _row(row: tuple[Cell, ...], columns: tuple[Column, ...]) -> str:
    red = any(cell.red for cell in row)
    cells = "".join(_cell(cell, column) for cell, column in zip(row, columns, strict=True))
    return f'<tr class="red">{cells}</tr>' if red else f"<tr>{cells}</tr>"


def _cell(cell: Cell, column: Column) -> str:
    kinds = " ".join(kind for kind, given in (("n", column.number), ("bad", cell.red)) if given)
    key = "" if cell.key is None else repr(cell.key) if isinstance(cell.key, float | int) else None
    shown = escape.attributes(class_=kinds or None, data_key=key, title=cell.hint or None)
    return f"<td{shown}>{escape.shortened(cell.text, escape.SHORT)}</td>"
