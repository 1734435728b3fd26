"""Campaigns of older versions: whatever reads a campaign reads them, alone and beside a present one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import odd_campaigns
import pyarrow as pa
import pytest

import results
from fuzz.backends import BACKENDS
from fuzz.cli.app import invoke
from results.columns import COLUMNS, SCHEMA_VERSION
from results.parts import facts

VERSIONS = (1, 2)


@pytest.fixture(autouse=True)
def _backends() -> Iterator[None]:
    before = dict(BACKENDS)
    yield
    for name in set(BACKENDS) - set(before):
        del BACKENDS[name]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_files_are_of_that_version(version: int) -> None:
    part = facts(odd_campaigns.GOLDEN / f"schema-{version}/parts/00000000.parquet")
    assert part.schema_version == version < SCHEMA_VERSION


@pytest.mark.parametrize("version", VERSIONS)
def test_columns_are_filled_by_name(version: int) -> None:
    found = results.open(odd_campaigns.GOLDEN / f"schema-{version}")
    rows = found.rows().to_pylist()
    assert len(rows) == 12
    assert list(rows[0]) == [column.name for column in COLUMNS]
    for column in COLUMNS:
        if column.since > version:
            assert {row[column.name] for row in rows} == {None}
    assert {row["operator"] for row in rows} == {"tanh"}
    assert {(row["target"], row["verdict"]) for row in rows if row["against"] == "truth"} == {
        ("mine:cpu", "wrong"),
        ("numpy:cpu", "rounding"),
    }
    (group,) = found.findings
    assert (group.verdict, group.trials, group.region) == ("wrong", 4, "any x" if version == 2 else "")


def test_campaigns_of_several_versions_are_one_table(tmp_path: Path) -> None:
    places = odd_campaigns.old_and_new(tmp_path)
    found = results.open(*places)
    told = found.sql(
        "select campaign, count(*) as n, count(region) as known from trials group by all order by all"
    ).to_pylist()
    assert [(row["n"], row["known"]) for row in told] == [(8, 4), (8, 0), (8, 4)]
    assert found.rows().num_rows == 36
    assert len(found.pandas()) == 24 if _has_pandas() else True


@pytest.mark.parametrize("table", ["measurements", "trials", "elements", "findings"])
def test_a_stream_holds_what_sql_holds(table: str, tmp_path: Path) -> None:
    found = results.open(*odd_campaigns.old_and_new(tmp_path), *odd_campaigns.half_written(tmp_path))
    schema, batches = found.stream(table)
    streamed = pa.Table.from_batches(batches, schema).to_pylist()
    expected = found.sql(f"from {table}")
    assert schema.names == expected.schema.names
    assert streamed
    assert sorted(map(repr, streamed)) == sorted(map(repr, expected.to_pylist()))


def test_a_campaign_of_two_versions_is_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of both, merged into one of this version."""
    from results import compaction

    (place,) = odd_campaigns.mixed_schema(tmp_path)
    before = results.open(place).sql("select * from measurements order by all").to_pylist()
    monkeypatch.setattr(compaction, "FEW", 2)
    assert compaction.compact_here(place, final=True).merged == 2
    (part,) = (place / "parts").iterdir()
    assert facts(part).schema_version == SCHEMA_VERSION
    assert repr(results.open(place).sql("select * from measurements order by all").to_pylist()) == repr(before)


def test_a_trial_is_computed_again_bit_for_bit(tmp_path: Path, capfd: Any) -> None:
    place = odd_campaigns.golden(1, tmp_path)
    assert invoke(["repro", str(place), "a0012443-2"]) == 1
    assert "inputs equal the campaign's bit for bit" in capfd.readouterr().out


def test_findings_are_run_again(tmp_path: Path, capfd: Any) -> None:
    place = odd_campaigns.golden(1, tmp_path)
    assert invoke(["replay", str(place)]) == 1
    said = capfd.readouterr().out
    assert said.startswith("still there")
    assert said.endswith("1 still there\n")


def test_findings_are_shrunk(tmp_path: Path, capfd: Any) -> None:
    place = odd_campaigns.golden(1, tmp_path)
    assert invoke(["shrink", str(place), "--time", "5s"]) == 0
    assert "05af2dde4d  mine:cpu tanh (y) in float32: wrong: " in capfd.readouterr().err
    assert (place / "shrunk/05af2dde4d.json").exists()


def test_a_newer_campaign_is_told_in_one_line(tmp_path: Path, capsys: Any) -> None:
    (place,) = odd_campaigns.newer(tmp_path)
    kept = shutil.copytree(place, tmp_path / "kept")
    for words in (["report"], ["findings"], ["watch", "--once"], ["compact"], ["resume"], ["shrink"], ["replay"]):
        code = invoke([words[0], str(place), *words[1:]])
        said = capsys.readouterr()
        assert code in (2, 3), words
        assert said.out == ""
        assert (
            f"has schema version {SCHEMA_VERSION + 1}, this ulpfuzz reads up to {SCHEMA_VERSION}: upgrade" in said.err
        )
        assert said.err.count("\n") == 1
    for path in kept.rglob("*.parquet"):
        assert (place / path.relative_to(kept)).read_bytes() == path.read_bytes()


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True
