"""The answer of a query on a terminal: a table, or one row below the other where its columns do not fit beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from results.layout import count
from results.plain import names, plain_values, text
from results.visible import visible

ROWS = 40
"""Rows of a table that are printed."""
LINES = 120
"""Lines of rows below each other."""
_WIDEST = (60, 40, 24)
"""Columns of a cell in a table: the widest with which the table fits."""
_LONGEST = 400
"""Characters of a value in a row by itself."""
_GAP = "  "
_NULL = "null"


def print_answer(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch], console: Console, most: int | None = None
) -> None:
    """Print the first rows of an answer, `most` or as many as are readable, and how many there are in all.

    Every batch is read for that; those that are not shown are not kept.
    """
    kept: list[tuple[Any, ...]] = []
    total = 0
    wanted = ROWS if most is None else most
    for batch in batches:
        total += batch.num_rows
        if len(kept) < wanted:
            head = batch.slice(0, wanted - len(kept))
            kept += zip(*(plain_values(column) for column in head.columns), strict=True)
    heads = [visible(name) for name in names(schema)]
    lines = _table(heads, schema, kept, console)
    if lines is None:
        if most is None:
            kept = kept[: max(1, LINES // (len(heads) + 1))]
        lines = list(_records(heads, kept))
    for line in lines:
        console.print(line, soft_wrap=True)
    console.print(Text(_said(total, len(kept)), style="dim"), soft_wrap=True)


def _said(total: int, shown: int) -> str:
    rows = f"{count(total)} {'row' if total == 1 else 'rows'}"
    if shown >= total:
        return rows
    first = "the first is" if shown == 1 else f"the first {count(shown)} are"
    return f"{rows}, {first} shown: --csv FILE or --json gives all, --rows N more"


def _table(
    heads: Sequence[str], schema: pa.Schema, rows: Sequence[Sequence[Any]], console: Console
) -> list[Text] | None:
    """Lines of a table; None where it is wider than the console."""
    for widest in _WIDEST:
        cells = [[_cut(_shown(value), widest) for value in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
        if sum(widths) + len(_GAP) * (len(widths) - 1) < max(console.width, 20):
            break
    else:
        return None
    right = [not _is_text(kind) for kind in schema.types]
    lines = [Text(_line(heads, widths, right), style="bold")]
    return [*lines, *(Text(_line(row, widths, right)) for row in cells)]


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        " " * (width - cell_len(cell)) + cell if to_right else set_cell_size(cell, width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    ]
    return _GAP.join(padded).rstrip()


def _records(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[Text]:
    width = max(map(cell_len, heads))
    for number, row in enumerate(rows, 1):
        yield Text(f"row {count(number)}", style="bold")
        for head, value in zip(heads, row, strict=True):
            yield Text(f"{_GAP}{set_cell_size(head, width)}{_GAP}{_cut(_shown(value), _LONGEST)}")


def _shown(value: Any) -> str:
    return _NULL if value is None else visible(text(value))


def _cut(shown: str, most: int) -> str:
    """The start of a long text; where there is room, with its length behind."""
    if cell_len(shown) <= most:
        return shown
    tail = f"\u2026 ({count(len(shown))} characters)" if most >= _LONGEST else "\u2026"
    return set_cell_size(shown, most - len(tail)).rstrip() + tail


def _is_text(kind: Any) -> bool:
    return not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    )
