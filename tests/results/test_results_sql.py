"""SQL over campaigns: what a query sees, that it can neither write nor leave, and what a mistake is told."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synthetic_rows import batch_norm_rows, make_row

import results
from results.columns import COLUMNS, ELEMENT_COLUMNS, FINDING_COLUMNS
from results.database import TABLES
from results.errors import QueryError, ResultsError
from results.store import Store

ESCAPES = [
    "CREATE TABLE mine (a INTEGER)",
    "CREATE TEMP VIEW mine AS SELECT 1",
    "CREATE MACRO mine(a) AS a",
    "INSERT INTO measurements SELECT * FROM measurements",
    "UPDATE measurements SET seed = 1",
    "DELETE FROM measurements",
    "DROP VIEW trials",
    "ALTER VIEW trials RENAME TO lost",
    "TRUNCATE measurements",
    "EXPLAIN ANALYZE DROP VIEW trials",
    "SELECT 1; DROP VIEW trials",
    "SELECT 1; SELECT 2",
    "BEGIN",
    "PRAGMA memory_limit='1GB'",
    "SET memory_limit='1GB'",
    "RESET memory_limit",
    "CALL force_checkpoint()",
    "COPY trials TO '{folder}/out.parquet'",
    "COPY trials FROM '{secret}'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/out.db' AS out",
    "DETACH memory",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PREPARE p AS SELECT 1",
    "VACUUM",
    "WITH w AS (INSERT INTO measurements VALUES (1) RETURNING *) SELECT * FROM w",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM query('SELECT * FROM ''{secret}''')",
    "SELECT * FROM query_table('{secret}')",
    "SELECT * FROM parquet_metadata('{folder}/*.parquet')",
    "SELECT getenv('HOME')",
    "SELECT * FROM secret_table",
    "SELECT * FROM 'https://example.org/a.csv'",
    "SELECT * FROM duckdb_settings(), read_csv('{secret}')",
    "UPDATE EXTENSIONS",
    "WITH w AS (COPY (SELECT 1) TO '{folder}/out.csv') SELECT 1",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{secret}'')'))",
    "SELECT * FROM enable_logging(storage = 'file', storage_config = {{'path': '{folder}/log'}})",
    "SELECT * FROM read_text('{folder}/*')",
    "SELECT * FROM query_table(['{secret}'])",
    "SELECT * FROM read_text('/proc/self/environ')",
]
"""Queries that want to write, to read elsewhere, or to change something."""


@pytest.fixture
def found(campaign: Callable[..., Path]) -> results.Results:
    return results.open(campaign([*batch_norm_rows(5), make_row(9, verdict="wrong", rho_max=9.0)]))


def test_the_tables_and_their_columns_are_described(found: results.Results) -> None:
    assert {row["name"] for row in found.sql("show tables").to_pylist()} == set(TABLES) - {"findings"}
    assert {row["name"] for row in found.sql("show tables -- findings").to_pylist()} == set(TABLES)
    for name, columns in (("trials", COLUMNS), ("elements", ELEMENT_COLUMNS), ("findings", FINDING_COLUMNS)):
        named = [*(column.name for column in columns), "campaign"]
        assert found.sql(f"from {name}").schema.names == named
        listed = found.sql(f"select column_name from columns where table_name = '{name}'").to_pylist()
        assert [row["column_name"] for row in listed] == named


@pytest.mark.parametrize("in_memory", [True, False])
def test_rows_say_which_campaign_they_are_of(
    campaign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    one, other = campaign(batch_norm_rows(5)), campaign(batch_norm_rows(7), shards=3)
    if not in_memory:
        monkeypatch.setattr("results.reading._IN_MEMORY", 0)
    found = results.open(one, other)
    counted = found.sql(
        "select campaign, count(*) as n, max(index) as last from trials group by all order by n"
    ).to_pylist()
    assert counted == [{"campaign": str(one), "n": 20, "last": 4}, {"campaign": str(other), "n": 28, "last": 6}]
    assert found.sql(f"select count(*) as n from measurements where campaign = '{one}'").to_pylist() == [{"n": 25}]


def test_findings_are_those_of_each_campaign(campaign: Callable[..., Path]) -> None:
    bad = make_row(verdict="wrong", rho_max=9.0)
    composed = make_row(1, "torch:cpu", verdict="wrong", rho_max=9.0, provenance="composed")
    one, other = campaign([bad, make_row(2)], shards=1), campaign([bad, composed], shards=1)
    rows = (
        results.open(one, other).sql("select campaign, target, provenance, trials, of_trials from findings").to_pylist()
    )
    assert [(row["campaign"], row["target"], row["provenance"], row["of_trials"]) for row in rows] == [
        (str(one), "numpy:cpu", "library", 2),
        (str(other), "numpy:cpu", "library", 1),
        (str(other), "torch:cpu", "composed", 1),
    ]


@pytest.mark.parametrize("query", ESCAPES)
def test_a_query_neither_writes_nor_leaves(found: results.Results, tmp_path: Path, query: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    secret_table = found.rows()  # a variable of this name must not be found from SQL
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(QueryError) as caught:
        found.sql(query.format(secret=secret, folder=tmp_path))
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before
    assert found.sql("SELECT count(*) AS n FROM trials").to_pylist() == [{"n": 21}]
    del secret_table


def test_nor_where_duckdb_opens_the_files_itself(
    campaign: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("results.reading._IN_MEMORY", 0)
    directory = campaign(batch_norm_rows(5), shards=1)
    secret = directory / "secret.csv"
    secret.write_text("a\n1\n")
    part = directory / "parts/00000000.parquet"
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    found = results.open(directory)
    ways = [
        f"COPY (SELECT 1) TO '{part}'",
        f"SELECT * FROM read_text('{directory / 'campaign.json'}')",
        f"SELECT * FROM read_text('{part.parent}/../campaign.json')",
        f"SELECT * FROM read_parquet('{part.parent}/*.parquet')",
    ]
    for query in [*ways, *(query.format(secret=secret, folder=directory) for query in ESCAPES)]:
        with pytest.raises(QueryError):
            found.sql(query)
    for write in ("write_parquet", "write_csv"):
        with pytest.raises(Exception, match="disabled by configuration"):
            getattr(found.relation("trials"), write)(str(part))
    assert found.sql("SELECT count(*) AS n FROM trials").to_pylist() == [{"n": 20}]
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM ELEMENTS",
        "SELECT * FROM query('SELECT count(*) AS n FROM ele' || 'ments')",
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT count(*) AS n FROM ele' || 'ments'))",
    ],
)
def test_elements_are_there_however_they_are_named(campaign: Callable[..., Path], query: str) -> None:
    element = dict.fromkeys((column.name for column in ELEMENT_COLUMNS if column.kind == "string"), "a")
    directory = campaign([make_row()], shards=1)
    Store(directory).commit(1, [make_row(1)], [element | {"seed": 0, "index": 1, "element": 3}])
    assert results.open(directory).sql(query).to_pylist() == [{"n": 1}]


def test_nothing_is_written_for_want_of_memory(
    found: results.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(results.database._CONFIGURATION, "memory_limit", "60MB")
    with pytest.raises(QueryError, match="wants more than half of the memory of this machine: aggregate"):
        found.sql("SELECT range, repeat('y', 40) AS y FROM range(9000000) ORDER BY hash(range)")
    assert not any(path.name.startswith(".tmp") or "duckdb" in path.name for path in tmp_path.rglob("*"))
    assert found.sql("SELECT 1 AS one").num_rows == 1


def test_an_interrupt_ends_a_query(found: results.Results) -> None:
    endless = "SELECT count(*) FROM range(3000000) a, range(3000000) b WHERE (a.range * b.range) % 7 = 3"
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            found.sql(endless)
    finally:
        timer.join()
    assert found.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "the query is empty: write a SELECT; the tables are measurements, trials, elements, findings"),
        (" -- nothing", "the query is empty"),
        ("selec 1", 'the query failed: Parser Error: syntax error at or near "selec"'),
        ("select nothing from trials", 'Referenced column "nothing" not found.*the tables are measurements, trials'),
        ("select * from tials", "Table with name tials does not exist.*select \\* from columns` and docs/schema.md"),
        ("drop view trials", "the query is a DROP statement: only one SELECT is run"),
        ("explain select 1", "the query is an EXPLAIN statement: only one SELECT is run"),
        ("select 1; select 2", "the query is 2 statements"),
        ("select '\udcff'", "the query is no UTF-8 text"),
        ("select error('a\nb')", "the query failed: Invalid Input Error: a b"),
    ],
)
def test_a_mistake_is_one_line(found: results.Results, query: str, told: str) -> None:
    with pytest.raises(QueryError, match=told) as caught:
        found.sql(query)
    assert "\n" not in str(caught.value)
    assert "pg_" not in str(caught.value)


def test_a_failure_in_the_middle_of_an_answer_is_one_line(found: results.Results) -> None:
    query = "select if(range < 90000, 1, error('late')) as n from range(100000)"
    with pytest.raises(QueryError, match=r"^the query failed: .*late$"):
        list(found.batches(query)[1])


def test_an_answer_that_is_half_read_is_in_nobodys_way(found: results.Results) -> None:
    _, batches = found.batches("from range(100000)")
    next(batches)
    assert len(found.relation("trials").fetchall()) == 21
    assert found.sql("select 1 as one").num_rows == 1
    assert sum(batch.num_rows for batch in batches) < 100_000


def test_answers_of_any_size_come_in_batches(found: results.Results) -> None:
    schema, batches = found.batches("select range as n from range(100000)")
    assert schema.names == ["n"]
    sizes = [batch.num_rows for batch in batches]
    assert sum(sizes) == 100_000
    assert len(sizes) > 5


def test_a_relation_is_lazy_and_locked(found: results.Results, tmp_path: Path) -> None:
    worst = found.relation("trials").filter("rho_max > 2").project("trial, rho_max")
    assert worst.fetchall() == [("batch_norm-9", 9.0)]
    assert found.relation("select count(*) from findings").fetchall() == [(1,)]
    with pytest.raises(Exception, match="disabled by configuration"):
        worst.write_csv(str(tmp_path / "out.csv"))
    with pytest.raises(QueryError, match="only one SELECT"):
        found.relation("drop view trials")


def test_relations_know_no_file_of_the_campaign(found: results.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have methods that write, and a file that a connection may read is one that it may write."""
    monkeypatch.setattr("results.reading._IN_MEMORY", 0)
    part = next((found.directories[0] / "parts").glob("*.parquet"))
    before = part.read_bytes()
    with pytest.raises(QueryError, match="disabled by configuration"):
        found.relation(f"from read_parquet('{part}')")
    with pytest.raises(Exception, match="disabled by configuration"):
        found.relation("trials").write_parquet(str(part))
    assert part.read_bytes() == before


def test_pandas_is_asked_for(found: results.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ResultsError, match=r"pandas is needed for a DataFrame \(.*\): pip install pandas$"):
        found.pandas()


def test_a_data_frame(found: results.Results) -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = found.pandas("select index, reduction_length, certified, rho_max, detail from trials order by all")
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 21
    assert str(frame["certified"].dtype) == "Int64"
    assert frame["certified"].isna().all()
    assert frame["rho_max"].max() == 9.0
