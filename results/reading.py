"""Open campaign directories: rows as Arrow, SQL through DuckDB that cannot leave them, summaries, manifests."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from results import views
from results.arrow import arrow_schema
from results.columns import COLUMNS, ELEMENT_COLUMNS, Column
from results.errors import QueryError, ResultsError
from results.files import hold
from results.manifest import read_environments, read_manifest, resume_command
from results.store import Store

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from results.findings import FindingGroup
    from results.summary import Summary

_TRIALS = "CREATE VIEW trials AS SELECT * FROM measurements WHERE against = 'truth' AND coalesce(variant, '') = ''"

_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
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
        """Run one SQL query over the views `measurements` (all rows), `trials` (rows against the truth, no variant),
        `elements` and `verdicts` (name, severity, finding, sentence).

        The query can read nothing else and write nothing. Raises QueryError, one line, for a query that fails.
        """
        return self._asked(self._connection, query)

    def tallied(self, query: str) -> list[dict[str, Any]]:
        """The same as `records` over what is counted beforehand: the views `outcomes`, `trial_kinds`, `reasons` and
        `partitions` (results/outcomes.py), and `verdicts`."""
        if query not in self._answers:
            self._answers[query] = self._asked(self._tallies, query)
        rows: list[dict[str, Any]] = self._answers[query].to_pylist()
        return rows

    def _asked(self, connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
        try:
            if any(statement.type not in _READING for statement in connection.extract_statements(query)):
                raise QueryError("the query returns no rows: write a SELECT")
            return connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(f"the query failed: {' '.join(str(error).split())}") from error
        except AttributeError as error:
            raise QueryError("the query returns no rows: write a SELECT") from error
        except RuntimeError as error:  # DuckDB turns Ctrl-C into this
            if "interrupted" in str(error):
                raise KeyboardInterrupt from error
            raise

    def records(self, query: str) -> list[dict[str, Any]]:
        """The rows of `sql(query)` as dictionaries; for aggregates. A query asked again is not run again."""
        if query not in self._answers:
            self._answers[query] = self.sql(query)
        rows: list[dict[str, Any]] = self._answers[query].to_pylist()
        return rows

    @functools.cached_property
    def _table(self) -> pa.Table:
        return self.dataset.to_table()

    @functools.cached_property
    def summary(self) -> Summary:
        """What reports count: from the footers of the parts, and from the rows of those without.

        A trial of one campaign lies in one part; of several campaigns, that may share trials, all rows are looked at.
        """
        from results.summary import added, unpacked

        if len(self.directories) > 1:
            files = [path for s in self._snapshots for path in s.rows]
            return views.counted(files, [s.partial_rows for s in self._snapshots], apart=False)
        (snapshot,) = self._snapshots
        kept = {part.path: summary for part in snapshot.parts if (summary := unpacked(part.summary)) is not None}
        rest = [path for path in snapshot.rows if path not in kept]
        if not rest and not snapshot.partial_rows.num_rows:
            return added(list(kept.values()))
        return added([*kept.values(), views.counted(rest, [snapshot.partial_rows])])

    @functools.cached_property
    def _tallies(self) -> duckdb.DuckDBPyConnection:
        connection = views.empty()
        for name, table in self.summary.tables.items():
            connection.register(name, table)
        views.lock(connection)
        return connection

    @functools.cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        count = sum(snapshot.count for snapshot in self._snapshots)
        files = [path for s in self._snapshots for path in s.rows]
        copies = [s.partial_rows for s in self._snapshots]
        if count <= _IN_MEMORY:
            files, copies = [], [self._table]
        connection = views.connection(
            files,
            copies,
            [path for s in self._snapshots for path in s.elements],
            [s.partial_elements for s in self._snapshots],
        )
        connection.execute(_TRIALS)
        views.lock(connection)
        return connection


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
        self.parts = whole
        self.covered = (
            sorted(shard for part in whole for shard in part.shards),
            sum(part.done or 0 for part in partial) or None,
        )
        self.rows = [part.path for part in whole]
        self.elements = [path for part in whole if (path := store.elements / part.path.name).exists()]
        self.partial_rows = pa.concat_tables([arrow_schema(COLUMNS).empty_table(), *map(store.part_table, partial)])
        self.partial_elements = pa.concat_tables(
            [
                arrow_schema(ELEMENT_COLUMNS).empty_table(),
                *(store.element_table(part, self.partial_rows) for part in partial),
            ]
        )
        self.count = sum(part.rows for part in whole) + self.partial_rows.num_rows


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
