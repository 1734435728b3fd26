"""Full, read-only and vanished disks under the store: one line each, nothing lost, and a clean state once mended."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from synthetic_rows import make_row, write_campaign

import results
from results.arrow import to_lists
from results.columns import Row
from results.compaction import compact, compact_here
from results.errors import StoreError
from results.store import Store

SHARDS = 40


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB, where this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def remount(disk: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", disk], check=True)


def rows_of(shard: int) -> list[Row]:
    """About 30 kB on the disk."""
    return [make_row(i, operator=f"op{i % 3}", error=f"{hash((shard, i)) % 2**64:016x}" * 8) for i in range(400)]


def elements_of(shard: int) -> list[Row]:
    return [make_row(i) | {"kind": "worst", "element": shard} for i in range(0)] + [
        {"problem_id": "p", "index": i, "element": shard} for i in range(5)
    ]


def campaign(path: Path, shards: int) -> Store:
    write_campaign(path, [make_row()], shards=1)
    store = Store(path)
    commit_all(store, range(shards))
    return store


def commit_all(store: Store, shards: Iterable[int]) -> None:
    for shard in shards:
        store.commit(shard, rows_of(shard), elements_of(shard))


def content(directory: Path) -> Counter[str]:
    opened = results.open(directory)
    both = (*to_lists(opened.rows()), *to_lists(opened.elements.to_table()))
    return Counter(map(repr, both))


def fill(disk: Path, leave: int) -> Path:
    """Occupy all but `leave` bytes."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - leave)))
    return ballast


def one_line(error: pytest.ExceptionInfo[StoreError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    assert error.value.exit_code == 3
    return message


def test_a_disk_that_fills_up_during_commits(disk: Path, tmp_path: Path) -> None:
    store = campaign(disk / "c", 1)
    fill(disk, 200_000)
    with pytest.raises(StoreError) as caught:
        commit_all(store, range(1, SHARDS))
    message = one_line(caught)
    assert (
        f".parquet cannot be written, the disk is full: free some space, then run `ulpfuzz resume {disk}/c`" in message
    )
    kept = store.done()
    assert kept == set(range(len(kept)))
    store.check()
    assert not list((disk / "c").glob("*/*.tmp"))
    with pytest.raises(StoreError, match="the disk is full"):
        store.commit(len(kept), rows_of(len(kept))[:200], elements_of(0), done=200)
    remount(disk, "size=32m")
    assert store.discard_damaged() == []
    store.clean()
    commit_all(store, set(range(SHARDS)) - store.done())
    assert content(disk / "c") == content(campaign(tmp_path / "clean", SHARDS).directory)


_LONG = [pytest.param(leave, marks=pytest.mark.long) for leave in (8_000, 90_000, 150_000, 250_000, 400_000)]


@pytest.mark.parametrize("leave", [0, 40_000, *_LONG])
def test_a_disk_that_fills_up_during_a_compaction(disk: Path, leave: int) -> None:
    """At any point: the spill files, the merged elements, the merged part. The rest of the space is too little."""
    remount(disk, "size=32m")
    store = campaign(disk / "c", SHARDS)
    before = content(disk / "c")
    ballast = fill(disk, leave)
    with pytest.raises(StoreError) as caught:
        compact_here(disk / "c", final=True)
    assert "cannot be written, the disk is full: free some space" in one_line(caught)
    assert content(disk / "c") == before
    assert not list((disk / "c").glob("*/*.tmp"))
    assert not list((disk / "c" / "tmp").iterdir())
    ballast.unlink()
    assert store.discard_damaged() == []
    store.clean()
    assert compact_here(disk / "c", final=True).files == 1
    assert content(disk / "c") == before


def test_the_process_that_compacts_passes_the_line_on(disk: Path) -> None:
    remount(disk, "size=32m")
    campaign(disk / "c", SHARDS)
    fill(disk, 0)
    with pytest.raises(StoreError) as caught:
        compact(disk / "c", final=True)
    assert "cannot be written, the disk is full: free some space, then run `ulpfuzz resume" in one_line(caught)


def test_a_read_only_disk_can_be_read_and_not_be_written(disk: Path) -> None:
    remount(disk, "size=32m")
    store = campaign(disk / "c", SHARDS)
    before = content(disk / "c")
    damaged = store.parts / "00000007.parquet"
    whole = damaged.read_bytes()
    remount(disk, "ro")
    assert content(disk / "c") == before
    assert store.clean() == []
    for write in (
        lambda: store.commit(SHARDS, rows_of(SHARDS)),
        lambda: compact_here(disk / "c", final=True),
        lambda: compact(disk / "c", final=True),
    ):
        with pytest.raises(StoreError) as caught:
            write()
        assert "cannot be written, the file system is read-only: make it writable" in one_line(caught)
    remount(disk, "rw")
    damaged.write_bytes(whole[:-1])
    (disk / "c" / "parts" / "00000001.parquet.1.tmp").touch()
    remount(disk, "ro")
    for mend in (store.discard_damaged, store.clean):
        with pytest.raises(StoreError) as mending:
            mend()
        assert "the file system is read-only: make it writable" in one_line(mending)
    remount(disk, "rw")
    assert len(store.discard_damaged()) == 1
    store.clean()
    store.commit(7, rows_of(7), elements_of(7))
    assert damaged.read_bytes() == whole
    assert content(disk / "c") == before


def test_a_damaged_file_is_set_aside_on_a_full_disk(disk: Path) -> None:
    store = campaign(disk / "c", 3)
    path = store.parts / "00000001.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    fill(disk, 0)
    assert len(store.discard_damaged()) == 1
    assert store.done() == {0, 2}


def test_a_campaign_that_vanishes(tmp_path: Path) -> None:
    store = campaign(tmp_path / "c", SHARDS)
    before = content(tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / "hidden")
    for use in (
        lambda: store.commit(SHARDS, rows_of(SHARDS)),
        lambda: compact_here(tmp_path / "c", final=True),
        lambda: compact(tmp_path / "c", final=True),
        store.clean,
        store.discard_damaged,
        store.done,
    ):
        with pytest.raises(StoreError, match="vanished: put it back"):
            use()
        assert not (tmp_path / "c").exists()
    (tmp_path / "hidden").rename(tmp_path / "c")
    assert content(tmp_path / "c") == before
