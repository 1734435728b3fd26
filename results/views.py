"""DuckDB connections over the files of campaigns, which see these and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from results.arrow import arrow_schema
from results.columns import COLUMNS
from results.partitions import NEEDED
from results.summary import Summary, summary_of, verdict_table

_SCHEMA = arrow_schema(COLUMNS)

_LOCKS = (
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)
"""In this order, after the tables are there: from then on a query reads nothing but them and writes nothing."""


def connection(files: Sequence[Path], tables: Sequence[pa.Table]) -> duckdb.DuckDBPyConnection:
    """The rows of Parquet files and of tables with the columns of COLUMNS as the view `measurements`, and `verdicts`.

    DuckDB reads the files itself: strings stay dictionary-encoded, which makes grouping several times faster than
    over an Arrow dataset. A column that a file lacks is null. `lock` it before anybody's query runs.
    """
    made = empty()
    made.register("in_memory", pa.concat_tables([_SCHEMA.empty_table(), *tables]))
    source = "SELECT * FROM in_memory"
    if files:
        names = "[" + ", ".join("'" + str(path.resolve()).replace("'", "''") + "'" for path in files) + "]"
        made.execute(f"SET allowed_paths = {names}")
        source += f" UNION ALL BY NAME SELECT * FROM read_parquet({names}, union_by_name = true)"
    made.execute(f"CREATE VIEW measurements AS {source}")
    return made


def counted(files: Sequence[Path], copies: Sequence[pa.Table] = (), *, apart: bool = True) -> Summary:
    """The summary of the rows in files and in tables with the columns of COLUMNS.

    `apart`: all rows of a trial are in one of them, as in one campaign, and they are read one after the other.
    """
    every = [ds.dataset(str(path), schema=_SCHEMA, format="parquet") for path in files]
    pieces: Iterable[pa.Table]
    if apart:
        read = (one.to_table(list(NEEDED)) for one in every)
        pieces = itertools.chain(read, (copy.select(NEEDED) for copy in copies))
    else:
        pieces = [ds.dataset([*every, ds.dataset(list(copies), schema=_SCHEMA)]).to_table(list(NEEDED))]
    return summary_of(connection(files, copies), pieces)


def empty() -> duckdb.DuckDBPyConnection:
    """`verdicts` alone."""
    made = duckdb.connect(":memory:")
    made.register("verdicts", verdict_table())
    return made


def lock(open_: duckdb.DuckDBPyConnection) -> None:
    """What is registered is all that a query can read; it can write nothing."""
    for statement in _LOCKS:
        open_.execute(statement)
