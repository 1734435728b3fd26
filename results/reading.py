"""Open campaign directories: rows as Arrow, SQL through DuckDB that cannot leave them, summaries, manifests."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from results import kept, views
from results.arrow import arrow_schema, empty
from results.columns import CAMPAIGN, COLUMNS, ELEMENT_COLUMNS, Column
from results.database import Database
from results.errors import ResultsError
from results.files import hold
from results.manifest import read_environments, read_manifest, resume_command
from results.store import Store
from results.tallies import AGAINST_TRUTH
from results.verdicts import verdicts_sql

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from results.findings import FindingGroup
    from results.summary import Summary

RowsOf: TypeAlias = Callable[[Sequence[str], Sequence[Column], Sequence[Sequence[Path]], Sequence[pa.Table]], Any]
"""`of_campaigns` or `reader_of_campaigns` of results.tables."""

_TRIALS = f"SELECT * FROM measurements WHERE {AGAINST_TRUTH}"

_IN_MEMORY = 50_000
"""Campaigns of up to so many rows are read once and kept; larger ones are scanned anew by each query."""


class Results:
    """One or more campaigns, read lazily. Make one with `results.open`."""

    def __init__(self, directories: Sequence[Path], *, verify: bool = True) -> None:
        self.directories = tuple(directories)
        self.manifests: tuple[dict[str, Any], ...] = tuple(read_manifest(path) for path in self.directories)
        self._answers: dict[str, pa.Table] = {}
        self._snapshots = [Snapshot(Store(path), verify=verify) for path in self.directories]

    @property
    def names(self) -> list[str]:
        """The directories as the column `campaign` has them: bytes that are no UTF-8 as escapes."""
        return [str(path).encode(errors="backslashreplace").decode() for path in self.directories]

    @property
    def manifest(self) -> dict[str, Any]:
        """campaign.json of the first (mostly the only) directory; `manifests` has them all."""
        return self.manifests[0]

    @property
    def plan(self) -> str | None:
        """fixed, survey, explore, search or exhaustive; 'mixed' where the campaigns differ; None where unknown."""
        plans = {manifest.get("plan") for manifest in self.manifests}
        return plans.pop() if len(plans) == 1 else "mixed"

    @functools.cached_property
    def environments(self) -> dict[str, Any]:
        """Environment records by the hash that rows carry."""
        return {key: record for path in self.directories for key, record in read_environments(path).items()}

    @property
    def identity(self) -> str:
        """Of the one campaign: the same for the same rows, manifest and source text of this package."""
        return kept.identity(self.manifest, self._snapshots[0].facts)

    @functools.cached_property
    def kept_answers(self) -> dict[str, bytes]:
        """What the last compaction computed of all rows, by the name of the question (results/kept.py)."""
        return kept.read(self.directories[0], self.identity) if len(self.directories) == 1 else {}

    @functools.cached_property
    def dataset(self) -> ds.Dataset:
        """All rows as an Arrow dataset with the columns of COLUMNS; those that a file lacks are null."""
        return _dataset(COLUMNS, [s.rows for s in self._snapshots], [s.partial_rows for s in self._snapshots])

    @functools.cached_property
    def elements(self) -> ds.Dataset:
        """Sampled elements as an Arrow dataset with the columns of ELEMENT_COLUMNS."""
        partial = [s.partial_elements for s in self._snapshots]
        return _dataset(ELEMENT_COLUMNS, [s.elements for s in self._snapshots], partial)

    @functools.cached_property
    def findings(self) -> tuple[FindingGroup, ...]:
        """Findings against libraries and user code, the most severe first; empty means nothing to blame."""
        from results.findings import findings

        return tuple(findings(self))

    @property
    def covered(self) -> tuple[list[int], int | None]:
        """Shards of the first directory that are whole, and the trials of those that are not (None: there are none)."""
        return self._snapshots[0].covered

    def rows(self) -> pa.Table:
        """All rows as one Arrow table, in the order of the files."""
        return self._table

    def sql(self, query: str) -> pa.Table:
        """The answer of one SELECT over the tables of docs/sql.md, in memory.

        The query can read nothing else and write nothing. Raises QueryError, one line, for a query that fails.
        """
        return self._database.table(query)

    def batches(self, query: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The same for an answer of any size: its schema, and its rows as they are computed."""
        return self._opened().batches(query)

    def stream(self, table: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """All rows of a table as in `batches`, with memory that does not grow with their number.

        Those of each campaign follow each other, in the order of its files.
        """
        from results.tables import reader_of_campaigns

        database = self._with_tables(self._over_arrow(Database(), reader_of_campaigns))
        return database.batches(f"SELECT * FROM {table}")

    def relation(self, query: str = "trials") -> Any:
        """A SELECT, or the name of a table, as a DuckDB relation: nothing is computed before it is asked for rows.

        Its connection reads these tables only, as that of `sql`. Keep the Results for as long as the relation.
        """
        query = f"FROM {query}" if query.isidentifier() else query
        return self._related.relation(query)

    def pandas(self, query: str = "FROM trials") -> Any:
        """The answer of `sql` as a pandas DataFrame; whole numbers stay whole where some are null (Int64).

        ResultsError where pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ResultsError(f"pandas is needed for a DataFrame ({error}): pip install pandas") from None
        kinds = {pa.int64(): pandas.Int64Dtype(), pa.int32(): pandas.Int32Dtype()}
        return self.sql(query).to_pandas(types_mapper=kinds.get)

    def tallied(self, query: str) -> list[dict[str, Any]]:
        """The same as `records` over what is counted beforehand: the views `outcomes`, `trial_kinds`, `reasons` and
        `partitions` (results/outcomes.py), and `verdicts`."""
        return self._remembered(self._tallies, query)

    def records(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query over `measurements`, `trials`, `elements` and `verdicts`, as dictionaries.

        For aggregates; a query asked again is not run again.
        """
        return self._remembered(self._rows, query)

    def table(self, query: str) -> pa.Table:
        """The same as an Arrow table, which is not kept."""
        return self._rows.table(query)

    def _remembered(self, database: Database, query: str) -> list[dict[str, Any]]:
        if query not in self._answers:
            self._answers[query] = database.table(query)
        rows: list[dict[str, Any]] = self._answers[query].to_pylist()
        return rows

    @functools.cached_property
    def _table(self) -> pa.Table:
        return self.dataset.to_table()

    @functools.cached_property
    def _database(self) -> Database:
        """For answers that are read at once."""
        return self._opened()

    @functools.cached_property
    def _related(self) -> Database:
        """For relations, which may be joined with each other and hold their connection while they are read.

        They have methods that write: DuckDB knows no file's name here.
        """
        from results.tables import of_campaigns

        return self._with_tables(self._over_arrow(Database(), of_campaigns))

    def _opened(self) -> Database:
        snapshots, names, few = self._snapshots, self.names, self._few
        rows = [views.Source(s.parts, s.partial_rows, name) for s, name in zip(snapshots, names, strict=True)]
        files = [path for s in snapshots for path in (*(() if few else s.rows), *s.elements)]
        database = Database(views.readable(files))
        if few:
            counts = [*(s.whole for s in snapshots), *(s.partial_rows.num_rows for s in snapshots)]
            repeated = [pa.repeat(name, count) for name, count in zip(names * 2, counts, strict=True)]
            campaigns = pa.chunked_array(repeated, pa.string())
            database.add("measurements", self._table.append_column(CAMPAIGN.name, campaigns))
        else:
            views.add_rows(database, "measurements", COLUMNS, rows)
        elements = [(s.elements, s.partial_elements, name) for s, name in zip(snapshots, names, strict=True)]
        views.add_elements(database, elements)
        return self._with_tables(database)

    def _over_arrow(self, database: Database, rows_of: RowsOf) -> Database:
        snapshots, names = self._snapshots, self.names
        rows = [s.rows for s in snapshots], [s.partial_rows for s in snapshots]
        elements = [s.elements for s in snapshots], [s.partial_elements for s in snapshots]
        database.add("measurements", rows_of(names, COLUMNS, *rows))
        database.add("elements", rows_of(names, ELEMENT_COLUMNS, *elements))
        return database

    def _with_tables(self, database: Database) -> Database:
        from results.findings_file import finding_table
        from results.tables import column_table

        database.view("verdicts", verdicts_sql())
        database.add("columns", column_table())
        database.add_later("findings", functools.partial(_of_living, weakref.ref(self), finding_table))
        database.view("trials", _TRIALS)
        database.lock()
        return database

    @functools.cached_property
    def summary(self) -> Summary:
        """What reports count: from the footers of the parts, and from the rows of those without.

        A trial of one campaign lies in one part; of several campaigns, that may share trials, all rows are looked at.
        """
        from results.summary import added, unpacked

        if len(self.directories) > 1:
            parts = [part for s in self._snapshots for part in s.parts]
            return views.counted(parts, [s.partial_rows for s in self._snapshots], apart=False)
        (snapshot,) = self._snapshots
        kept = {part.path: summary for part in snapshot.parts if (summary := unpacked(part.summary)) is not None}
        rest = [part for part in snapshot.parts if part.path not in kept]
        if not rest and not snapshot.partial_rows.num_rows:
            return added(list(kept.values()))
        return added([*kept.values(), views.counted(rest, [snapshot.partial_rows])])

    @functools.cached_property
    def _tallies(self) -> Database:
        database = Database()
        database.view("verdicts", verdicts_sql())
        for name, table in self.summary.tables.items():
            database.add(name, table)
        database.lock()
        return database

    @functools.cached_property
    def _rows(self) -> Database:
        """For aggregates: DuckDB reads the files itself, which is several times faster than over a dataset."""
        parts = [part for s in self._snapshots for part in s.parts]
        copies = [s.partial_rows for s in self._snapshots]
        if self._few:
            parts, copies = [], [self._table]
        elements = [(s.elements, s.partial_elements, None) for s in self._snapshots]
        database = views.database(parts, copies, elements)
        database.view("trials", _TRIALS)
        database.lock()
        return database

    @property
    def _few(self) -> bool:
        rows: int = sum(snapshot.count for snapshot in self._snapshots)
        return rows <= _IN_MEMORY


def _of_living(owner: weakref.ref[Results], make: Callable[[Results], pa.Table]) -> pa.Table:
    """A table of `owner`, which must not live on in its own database: it keeps files from being deleted."""
    found = owner()
    if found is None:
        raise ResultsError("the campaign was closed: keep what `results.open` gave for as long as the relation")
    return make(found)


class Snapshot:
    """The rows of a campaign as they are at one moment: what others commit or merge later changes no answer.

    Files of whole shards never change and are kept from being deleted; partial parts, which are replaced, are copied.
    """

    def __init__(self, store: Store, *, verify: bool) -> None:
        _hold(self, store.parts)
        if verify:
            store.check()
        parts = store.part_facts()
        if not parts:
            raise ResultsError(f"{store.directory} holds no finished trials yet: run {resume_command(store.directory)}")
        whole = [part for part in parts if part.done is None]
        partial = [part for part in parts if part.done is not None]
        self.facts = parts
        self.parts = whole
        self.covered = (
            sorted(shard for part in whole for shard in part.shards),
            sum(part.done or 0 for part in partial) or None,
        )
        self.rows = [part.path for part in whole]
        self.elements = [path for part in whole if (path := store.elements / part.path.name).exists()]
        self.partial_rows = pa.concat_tables([empty(arrow_schema(COLUMNS)), *map(store.part_table, partial)])
        self.partial_elements = pa.concat_tables(
            [
                empty(arrow_schema(ELEMENT_COLUMNS)),
                *(store.element_table(part, self.partial_rows) for part in partial),
            ]
        )
        self.whole = sum(part.rows for part in whole)
        self.count = self.whole + self.partial_rows.num_rows


def _hold(owner: object, folder: Path) -> None:
    """Keep the files of a folder for as long as `owner` lives."""
    if folder.is_dir() and (descriptor := hold(folder)) is not None:
        weakref.finalize(owner, os.close, descriptor)


def _dataset(columns: Sequence[Column], files: Sequence[Sequence[Path]], copies: Sequence[pa.Table]) -> ds.Dataset:
    """Files, scanned lazily, and tables as one dataset."""
    import pyarrow.dataset as ds

    schema = arrow_schema(columns)
    paths = [str(path) for some in files for path in some]
    return ds.dataset([ds.dataset(paths, schema=schema, format="parquet"), ds.dataset(list(copies), schema=schema)])


def open(*directories: str | os.PathLike[str], verify: bool = True) -> Results:
    """Open the campaigns in `directories`. With `verify` every file is read once and its checksum compared.

    Raises ResultsError for a directory that is not a campaign or has no finished trial, StoreError for a damaged file.
    """
    if not directories:
        raise ResultsError("no campaign given: name at least one directory")
    return Results([Path(directory) for directory in directories], verify=verify)
