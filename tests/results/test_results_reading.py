"""Opening campaigns: rows, SQL that cannot leave them, schema evolution, clear errors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_rows import batch_norm_rows, make_row, write_campaign

import results
from results.columns import COLUMNS, ELEMENT_COLUMNS
from results.errors import QueryError, ResultsError, StoreError
from results.parts import encode


def test_rows_come_back_in_the_order_of_the_shards(campaign: Callable[..., Path]) -> None:
    rows = batch_norm_rows(20)
    found = results.open(campaign(rows, shards=3))
    table = found.rows()
    assert table.num_rows == len(rows)
    assert table.column("index").to_pylist() == [row["index"] for row in rows]
    assert found.plan == "fixed"
    assert found.manifest["seed"] == 7


def test_views(campaign: Callable[..., Path]) -> None:
    rows = [*batch_norm_rows(10), make_row(variant="batch[1]", against="numpy:cpu"), make_row(11, variant=None)]
    found = results.open(campaign(rows))
    (counts,) = found.records(
        "SELECT (SELECT count(*) FROM measurements) AS m, (SELECT count(*) FROM trials) AS t, "
        "(SELECT count(*) FROM verdicts WHERE finding) AS v, (SELECT count(*) FROM elements) AS e"
    )
    assert counts["m"] == len(rows)
    assert counts["t"] == 4 * 10 + 1
    assert counts["v"] > 10
    assert counts["e"] == 0


def test_several_directories_are_one_table(campaign: Callable[..., Path]) -> None:
    one, other = campaign(batch_norm_rows(5)), campaign(batch_norm_rows(6), plan="survey")
    found = results.open(one, other)
    assert found.rows().num_rows == 5 * 5 + 6 * 5
    assert found.plan == "mixed"
    assert [manifest["plan"] for manifest in found.manifests] == ["fixed", "survey"]


def test_a_column_that_a_file_lacks_is_null(campaign: Callable[..., Path]) -> None:
    directory = campaign([make_row()], shards=1)
    old = [column for column in COLUMNS if column.name != "profile"]
    row = {key: value for key, value in make_row(1).items() if key != "profile"}
    (directory / "parts/00000001.parquet").write_bytes(encode([row], old, [1]))
    (directory / "elements/00000001.parquet").write_bytes((directory / "elements/00000000.parquet").read_bytes())
    assert results.open(directory).rows().column("profile").to_pylist() == ["measured", None]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_parquet('{parquet}')",
        "SELECT * FROM '{parquet}'",
        "SELECT * FROM glob('{folder}/*')",
        "COPY trials TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET python_enable_replacements = true",
        "SELECT * FROM secret_table",
    ],
)
def test_a_query_cannot_leave_the_campaign(campaign: Callable[..., Path], tmp_path: Path, query: str) -> None:
    directory = campaign([make_row()])
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    secret_table = results.open(directory).rows()  # a variable of this name must not be found from SQL
    text = query.format(file=file, folder=tmp_path, parquet=directory / "parts/00000000.parquet")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(QueryError) as caught:
        results.open(directory).sql(text)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before
    del secret_table


def test_a_large_campaign_is_scanned_not_loaded(campaign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("results.reading._IN_MEMORY", 0)
    found = results.open(campaign(batch_norm_rows(20)))
    assert found.records("SELECT count(*) AS n FROM trials") == [{"n": 80}]


def test_a_folder_named_like_a_pattern_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("results.reading._IN_MEMORY", 0)
    for name in ("night=1", "x[1]*"):
        found = results.open(write_campaign(tmp_path / name / "c", batch_norm_rows(20)))
        assert found.records("SELECT count(*) AS n, count(DISTINCT target) AS t FROM trials") == [{"n": 80, "t": 4}]
        assert found.sql("SELECT * FROM measurements").column_names == [
            *(column.name for column in COLUMNS),
            "campaign",
        ]
        assert found.sql("SELECT * FROM elements").column_names == [
            *(column.name for column in ELEMENT_COLUMNS),
            "campaign",
        ]


@pytest.mark.parametrize("query", ["CREATE TABLE t (a INT)", "SELECT 1; DROP VIEW trials", "COPY trials TO 'PART'"])
def test_a_query_of_a_large_campaign_writes_nothing(
    campaign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr("results.reading._IN_MEMORY", 0)
    directory = campaign([make_row()], shards=1)
    part = directory / "parts/00000000.parquet"
    before = part.read_bytes()
    opened = results.open(directory)
    with pytest.raises(QueryError, match="only one SELECT"):
        opened.sql(query.replace("PART", str(part)))
    assert part.read_bytes() == before
    assert opened.records("SELECT count(*) AS n FROM trials") == [{"n": 1}]


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no campaign given"):
        results.open()
    with pytest.raises(ResultsError, match="there is no directory"):
        results.open(tmp_path / "nowhere")
    with pytest.raises(ResultsError, match=r"is not a campaign: it has no campaign.json"):
        results.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match="is a file"):
        results.open(tmp_path / "file")
    (tmp_path / "campaign.json").write_text('{"format": "ulpfuzz ca')
    with pytest.raises(StoreError, match="is damaged: it is not JSON"):
        results.open(tmp_path)
    (tmp_path / "campaign.json").write_text('{"format": "something else"}')
    with pytest.raises(ResultsError, match="does not describe a campaign"):
        results.open(tmp_path)
    (tmp_path / "campaign.json").write_text(json.dumps({"format": "ulpfuzz campaign"}))
    with pytest.raises(ResultsError, match="holds no finished trials yet: run `ulpfuzz resume"):
        results.open(tmp_path)


def test_a_damaged_part_is_named_on_opening(tmp_path: Path) -> None:
    directory = write_campaign(tmp_path / "c", batch_norm_rows(20))
    part = directory / "parts/00000001.parquet"
    content = bytearray(part.read_bytes())
    content[len(content) // 3] ^= 4
    part.write_bytes(content)
    with pytest.raises(StoreError, match=r"00000001\.parquet is damaged: its content does not match its checksum"):
        results.open(directory)


def test_half_written_files_are_ignored(tmp_path: Path) -> None:
    directory = write_campaign(tmp_path / "c", batch_norm_rows(20))
    (directory / "parts/00000002.parquet.99.tmp").write_bytes(b"PAR1half")
    (directory / "elements/00000002.parquet").write_bytes(b"PAR1half")
    assert results.open(directory).rows().num_rows == 100


def test_importing_results_is_cheap() -> None:
    heavy = "{'pyarrow', 'duckdb', 'scipy', 'rich', 'numpy'}"
    code = f"import sys, results, results.columns, results.verdicts; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    for name in results.__all__:
        assert getattr(results, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = results.nonsense


@pytest.mark.parametrize(
    "value",
    [
        {"plan": ["fixed"]},
        {"plan": 5},
        {"schema_version": "x"},
        {"fail_on": [3]},
        {"targets": 5},
        {"targets": [1]},
        {"pairs": 5},
    ],
)
def test_a_value_of_another_kind_in_a_manifest_is_one_line(
    campaign: Callable[..., Path], value: dict[str, object]
) -> None:
    directory = campaign([make_row()])
    manifest = directory / "campaign.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **value}))
    with pytest.raises(StoreError, match=r"campaign.json is damaged: Expected .*\$\..*; restore it from a copy"):
        results.open(directory)


def test_a_manifest_nested_without_end_is_one_line(campaign: Callable[..., Path]) -> None:
    directory = campaign([make_row()])
    (directory / "campaign.json").write_text("[" * 100_000)
    with pytest.raises(StoreError, match=r"campaign.json is damaged: it is not JSON"):
        results.open(directory)


def test_environments_that_are_no_records_are_left_out(campaign: Callable[..., Path]) -> None:
    directory = campaign([make_row()])
    (directory / "environments.json").write_text(json.dumps({"e" * 16: 5, "f" * 16: {"cpu": "here"}}))
    assert results.open(directory).environments == {"f" * 16: {"cpu": "here"}}
