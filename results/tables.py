"""What SQL sees of campaigns beside their own columns: which campaign a row is of, the verdicts, what columns mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from results.arrow import arrow_schema, named
from results.columns import CAMPAIGN, COLUMNS, ELEMENT_COLUMNS, FINDING_COLUMNS, Column
from results.database import BATCH_ROWS
from results.merging import batches_of


def of_campaigns(
    names: Sequence[str], columns: Sequence[Column], files: Sequence[Sequence[Path]], copies: Sequence[pa.Table]
) -> ds.Dataset:
    """Files, scanned lazily, and tables of each campaign as one dataset with the column `campaign`.

    A query for one campaign opens no file of the others. Columns that a file lacks are null.
    """
    schema = arrow_schema([*columns, CAMPAIGN])
    parquet, local = ds.ParquetFileFormat(), fs.LocalFileSystem()
    fragments = [
        parquet.make_fragment(str(path), local, partition_expression=ds.field(CAMPAIGN.name) == name)
        for name, some in zip(names, files, strict=True)
        for path in some
    ]
    tables = [named(copy, name) for name, copy in zip(names, copies, strict=True)]
    return ds.dataset([ds.FileSystemDataset(fragments, schema, parquet, local), ds.dataset(tables, schema=schema)])


def reader_of_campaigns(
    names: Sequence[str], columns: Sequence[Column], files: Sequence[Sequence[Path]], copies: Sequence[pa.Table]
) -> pa.RecordBatchReader:
    """The same rows, to be read once from the first to the last: one batch is in memory at a time.

    A scan of the dataset reads many row groups ahead, which takes a gigabyte with all columns.
    """
    schema = arrow_schema(columns)

    def rows() -> Iterator[pa.RecordBatch]:
        for name, some, copy in zip(names, files, copies, strict=True):
            for batch in chain(batches_of(some, schema), copy.to_batches(BATCH_ROWS)):
                yield batch.append_column(CAMPAIGN.name, pa.repeat(name, batch.num_rows))

    return pa.RecordBatchReader.from_batches(arrow_schema([*columns, CAMPAIGN]), rows())


def column_table() -> pa.Table:
    """What docs/schema.md says, as a table."""
    described = {
        "measurements": (*COLUMNS, CAMPAIGN),
        "trials": (*COLUMNS, CAMPAIGN),
        "elements": (*ELEMENT_COLUMNS, CAMPAIGN),
        "findings": (*FINDING_COLUMNS, CAMPAIGN),
    }
    listed = [(table, column) for table, columns in described.items() for column in columns]
    return pa.table(
        {
            "table_name": [table for table, _ in listed],
            "column_name": [column.name for _, column in listed],
            "type": [column.kind for _, column in listed],
            "unit": [column.unit for _, column in listed],
            "since": [column.since or None for _, column in listed],
            "says": [column.doc for _, column in listed],
        }
    )
