"""DuckDB connections over the files of campaigns, which see these and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from results.summary import verdict_table

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
    made.register("in_memory", pa.concat_tables(tables))
    source = "SELECT * FROM in_memory"
    if files:
        names = "[" + ", ".join("'" + str(path.resolve()).replace("'", "''") + "'" for path in files) + "]"
        made.execute(f"SET allowed_paths = {names}")
        source += f" UNION ALL BY NAME SELECT * FROM read_parquet({names}, union_by_name = true)"
    made.execute(f"CREATE VIEW measurements AS {source}")
    return made


def empty() -> duckdb.DuckDBPyConnection:
    """`verdicts` alone."""
    made = duckdb.connect(":memory:")
    made.register("verdicts", verdict_table())
    return made


def lock(open_: duckdb.DuckDBPyConnection) -> None:
    """What is registered is all that a query can read; it can write nothing."""
    for statement in _LOCKS:
        open_.execute(statement)
