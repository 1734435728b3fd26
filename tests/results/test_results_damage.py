"""Damaged files on resuming: each is set aside and named, and what is left counts as it should."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from synthetic_rows import make_row

from results.arrow import to_lists
from results.columns import COLUMNS
from results.errors import StoreError
from results.parts import encode, facts
from results.store import Store, ranges

NAME = "00000003.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two finished shards, 2 and 3, with elements."""
    store = Store(tmp_path)
    for shard in (2, 3):
        store.commit(shard, [make_row(i) for i in range(200)], [make_row(5) | {"kind": "worst"}][:0])
    return store


def cut(content: bytes, at: int) -> bytes:
    return content[:at]


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]


@pytest.mark.parametrize("folder", ["parts", "elements"])
@pytest.mark.parametrize("harm", [cut, flipped])
def test_harm_anywhere_is_found_and_mended(store: Store, folder: str, harm: object) -> None:
    assert callable(harm)
    path = store.directory / folder / NAME
    whole = {name: (store.directory / name / NAME).read_bytes() for name in ("parts", "elements")}
    for at in random.Random(folder).sample(range(len(whole[folder])), 30):
        path.write_bytes(harm(whole[folder], at))
        lines = store.discard_damaged()
        assert len(lines) == 1
        assert lines[0].startswith(f"{path} is damaged: ")
        assert lines[0].endswith("; moved to " + str(store.directory / "damaged") + ", shard 3 is computed again")
        assert store.done() == {2}
        assert store.discard_damaged() == []
        store.commit(3, [make_row(i) for i in range(200)])
        assert {name: (store.directory / name / NAME).read_bytes() for name in whole} == whole


def test_a_part_without_elements_is_computed_again(store: Store) -> None:
    (store.elements / NAME).unlink()
    (line,) = store.discard_damaged()
    assert line.startswith(f"{store.elements / NAME} is missing; moved to ")
    assert store.done() == {2}


def test_an_unreadable_part_is_computed_again(store: Store) -> None:
    (store.parts / NAME).unlink()
    (store.parts / NAME).mkdir()
    (line,) = store.discard_damaged()
    assert "00000003.parquet is damaged: Is a directory" in line
    assert store.done() == {2}


def test_a_part_that_another_covers_too_is_not_computed_again(store: Store) -> None:
    rows = [make_row(i) for i in range(400)]
    for folder in (store.parts, store.elements):
        (folder / "00000002-00000003-1.parquet").write_bytes(encode(rows, COLUMNS, [2, 3], generation=1))
    damaged = store.parts / "00000002-00000003-1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    (line,) = store.discard_damaged()
    assert line.endswith(", other parts have its shards")
    assert store.done() == {2, 3}


def test_a_damaged_replacement_keeps_what_it_replaces(store: Store) -> None:
    """Cleaning first, discarding second loses nothing either."""
    for folder in (store.parts, store.elements):
        merged = encode([make_row(i) for i in range(400)], COLUMNS, [2, 3], generation=1)
        (folder / "00000002-00000003-1.parquet").write_bytes(flipped(merged, 1000))
    assert store.clean() == []
    assert len(store.discard_damaged()) == 2
    assert store.done() == {2, 3}


def test_parts_that_overlap_are_taken_apart(store: Store) -> None:
    for folder in (store.parts, store.elements):
        (folder / "00000004-00000003-0.parquet").write_bytes(encode([], COLUMNS, [3, 4]))
    with pytest.raises(StoreError, match="covers some shards that other parts cover too"):
        store.done()
    (line,) = store.discard_damaged()
    assert "covers some shards that other parts cover too" in line
    assert line.endswith("shard 4 is computed again")
    assert store.done() == {2, 3}


def test_a_part_of_a_newer_ulpfuzz_is_left_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("results.parts.SCHEMA_VERSION", 0)
    with pytest.raises(StoreError, match="upgrade ulpfuzz"):
        Store(store.directory).discard_damaged()
    assert (store.parts / NAME).exists()


def test_rows_of_the_shards_that_are_left_are_untouched(store: Store) -> None:
    before = to_lists(store.part_table(facts(store.parts / "00000002.parquet")))
    (store.parts / NAME).write_bytes(b"")
    store.discard_damaged()
    assert to_lists(store.part_table(facts(store.parts / "00000002.parquet"))) == before


def test_elements_without_a_part_are_cleaned(store: Store) -> None:
    (store.parts / NAME).unlink()
    assert store.clean() == [store.elements / NAME]


def test_ranges_are_short() -> None:
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_what_resuming_does_takes_every_flipped_bit_of_a_footer(store: Store) -> None:
    """Arrow calls a footer that it cannot make out by many names."""
    path = store.parts / NAME
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    for at in random.Random(1).sample(range(len(content) - footer, len(content) - 8), 60):
        path.write_bytes(flipped(content, at))
        again = Store(store.directory)
        again.clean()
        (line,) = again.discard_damaged()
        assert "\n" not in line
        store.commit(3, [make_row(i) for i in range(200)])
