"""Parts of shards: what an interrupted campaign keeps, and how the whole shard takes its place."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from synthetic_rows import make_row, write_campaign

import results
from results import parts
from results.arrow import to_lists
from results.columns import COLUMNS, ELEMENT_COLUMNS, Cell
from results.errors import StoreError
from results.store import Store

TARGETS = ("numpy:cpu", "torch:cpu")


def rows_of(trials: int) -> list[list[Cell]]:
    """Two rows a trial, with cells of every kind."""
    odd = [math.nan, None, -0.0, math.inf, 5e-324]
    made = [
        make_row(index, target, rel_max=odd[index % 5], detail="µ" if index % 2 else None)
        for index in range(trials)
        for target in TARGETS
    ]
    return [[row.get(column.name) for column in COLUMNS] for row in made]


def elements_of(trials: int) -> list[list[Cell]]:
    made = [make_row(index) | {"kind": "worst", "element": index, "value": math.nan} for index in range(0, trials, 2)]
    return [[row.get(column.name) for column in ELEMENT_COLUMNS] for row in made]


def test_a_partial_part_is_not_done_and_says_how_far_it_is(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.commit(0, rows_of(10))
    store.commit(4, rows_of(3), elements_of(3), done=3)
    assert store.done() == {0}
    assert store.partial() == {4: 3}


def test_a_partial_part_comes_back_as_it_was_committed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.commit(4, rows_of(7), elements_of(7), done=7)
    rows, elements = store.read(4)
    assert repr(rows) == repr(rows_of(7))
    assert repr(elements) == repr(elements_of(7))


def test_a_shard_finished_later_is_the_file_of_an_undisturbed_run(tmp_path: Path) -> None:
    for name in ("plain", "resumed"):
        (tmp_path / name).mkdir()
    plain, resumed = Store(tmp_path / "plain"), Store(tmp_path / "resumed")
    plain.commit(4, rows_of(10), elements_of(10))
    resumed.commit(4, rows_of(7), elements_of(7), done=7)
    rows, elements = resumed.read(4)
    resumed.commit(4, [*rows, *rows_of(10)[len(rows) :]], [*elements, *elements_of(10)[len(elements) :]])
    for folder in ("parts", "elements"):
        name = f"{folder}/00000004.parquet"
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "resumed" / name).read_bytes()
    assert resumed.done() == {4}
    assert resumed.partial() == {}


def test_fewer_trials_never_replace_more(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.commit(4, rows_of(7), elements_of(7), done=7)
    store.commit(4, rows_of(3), elements_of(3), done=3)
    assert store.partial() == {4: 7}
    store.commit(4, rows_of(9), elements_of(9))
    store.commit(4, rows_of(8), elements_of(8), done=8)
    assert store.done() == {4}
    assert len(store.read(4)[0]) == 18


@pytest.mark.parametrize("later", [9, None])
def test_elements_of_trials_that_the_part_lacks_are_hidden(tmp_path: Path, later: int | None) -> None:
    """The state after a kill between the two files of a commit."""
    directory = write_campaign(tmp_path / "campaign", [make_row(1000)], shards=1)
    store = Store(directory)
    store.commit(4, rows_of(4), elements_of(4), done=4)
    newer = parts.encode(elements_of(9), ELEMENT_COLUMNS, [4], done=later)
    (directory / "elements/00000004.parquet").write_bytes(newer)
    assert repr(store.read(4)[1]) == repr(elements_of(4))
    opened = results.open(directory)
    assert repr(to_lists(opened.elements.to_table())) == repr(elements_of(4))
    store.commit(4, rows_of(9), elements_of(9))
    assert repr(store.read(4)[1]) == repr(elements_of(9))


def test_reading_takes_partial_parts_as_ordinary_rows(tmp_path: Path) -> None:
    directory = write_campaign(tmp_path / "campaign", [make_row(1000)], shards=1)
    Store(directory).commit(4, rows_of(3), elements_of(3), done=3)
    opened = results.open(directory)
    assert opened.records("SELECT count(*) AS n FROM measurements") == [{"n": 7}]
    assert opened.records("SELECT count(*) AS n FROM elements") == [{"n": 2}]
    assert opened.rows().num_rows == 7


def test_a_campaign_with_a_partial_part_only_can_be_read(tmp_path: Path) -> None:
    directory = write_campaign(tmp_path / "campaign", [make_row(1000)], shards=1)
    for file in directory.glob("*/*.parquet"):
        file.unlink()
    store = Store(directory)
    store.commit(0, rows_of(1), done=1)
    opened = results.open(directory)
    assert opened.rows().num_rows == 2
    assert opened.elements.to_table().num_rows == 0
    store.commit(0, rows_of(8))
    assert opened.records("SELECT count(*) AS n FROM measurements") == [{"n": 2}]


def test_a_shard_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"00000004\.parquet is missing"):
        Store(tmp_path).read(4)
