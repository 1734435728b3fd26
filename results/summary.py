"""The summary of a part: what reports count, tallied when the part is written and kept in its footer.

Derived from the rows and exact: a reader that finds none, or one of another recipe, computes it from the rows.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.ipc
from msgspec import Struct

from results.arrow import empty
from results.outcomes import (
    ACCUSED,
    COUNTED,
    KEYS,
    LARGEST,
    MERGES,
    RAN_BY_TARGET,
    REASONS,
    SEVERAL,
    SUMMED,
    SUMMED_OUTPUTS,
    TRIAL_KINDS,
    WHO,
    outcomes,
    quoted_list,
)
from results.partitions import partitions
from results.spreads import KEYS as SPREAD_KEYS
from results.spreads import MERGES as SPREAD_MERGES
from results.spreads import SPREADS
from results.variant_tables import ANY, NONE_SPLIT, NONE_VARIED, SPLITS, VARIED
from results.variant_tables import KEYS as VARIANT_KEYS
from results.variant_tables import MERGES as VARIANT_MERGES
from results.verdicts import VERDICTS, verdicts_sql

if TYPE_CHECKING:
    import duckdb

LEAST_ROWS = 8192
"""Parts of fewer rows keep no summary. Making one takes 30 ms and 5 us a row: 1 to 2 % of the time of
the fastest campaigns, which write 3,000 rows a second. Of smaller parts reports read the rows until they are merged."""
MOST_LINES = 16_384
SHARE = 8
"""A summary is kept where it has at most MOST_LINES lines, and one in SHARE rows."""

_STRINGS = (*(key for key in KEYS if key != "seed"), "reason", "classes", "figure")
_FLAGS = ("found", "bare", "plain", "outlier", "blamed", "composed", "undecided", "ordered", "certified")
_FIGURES = ("relative", "ulp", "rho", "kept", "amplification", "abs", *SUMMED)
_KINDS = ("plain", "outlier", "blamed", "composed", "undecided", "ordered", "certified")
_COLUMNS: dict[str, tuple[str, ...]] = {
    "outcomes": (*KEYS, "found", "bare", *COUNTED, *LARGEST, *SUMMED, *SUMMED_OUTPUTS, "amplification"),
    "trial_kinds": (*_KINDS, "n", "elements", "skipped"),
    "reasons": ("target", "operator", "verdict", "reason", "trials"),
    "accused": ("operator", "target", "verdict", "composed", "trials", "rho"),
    "ran": (*WHO, "trials", "not_run"),
    "partitions": ("classes", "n"),
    "varied": (*VARIANT_KEYS, "n", "equal", "abs", "rho"),
    "spreads": (*SPREAD_KEYS, "n"),
    "splits": ("operator", "dtype", "target", "classes", "n"),
}


def _schema(columns: Sequence[str]) -> pa.Schema:
    types = {
        **dict.fromkeys(_STRINGS, pa.string()),
        **dict.fromkeys(_FLAGS, pa.bool_()),
        **dict.fromkeys(_FIGURES, pa.float64()),
    }
    return pa.schema([(name, types.get(name, pa.int64())) for name in columns])


SCHEMAS: dict[str, pa.Schema] = {name: _schema(columns) for name, columns in _COLUMNS.items()}
"""The tables of a summary."""

_QUERIES = {
    "trial_kinds": TRIAL_KINDS,
    "reasons": REASONS,
    "accused": ACCUSED,
    "ran": RAN_BY_TARGET,
    "spreads": SPREADS,
}
_MERGES = MERGES | VARIANT_MERGES | SPREAD_MERGES
_MADE_BY = outcomes(["several"]), _QUERIES, VARIED, SPLITS, _MERGES, list(VERDICTS), _COLUMNS, 2
RECIPE = hashlib.sha256(repr(_MADE_BY).encode()).hexdigest()[:16]
"""Changes whenever a summary would: it holds the SQL, the verdicts and their order; the number counts changes of
`results.partitions` and of the packing."""


class Summary(Struct, frozen=True):
    """The tables by name."""

    tables: dict[str, pa.Table]

    @property
    def lines(self) -> int:
        return sum(table.num_rows for table in self.tables.values())


def summarise(rows: pa.Table) -> Summary:
    """The summary of rows with the columns of COLUMNS; all rows of a trial are among them."""
    connection = _connection()
    connection.register("measurements", rows)
    try:
        return summary_of(lambda query: connection.sql(query).to_arrow_table(), [rows])
    finally:
        connection.unregister("measurements")


def summary_of(ask: Callable[[str], pa.Table], pieces: Iterable[pa.Table]) -> Summary:
    """The same of the views `measurements` and `verdicts` that queries to `ask` see.

    `pieces` are tables of the same rows with the columns `results.partitions.NEEDED`, all rows of a trial in one piece.
    """
    several = ask(SEVERAL).column(0).to_pylist()
    queries = {"outcomes": outcomes(several), **_QUERIES, **_of_variants(ask)}
    tables = {name: _typed(ask(query), name) for name, query in queries.items()}
    splits: Counter[str] = Counter()
    for piece in pieces:
        splits += partitions(piece)
    found = {"classes": list(splits), "n": list(splits.values())}
    tables["partitions"] = pa.Table.from_pydict(found, SCHEMAS["partitions"])
    return Summary(tables)


def _of_variants(ask: Callable[[str], pa.Table]) -> dict[str, str]:
    """Where nothing was called under a variant, its tables cost no look at the rows."""
    varied = ask(ANY).column(0).to_pylist()
    if not varied:
        return {"varied": NONE_VARIED, "splits": NONE_SPLIT}
    return {"varied": VARIED, "splits": SPLITS.replace("OPERATORS", quoted_list(map(str, varied)))}


def added(summaries: Sequence[Summary]) -> Summary:
    """One summary of what several are of. A trial must be in one of them only."""
    connection = _connection()
    tables = {}
    for name, query in _MERGES.items():
        whole = pa.concat_tables([empty(SCHEMAS[name]), *(one.tables[name] for one in summaries)])
        connection.register(name, whole)
        tables[name] = _typed(connection.sql(query).to_arrow_table(), name)
        connection.unregister(name)
    return Summary(tables)


def packed(summary: Summary, rows: int) -> str:
    """As text for the footer of a part of so many rows; empty where it is not worth its space."""
    if rows < LEAST_ROWS or summary.lines > MOST_LINES or summary.lines * SHARE > rows:
        return ""
    content = {name: _stream(table) for name, table in summary.tables.items()}
    return RECIPE + base64.b64encode(zlib.compress(msgspec.msgpack.encode(content))).decode()


def unpacked(text: str) -> Summary | None:
    """What `packed` wrote; None where that is nothing, or was made by another recipe."""
    if not text.startswith(RECIPE):
        return None
    content: dict[str, bytes] = msgspec.msgpack.decode(zlib.decompress(base64.b64decode(text[len(RECIPE) :])))
    return Summary({name: pa.ipc.open_stream(content[name]).read_all() for name in SCHEMAS})


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _typed(table: pa.Table, name: str) -> pa.Table:
    chosen = table.select(_COLUMNS[name])
    return chosen if chosen.schema.equals(SCHEMAS[name]) else chosen.cast(SCHEMAS[name])


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One for all summaries of this process: a new one costs as much as a small part."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute(f"CREATE VIEW verdicts AS {verdicts_sql()}")
    return connection
