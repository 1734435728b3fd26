"""Merge Parquet files of a campaign into one sorted file, in bounded memory.

Only the columns of the sort order are held for all rows: they say to which row group of the result each row belongs.
Then the files are read once, batch by batch, and every row is put into the spill file of its row group; last, each
spill file is sorted and written. At any time one batch and one row group are in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from results.arrow import arrow_schema
from results.columns import Column
from results.errors import StoreError
from results.parts import ROW_GROUP, damaged, footer, seal, writer

_BATCH = 8192
"""Rows read at a time."""

Ranks = npt.NDArray[np.int64]


def merge(
    sources: Sequence[Path],
    target: Path,
    columns: Sequence[Column],
    order: Sequence[str],
    shards: Sequence[int],
    generation: int,
    expected: int,
    spill: Path,
    summary: str = "",
) -> None:
    """Write all rows of `sources`, `expected` in number, to `target`, sorted by the columns `order`.

    `spill` is an existing folder for temporary files, about the size of the sources. Columns that a source lacks
    become null; `summary` goes into the footer. DamagedFile for a source that cannot be read, OSError when the disk
    does not take the result.
    """
    rank = _ranks(sources, [column for name in order for column in columns if column.name == name])
    schema = arrow_schema(columns)
    with tempfile.TemporaryDirectory(dir=spill) as folder:
        groups = [Path(folder) / str(number) for number in range(-(-len(rank) // ROW_GROUP))]
        _split(sources, rank, groups, schema)
        with writer(str(target), columns) as file:
            for number, group in enumerate(groups):
                file.write_table(_sorted(group, schema, number * ROW_GROUP), row_group_size=ROW_GROUP)
                group.unlink()
            file.add_key_value_metadata(footer(columns, shards, generation, len(rank), None, summary))
    with target.open("r+b") as sealed:
        seal(sealed)
    if (written := pq.read_metadata(target).num_rows) != expected:
        raise StoreError(
            f"{target} has {written:,} rows instead of {expected:,}: the merge is given up, nothing is lost"
        )


def _ranks(sources: Sequence[Path], order: Sequence[Column]) -> Ranks:
    """The position in the result of every row, in the order of the sources. Equal rows keep their order."""
    keys = [_codes(sources, column.name, column.kind) for column in reversed(order)]
    rank = np.empty(len(keys[0]), np.int64)
    rank[np.lexsort(keys)] = np.arange(len(rank))
    return rank


def _codes(sources: Sequence[Path], name: str, kind: str) -> Ranks:
    """A number for each value of a column that sorts as the value does; nulls sort before all others."""
    if kind == "int64":
        least = np.iinfo(np.int64).min
        return np.concatenate(
            [_column(source, name).cast(pa.int64()).fill_null(least).to_numpy() for source in sources]
        )
    numbers: dict[Any, int] = {}
    pieces: list[Ranks] = []
    for source in sources:
        column = _column(source, name).dictionary_encode()
        codes = [numbers.setdefault(value, len(numbers)) for value in column.dictionary.to_pylist()]
        null = numbers.setdefault(None, len(numbers)) if column.null_count else 0
        table = np.array([*codes, null], np.int64)
        pieces.append(table[column.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)])
    ascending = sorted(numbers, key=lambda value: (value is not None, value if value is not None else 0))
    place = np.empty(len(numbers), np.int64)
    place[[numbers[value] for value in ascending]] = np.arange(len(numbers))
    return place[np.concatenate(pieces)] if pieces else np.empty(0, np.int64)


def _column(source: Path, name: str) -> Any:
    try:
        with pq.ParquetFile(source) as file:
            if name not in file.schema_arrow.names:
                return pa.nulls(file.metadata.num_rows, pa.string())
            return file.read([name], use_threads=False).column(0).combine_chunks()
    except pa.ArrowException as error:
        raise damaged(source, "its rows cannot be read") from error


def _split(sources: Sequence[Path], rank: Ranks, groups: Sequence[Path], schema: pa.Schema) -> None:
    """Put every row, with its position in the result, into the spill file of its row group."""
    wide = schema.append(pa.field("rank", pa.int64()))
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    writers: list[Any] = []
    try:
        writers += (pa.ipc.new_stream(str(group), wide, options=options) for group in groups)
        start = 0
        for batch in batches_of(sources, schema):
            if not batch.num_rows:
                continue
            places = rank[start : start + batch.num_rows]
            start += batch.num_rows
            order = np.argsort(places)
            taken = batch.append_column(wide.field("rank"), pa.array(places)).take(pa.array(order))
            ends = np.searchsorted(places[order] // ROW_GROUP, np.arange(len(groups)), "right")
            for number, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
                if first < last:
                    writers[number].write_batch(taken.slice(first, last - first))
    finally:
        for stream in writers:
            stream.close()


def batches_of(sources: Sequence[Path], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of the sources with the columns of `schema`, few at a time; those that a source lacks are null."""
    for source in sources:
        with pq.ParquetFile(source, pre_buffer=False) as file:
            known = set(file.schema_arrow.names)
            for batch in file.iter_batches(_BATCH, use_threads=False):
                cells = [
                    batch.column(field.name) if field.name in known else pa.nulls(batch.num_rows, field.type)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(cells, schema=schema)


def _sorted(group: Path, schema: pa.Schema, start: int) -> pa.Table:
    """The rows of a spill file in order. Column by column, each freed before the next is copied."""
    with pa.OSFile(str(group)) as file, pa.ipc.open_stream(file) as stream:
        table = stream.read_all()
    columns = table.columns
    del table
    places = columns.pop().to_numpy() - start
    order = np.empty(len(places), np.int64)
    order[places] = np.arange(len(places))
    indices = pa.array(order)
    taken: list[Any] = []
    columns.reverse()
    while columns:
        column = columns.pop()
        whole = column.combine_chunks()
        del column
        taken.append(whole.take(indices))
        del whole
    return pa.Table.from_arrays(taken, schema=schema)


def peak_memory() -> int:
    """The most memory this process has held, in bytes; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def modest() -> None:
    """One thread for Arrow, and freed memory goes back at once: the campaign's workers have the machine."""
    pa.set_memory_pool(pa.system_memory_pool())
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
