"""Rows into one file of another program: Parquet, CSV, Arrow or JSON lines by its suffix, batch by batch.

| suffix | null | NaN, infinities |
|---|---|---|
| .parquet, .arrow | null | as they are |
| .csv | an empty field; an empty text is "" | nan, inf, -inf |
| .jsonl | null | the strings "nan", "inf", "-inf" |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from results.errors import ResultsError
from results.files import replacing
from results.parts import ROW_GROUP
from results.plain import as_csv, for_csv, json_lines

if TYPE_CHECKING:
    from results.reading import Results

EXPORTED = ("measurements", "trials", "elements", "findings")
"""Tables that `ulpfuzz export` knows."""

Write: TypeAlias = Callable[[pa.RecordBatch], None]


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Write]:
    strings = [field.name for field in schema if pa.types.is_string(field.type)]
    gathered: list[pa.RecordBatch] = []
    options = {"compression": "zstd", "use_dictionary": strings}
    with path.open("wb") as sink, pq.ParquetWriter(sink, schema, **options) as file:

        def flush() -> None:
            if gathered:
                file.write_table(pa.Table.from_batches(gathered, schema), row_group_size=ROW_GROUP)
                gathered.clear()

        def write(batch: pa.RecordBatch) -> None:
            gathered.append(batch)
            if sum(one.num_rows for one in gathered) >= ROW_GROUP // 2:
                flush()

        yield write
        flush()


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[Write]:
    spelled = for_csv(schema)
    with path.open("wb") as sink, csv.CSVWriter(sink, spelled) as file:
        yield lambda batch: file.write_batch(as_csv(batch, spelled))


@contextmanager
def _arrow(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with path.open("wb") as sink, pa.ipc.new_file(sink, schema) as file:
        yield file.write_batch


@contextmanager
def _jsonl(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with path.open("wb") as file:

        def write(batch: pa.RecordBatch) -> None:
            file.writelines(json_lines(schema, iter([batch])))

        yield write


FORMATS: dict[str, Callable[[Path, pa.Schema], AbstractContextManager[Write]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".arrow": _arrow,
    ".jsonl": _jsonl,
}
"""How each suffix is written."""


def export(results: Results, table: str, path: Path) -> int:
    """Write a table of EXPORTED into `path`, whole or not at all; the number of its rows.

    ResultsError for an unknown table or suffix; OSError as the system raises it.
    """
    if table not in EXPORTED:
        raise ResultsError(f"there is no table {table!r} to export: name one of {', '.join(EXPORTED)}")
    return _save(path, lambda: results.stream(table))


def save_answer(results: Results, query: str, path: Path) -> int:
    """The same for the answer of a query."""
    return _save(path, lambda: results.batches(query))


def _save(path: Path, ask: Callable[[], tuple[pa.Schema, Iterator[pa.RecordBatch]]]) -> int:
    form = format_of(path)
    schema, batches = ask()
    rows = 0
    with replacing(path) as temporary, form(temporary, schema) as write:
        for batch in batches:
            write(batch)
            rows += batch.num_rows
    return rows


def format_of(path: Path) -> Callable[[Path, pa.Schema], AbstractContextManager[Write]]:
    """How a file is to be written. ResultsError where its suffix does not say."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        shown = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise ResultsError(f"{path} has {shown}: name a file that ends in {', '.join(FORMATS)}")
    return found
