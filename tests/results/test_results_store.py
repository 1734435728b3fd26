"""The store: what is written comes back, damage is seen and named, interruptions leave nothing half-read."""

from __future__ import annotations

import errno
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic_rows import make_row

from results.columns import COLUMNS, ELEMENT_COLUMNS, SCHEMA_VERSION
from results.errors import StoreError
from results.store import Store

PART = "parts/00000003.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one finished shard, number 3."""
    store = Store(tmp_path)
    store.commit(3, [make_row(i) for i in range(200)], [{"kind": "worst", "element": 5, "rho": 0.5}])
    return store


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_every_kind_of_cell_comes_back(tmp_path: Path) -> None:
    samples = {
        "string": ["", "a", "µ [x]: {}", None],
        "int64": [0, -(2**63), 2**63 - 1, None],
        "float64": [math.inf, -math.inf, 5e-324, None],
    }
    rows = [{column.name: samples[column.kind][i] for column in COLUMNS} for i in range(4)]
    Store(tmp_path).commit(0, rows)
    assert read(tmp_path / "parts/00000000.parquet") == rows


def test_nan_and_null_stay_apart(tmp_path: Path) -> None:
    Store(tmp_path).commit(0, [{"rel_max": math.nan}, {"rel_max": None}, {}])
    first, *others = [row["rel_max"] for row in read(tmp_path / "parts/00000000.parquet")]
    assert math.isnan(first)
    assert others == [None, None]


def test_rows_as_lists_equal_rows_as_dictionaries(tmp_path: Path) -> None:
    rows = [make_row(i) for i in range(1500)]
    lists = [[row.get(column.name) for column in COLUMNS] for row in rows]
    store = Store(tmp_path)
    store.commit(0, rows)
    store.commit(1, lists)
    contents = [read(tmp_path / f"parts/0000000{shard}.parquet") for shard in (0, 1)]
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"nonsense": 1}, "unknown column 'nonsense'"),
        ({"seed": "seven"}, "column 'seed' holds int64"),
        ({"seed": 2**63}, "column 'seed' holds int64"),
        ([1, 2, 3], "a row has 3 cells"),
    ],
)
def test_a_wrong_row_is_refused_by_name(tmp_path: Path, row: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        Store(tmp_path).commit(0, [row])
    assert Store(tmp_path).done() == set()


def test_a_part_is_the_record_that_its_shard_is_done(store: Store) -> None:
    assert store.done() == {3}
    store.commit(0, [])
    assert store.done() == {0, 3}


def test_elements_are_written_before_the_part(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    original = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append(to.parent.name), original(self, to))[1])
    store.commit(4, [make_row()], [{"kind": "worst"}])
    assert order == ["elements", "parts"]


def test_the_footer_says_what_the_file_is(store: Store) -> None:
    (facts,) = store.part_facts()
    assert (facts.shards, facts.generation, facts.rows) == ((3,), 0, 200)
    assert facts.schema_version == SCHEMA_VERSION
    metadata = pq.read_metadata(store.directory / PART).metadata
    assert b'"problem_id": 1' in metadata[b"ulpfuzz.since"]
    assert len(metadata[b"ulpfuzz.checksum"]) == 16


def test_strings_are_dictionary_encoded(store: Store) -> None:
    metadata = pq.read_metadata(store.directory / PART)
    chunk = metadata.row_group(0).column(metadata.schema.names.index("operator"))
    assert "RLE_DICTIONARY" in chunk.encodings
    assert chunk.compression == "ZSTD"


@pytest.mark.parametrize("keep", [0, 1, 4, 100, 0.3, 0.9, -9, -5, -1])
def test_a_cut_part_is_named(store: Store, keep: float) -> None:
    path = store.directory / PART
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if isinstance(keep, float) else keep])
    for look in (store.check, store.done):
        with pytest.raises(StoreError) as caught:
            look()
        message = str(caught.value)
        assert str(path) in message
        assert f"run `ulpfuzz resume {store.directory}`, which computes its trials again" in message
        assert "\n" not in message


def test_every_flipped_bit_is_seen(store: Store) -> None:
    path = store.directory / PART
    content = path.read_bytes()
    step = max(1, len(content) // 150)
    for at in [*range(0, len(content), step), *range(len(content) - 60, len(content))]:
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at % 8)
        path.write_bytes(flipped)
        with pytest.raises(StoreError, match=r"00000003\.parquet is damaged"):
            store.check()
    path.write_bytes(content)
    store.check()


def test_damaged_elements_are_named(store: Store) -> None:
    path = store.directory / "elements/00000003.parquet"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(StoreError, match=r"elements.00000003.parquet is damaged.*run `ulpfuzz resume"):
        store.check()
    path.unlink()
    with pytest.raises(StoreError, match=r"elements.00000003.parquet is missing: run `ulpfuzz resume"):
        store.check()


def test_a_newer_schema_asks_for_a_newer_ulpfuzz(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("results.parts.SCHEMA_VERSION", 0)
    with pytest.raises(StoreError, match="upgrade ulpfuzz"):
        store.done()


def test_a_foreign_parquet_file_is_named(store: Store) -> None:
    pq.write_table(pa.table({"a": [1]}), store.directory / "parts/00000009.parquet")
    with pytest.raises(StoreError, match=r"00000009\.parquet is damaged: its footer does not say"):
        store.done()


def test_clean_removes_temporary_files_only(store: Store) -> None:
    stale = store.directory / "parts/00000004.parquet.4711.tmp"
    stale.write_bytes(b"half")
    assert store.done() == {3}
    assert store.clean() == [stale]
    assert store.clean() == []
    assert store.done() == {3}


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only"), (errno.EIO, os.strerror(errno.EIO))],
)
def test_a_failing_disk_is_one_line_and_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match=says) as caught:
        store.commit(4, [make_row()])
    assert "\n" not in str(caught.value)
    assert store.done() == {3}
    assert store.clean() == []


def test_a_vanished_directory_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the directory has vanished"):
        Store(tmp_path / "gone").commit(0, [make_row()])
    assert not (tmp_path / "gone").exists()


def test_a_compacted_part_replaces_what_it_covers(store: Store) -> None:
    from results.parts import encode

    store.commit(4, [make_row()])
    merged = encode([make_row(i) for i in range(3)], COLUMNS, [3, 4], generation=1)
    (store.parts / "00000003-00000004.parquet").write_bytes(merged)
    assert [facts.path.name for facts in store.part_facts()] == ["00000003-00000004.parquet"]
    assert store.done() == {3, 4}


def test_writing_takes_little_of_a_trial(tmp_path: Path) -> None:
    """Less than four times the time in which the rows become JSON; mostly it is less than twice that time."""
    rows = [make_row(i) for i in range(5000)]
    store = Store(tmp_path)
    assert cheapest(lambda number: store.commit(number, rows)) < 4 * cheapest(lambda _: list(map(json.dumps, rows)))


def cheapest(work: Callable[[int], object]) -> float:
    """Processor seconds of the cheapest of four calls."""
    found = math.inf
    for number in range(4):
        before = time.process_time()
        work(number)
        found = min(found, time.process_time() - before)
    return found


def test_element_columns_hold_the_key() -> None:
    assert {"problem_id", "seed", "index", "output", "target"} <= {column.name for column in ELEMENT_COLUMNS}
