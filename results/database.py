"""The tables of campaigns in DuckDB: a query reads them and nothing else, and writes nothing.

Only a SELECT is run (`DESCRIBE`, `SHOW TABLES` and `SUMMARIZE` are such). Files, extensions, the variables of the
program and the configuration are out of its reach, and no temporary file is written: a query may take half of the
memory of the machine, and ends with one line when it wants more.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from results.errors import QueryError
from results.quoting import quoted

Value = TypeVar("Value")

TABLES = ("measurements", "trials", "elements", "findings", "verdicts", "columns")
"""What a query can name."""

BATCH_ROWS = 8192
"""Rows handed on at a time by `batches`."""

_CONFIGURATION: dict[str, str] = {
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "memory_limit": "50%",
}
_LOCKS = (
    "SET enable_external_access = false",
    "SET python_enable_replacements = false",
    "SET lock_configuration = true",
)
"""In this order, after the tables are registered: from then on a query reads nothing but them."""

_WHERE = f"; the tables are {', '.join(TABLES)}: `select * from columns` and docs/schema.md say what their columns mean"
_COMPOSED = re.compile("query|serialized")
"""In the names of DuckDB's functions that take the name of a table in a text, which may be put together."""
_TICK_SECONDS = 0.2
_CATALOG = re.compile(r' Did you mean "pg_\w+"\?')
"""DuckDB's nearest name where a table is unknown, often one of its own."""


class Database:
    """A connection to some Arrow tables and views of them, one query at a time.

    `files` are all that views may read beside the tables.
    """

    def __init__(self, files: Sequence[Path] = ()) -> None:
        self._connection = duckdb.connect(":memory:", config=dict(_CONFIGURATION))
        if files:
            self._connection.execute(f"SET allowed_paths = {file_list(files)}; SET parquet_metadata_cache = true")
        self._later: dict[str, Callable[[], None]] = {}

    def add(self, name: str, table: Any) -> None:
        """Make an Arrow table or dataset known by a name."""
        self._connection.register(name, table)

    def add_later(self, name: str, make: Callable[[], pa.Table]) -> None:
        """The same for a table that takes a while: it is made for the first query whose text has the name."""
        self._later[name] = lambda: self.add(name, make())

    def view(self, name: str, query: str) -> None:
        """Make the answer of a query known by a name."""
        self._connection.execute(f"CREATE VIEW {name} AS {query}")

    def view_later(self, name: str, alike: pa.Table, make: Callable[[], str]) -> None:
        """The same for a query that takes a while to write; until then the name stands for a table of its columns."""
        self.add(name, alike)

        def made() -> None:
            self._connection.unregister(name)
            self.view(name, make())

        self._later[name] = made

    def lock(self) -> None:
        """From now on nothing but tables can be read."""
        for statement in _LOCKS:
            self._connection.execute(statement)

    def table(self, query: str) -> pa.Table:
        """The answer in memory. QueryError, one line, for what is no single SELECT, fails, or wants too much memory.

        Ctrl-C ends the query and raises KeyboardInterrupt.
        """
        relation = self.relation(query)
        return self._run(relation.to_arrow_table)

    def batches(self, query: str, rows: int = BATCH_ROWS) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema of the answer, and its rows as they are computed; errors as in `table`.

        There can be no other query before the last row is read.
        """
        relation = self.relation(query)
        reader = self._run(lambda: relation.to_arrow_reader(rows))
        return reader.schema, self._read(reader)

    def relation(self, query: str) -> Any:
        """The query as a DuckDBPyRelation, run when it is asked for rows; errors as in `table`."""
        self._require_select(query)
        text = query.casefold()
        for name in [name for name in self._later if name in text or _COMPOSED.search(text)]:
            self._later.pop(name)()
        return self._run(lambda: self._connection.sql(query))

    def _read(self, reader: Any) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = self._run(reader.read_next_batch)
            except StopIteration:
                return
            yield batch

    def _require_select(self, query: str) -> None:
        try:
            query.encode()
            statements = self._connection.extract_statements(query)
        except UnicodeEncodeError as error:
            raise QueryError(f"the query is no UTF-8 text: {error.reason}") from error
        except duckdb.Error as error:
            raise _refused(error) from error
        if not statements:
            raise QueryError(f"the query is empty: write a SELECT{_WHERE}")
        kinds = list(map(_kind, statements))
        if kinds != ["SELECT"]:
            told = f"{len(kinds)} statements" if len(kinds) > 1 else f"{_article(kinds[0])} statement"
            raise QueryError(f"the query is {told}: only one SELECT is run, campaigns are read and never changed")

    def _run(self, work: Callable[[], Value]) -> Value:
        """`work` beside this thread: DuckDB does not look for Ctrl-C while it computes."""
        if threading.current_thread() is not threading.main_thread():
            return self._translated(work)
        outcome: list[Value] = []
        failure: list[BaseException] = []
        done: list[bool] = []
        ended = threading.Lock()  # an Event or Thread.join may be left broken by a signal (Python 3.11)
        ended.acquire()

        def run() -> None:
            try:
                outcome.append(self._translated(work))
            except BaseException as error:  # noqa: BLE001 raised again below, in the thread that waits
                failure.append(error)
            finally:
                done.append(True)
                ended.release()

        threading.Thread(target=run, name="query", daemon=True).start()
        try:
            while not ended.acquire(timeout=_TICK_SECONDS):  # a signal that another thread got is seen now and then
                pass
        except KeyboardInterrupt:
            while not done:  # again, for a query that had not begun
                self._connection.interrupt()
                time.sleep(_TICK_SECONDS / 4)
            raise
        if failure:
            raise failure[0]
        return outcome[0]

    def _translated(self, work: Callable[[], Value]) -> Value:
        try:
            return work()
        except duckdb.Error as error:
            raise _refused(error) from error
        except (pa.ArrowException, OSError) as error:  # of a stream: DuckDB's message behind Arrow's
            raise _refused(error) from error


def file_list(files: Sequence[Path]) -> str:
    """In SQL, for read_parquet."""
    return "[" + ", ".join(quoted(str(path.resolve())) for path in files) + "]"


def _refused(error: Exception) -> QueryError:
    told = _CATALOG.sub("", " ".join(str(error).split()))
    if "Out of Memory" in told:
        return QueryError(
            "the query wants more than half of the memory of this machine: aggregate, select fewer columns, or add a "
            "LIMIT"
        )
    hint = _WHERE if any(kind in told for kind in ("Catalog Error", "Binder Error")) else ""
    return QueryError(f"the query failed: {told}{hint}")


def _kind(statement: Any) -> str:
    """SELECT, COPY, ..."""
    try:
        return str(statement.type).rpartition(".")[2]
    except ValueError:  # a kind that DuckDB has and its Python package has no name for
        return "unnamed"


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'AEIOUaeiou' else 'a'} {word}"
