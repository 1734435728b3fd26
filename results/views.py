"""Databases over the files of campaigns, which see these and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from results.arrow import arrow_schema, empty
from results.columns import COLUMNS, ELEMENT_COLUMNS, Column
from results.database import Database, file_list
from results.partitions import NEEDED
from results.summary import Summary, summary_of
from results.verdicts import verdicts_sql

_GLOB = set("*?[")
"""Signs in a path that DuckDB would take for a pattern."""


def database(
    files: Sequence[Path],
    tables: Sequence[pa.Table],
    element_files: Sequence[Path] = (),
    element_tables: Sequence[pa.Table] = (),
) -> Database:
    """The rows of Parquet files and of tables with the columns of COLUMNS as the view `measurements`, those with
    ELEMENT_COLUMNS as `elements`, and `verdicts`. A column that a file lacks is null.

    DuckDB reads the files itself: strings stay dictionary-encoded, which makes grouping several times faster than
    over an Arrow dataset. `lock` it before anybody's query runs.
    """
    made = Database([path for path in (*files, *element_files) if not _GLOB & set(str(path.resolve()))])
    made.view("verdicts", verdicts_sql())
    _view(made, "measurements", files, tables, COLUMNS)
    _view(made, "elements", element_files, element_tables, ELEMENT_COLUMNS)
    return made


def _view(
    made: Database,
    name: str,
    files: Sequence[Path],
    tables: Sequence[pa.Table],
    columns: Sequence[Column],
) -> None:
    schema = arrow_schema(columns)
    made.add(f"{name}_in_memory", pa.concat_tables([empty(schema), *tables]))
    source = f"SELECT * FROM {name}_in_memory"
    if any(_GLOB & set(str(path.resolve())) for path in files):
        made.add(f"{name}_in_files", _dataset(files, schema))
        source += f" UNION ALL BY NAME SELECT * FROM {name}_in_files"
    elif files:
        options = "union_by_name = true, hive_partitioning = false"
        source += f" UNION ALL BY NAME SELECT * FROM read_parquet({file_list(files)}, {options})"
    made.view(name, source)


def _dataset(files: Sequence[Path], schema: pa.Schema) -> Any:
    import pyarrow.dataset

    return pyarrow.dataset.dataset([str(path) for path in files], schema=schema, format="parquet")


def counted(files: Sequence[Path], copies: Sequence[pa.Table] = (), *, apart: bool = True) -> Summary:
    """The summary of the rows in files and in tables with the columns of COLUMNS.

    `apart`: all rows of a trial are in one of them, as in one campaign, and they are read one after the other.
    """
    schema = arrow_schema(COLUMNS)
    read = (_dataset([path], schema).to_table(list(NEEDED)) for path in files)
    pieces: Iterable[pa.Table] = itertools.chain(read, (copy.select(NEEDED) for copy in copies))
    return summary_of(database(files, copies).table, pieces if apart else [pa.concat_tables(pieces)])
