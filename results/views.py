"""Databases over the files of campaigns, which see these and nothing else.

DuckDB reads the files itself: strings stay dictionary-encoded, which makes grouping several times faster than over an
Arrow dataset, footers are read once, and row groups without a wanted value are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from msgspec import Struct

from results.arrow import arrow_schema, empty
from results.columns import CAMPAIGN, COLUMNS, ELEMENT_COLUMNS, Column
from results.database import Database, file_list
from results.partitions import NEEDED
from results.parts import PartFacts, facts
from results.quoting import quoted
from results.summary import Summary, summary_of
from results.verdicts import verdicts_sql

_GLOB = set("*?[")
"""Signs in a path that DuckDB would take for a pattern."""
_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "float64": "DOUBLE"}


class Source(Struct, frozen=True):
    """Rows of one campaign, or of several."""

    files: Sequence[PartFacts]
    copies: pa.Table
    campaign: str | None = None
    """What the column `campaign` says; None leaves it out."""


Elements: TypeAlias = tuple[Sequence[Path], pa.Table, str | None]
"""Files and copies of elements, and what the column `campaign` says."""


def database(
    parts: Sequence[PartFacts], copies: Sequence[pa.Table] = (), elements: Sequence[Elements] = ()
) -> Database:
    """The rows of parts and of tables with the columns of COLUMNS as the view `measurements`, elements as `elements`,
    and `verdicts`. A column that a file lacks is null.

    `lock` it before anybody's query runs.
    """
    files = [path for paths, _, _ in elements for path in paths]
    made = Database(readable([*(part.path for part in parts), *files]))
    made.view("verdicts", verdicts_sql())
    whole = pa.concat_tables([empty(arrow_schema(COLUMNS)), *copies])
    add_rows(made, "measurements", COLUMNS, [Source(parts, whole)])
    if elements:
        add_elements(made, elements)
    return made


def readable(files: Iterable[Path]) -> list[Path]:
    """The files that DuckDB can read by their names; the others are read for it."""
    return [path for path in files if not _GLOB & set(str(path.resolve()))]


def add_rows(made: Database, name: str, columns: Sequence[Column], sources: Sequence[Source]) -> None:
    """Make rows with the columns `columns`, and `campaign` where the sources have it, known by a name."""
    made.view(name, _sql(made, name, columns, sources))


def add_elements(made: Database, elements: Sequence[Elements]) -> None:
    """Make elements known as `elements`. Their footers are read for the first query that has the name."""
    named = any(campaign is not None for _, _, campaign in elements)
    schema = arrow_schema([*ELEMENT_COLUMNS, CAMPAIGN] if named else ELEMENT_COLUMNS)

    def query() -> str:
        sources = [Source([facts(path) for path in paths], copies, name) for paths, copies, name in elements]
        return _sql(made, "elements", ELEMENT_COLUMNS, sources)

    made.view_later("elements", empty(schema), query)


def _sql(made: Database, name: str, columns: Sequence[Column], sources: Sequence[Source]) -> str:
    """A SELECT of all rows of the sources; what it reads that is no file is added to the database."""
    parts: list[str] = []
    for number, source in enumerate(sources):
        said = "" if source.campaign is None else f", {quoted(source.campaign)} AS {CAMPAIGN.name}"
        fast = set(readable(part.path for part in source.files))
        for present, paths in _alike([part for part in source.files if part.path in fast]):
            parts.append(f"SELECT {_cells(columns, present)}{said} FROM read_parquet({file_list(paths)}, {_OPTIONS})")
        tables: dict[str, Any] = {}
        if slow := [part.path for part in source.files if part.path not in fast]:
            tables["files"] = _dataset(slow, arrow_schema(columns))
        if source.copies.num_rows or not source.files:
            tables["copies"] = source.copies
        for kind, table in tables.items():
            made.add(f"{name}_{kind}_{number}", table)
            parts.append(f"SELECT *{said} FROM {name}_{kind}_{number}")
    return " UNION ALL ".join(parts)


_OPTIONS = "hive_partitioning = false, union_by_name = false"


def _alike(files: Sequence[PartFacts]) -> Iterator[tuple[tuple[str, ...], list[Path]]]:
    """Files with the same columns together: they are read as one, without looking at each beforehand."""
    found: dict[tuple[str, ...], list[Path]] = {}
    for part in files:
        found.setdefault(part.columns, []).append(part.path)
    yield from found.items()


def _cells(columns: Sequence[Column], present: Iterable[str]) -> str:
    there = set(present)
    return ", ".join(
        f'"{column.name}"' if column.name in there else f'NULL::{_TYPES[column.kind]} AS "{column.name}"'
        for column in columns
    )


def _dataset(files: Sequence[Path], schema: pa.Schema) -> Any:
    import pyarrow.dataset

    return pyarrow.dataset.dataset([str(path) for path in files], schema=schema, format="parquet")


def counted(parts: Sequence[PartFacts], copies: Sequence[pa.Table] = (), *, apart: bool = True) -> Summary:
    """The summary of the rows in parts and in tables with the columns of COLUMNS.

    `apart`: all rows of a trial are in one of them, as in one campaign, and they are read one after the other.
    """
    schema = arrow_schema(COLUMNS)
    read = (_dataset([part.path], schema).to_table(list(NEEDED)) for part in parts)
    pieces: Iterable[pa.Table] = itertools.chain(read, (copy.select(NEEDED) for copy in copies))
    return summary_of(database(parts, copies).table, pieces if apart else [pa.concat_tables(pieces)])
