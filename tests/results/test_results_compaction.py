"""Compaction: the same rows in fewer, sorted files, whatever is killed and whoever reads meanwhile."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from synthetic_rows import make_row, write_campaign

import results
from results import compaction, merging
from results.arrow import to_lists
from results.columns import COLUMNS, ELEMENT_COLUMNS, Row
from results.compaction import Compaction, batches, compact, compact_here, due
from results.errors import StoreError
from results.parts import PartFacts, encode, facts
from results.store import Store

KILLS = int(os.environ.get("ULPFUZZ_COMPACTION_KILLS", "4"))
"""Random moments at which a compaction is killed; set the variable for a longer test."""

ODD = [math.nan, None, -0.0, 0.0, math.inf, -math.inf, 5e-324, 1.5]
TARGETS = ("torch:cpu", "numpy:cpu", "jax:cpu")


def shard_rows(shard: int, rows: int) -> list[Row]:
    """Rows in an order that is not the sorted one, with every kind of cell and rows that are equal in the order."""
    return [
        make_row(
            (row * 7) % 11,
            TARGETS[row % 3],
            problem_id=f"{(shard * 5 + row) % 13:016x}",
            operator=f"op{(row + shard) % 4}",
            home=None if row % 5 == 0 else "float32",
            rel_max=ODD[row % len(ODD)],
            detail=f"µ{shard}" if row % 2 else None,
            trial=f"{shard}-{row}",
        )
        for row in range(rows)
    ]


def shard_elements(shard: int, rows: int) -> list[Row]:
    return [
        {"problem_id": f"{row:016x}", "index": row, "kind": "worst", "element": shard, "value": ODD[row % len(ODD)]}
        for row in range(0, rows, 3)
    ]


def campaign(path: Path, shards: int = 40, rows: int = 50) -> Path:
    """A campaign of `shards` small parts."""
    write_campaign(path, [make_row()], shards=1)
    store = Store(path)
    for shard in range(shards):
        store.commit(shard, shard_rows(shard, rows), shard_elements(shard, rows))
    return path


def content(directory: Path) -> tuple[Counter[str], Counter[str]]:
    """All rows and all elements, each with its number of occurrences; NaN, null and -0.0 stay apart."""
    opened = results.open(directory)
    return (
        Counter(map(repr, to_lists(opened.rows()))),
        Counter(map(repr, to_lists(opened.elements.to_table()))),
    )


def test_rows_and_elements_are_the_same_afterwards(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    before = content(directory)
    done = compact(directory, final=True)
    assert (done.merged, done.files, done.rows, done.left) == (40, 1, 2000, 0)
    assert [path.name for path in sorted(directory.glob("*/*.parquet"))] == ["00000000-00000039-1.parquet"] * 2
    assert content(directory) == before
    assert Store(directory).done() == set(range(40))
    assert not list((directory / "tmp").iterdir())


def test_a_compaction_can_be_polled_and_killed(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    with Compaction(directory, final=True) as run:
        while (done := run.poll()) is None:
            time.sleep(0.01)
    assert done.line().startswith("40 parts with 2,000 rows merged into 1 files in ")
    with Compaction(directory, final=True) as run:
        pass
    assert run._process.returncode == -signal.SIGKILL


def test_a_merged_file_is_sorted_and_sealed(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    compact_here(directory, final=True)
    store = Store(directory)
    store.check()
    (part,) = store.part_facts()
    table = store.part_table(part)
    keys = list(zip(*(table.column(name).to_pylist() for name in compaction.PART_ORDER[:6]), strict=True))
    sortable = [tuple((cell is not None, cell) for cell in key if cell is not None) for key in keys if None not in key]
    assert sortable == sorted(sortable)
    homes = [home for operator, home, *_ in keys if operator == "op0"]
    assert None not in homes[homes.count(None) :]
    elements = pq.read_table(store.elements / part.path.name).column("index").to_pylist()
    assert elements == sorted(elements)


def test_row_groups_of_several_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "ROW_GROUP", 300)
    directory = campaign(tmp_path / "c")
    before = content(directory)
    compact_here(directory, final=True)
    (part,) = Store(directory).part_facts()
    groups = pq.read_metadata(part.path)
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [300] * 6 + [200]
    assert content(directory) == before


def test_parts_of_an_older_schema_are_merged(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    kept = [column for column in COLUMNS if column.name not in ("variant", "certified", "profile")]
    rows = [{column.name: row.get(column.name) for column in kept} for row in shard_rows(7, 50)]
    (directory / "parts/00000007.parquet").write_bytes(encode(rows, kept, [7]))
    before = content(directory)
    compact_here(directory, final=True)
    assert content(directory) == before


def test_a_large_campaign_is_merged_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "TARGET_ROWS", 400)
    monkeypatch.setattr(compaction, "SMALL_ROWS", 200)
    directory = write_campaign(tmp_path / "c", [make_row()], shards=1)
    store, merged = Store(directory), 0
    for shard in range(60):
        store.commit(shard, shard_rows(shard, 30), shard_elements(shard, 30))
        if due(store):
            merged += compact_here(directory).files
    store.commit(60, shard_rows(60, 10)[:4], done=2)
    compact_here(directory, final=True)
    assert merged == 4
    assert [part.rows for part in store.part_facts() if part.generation] == [420] * 4
    assert store.partial() == {60: 2}
    assert sum(content(directory)[0].values()) == 60 * 30 + 4


def test_parts_that_are_many_are_merged_generation_by_generation() -> None:
    def parts(first: int, count: int, generation: int, rows: int) -> list[PartFacts]:
        return [PartFacts(Path(), (number,), generation, rows, 1) for number in range(first, first + count)]

    assert batches(parts(0, 255, 0, 10), final=False) == []
    assert [len(group) for group in batches(parts(0, 256, 0, 10), final=False)] == [256]
    mixed = [*parts(0, 255, 1, 2560), *parts(255, 256, 0, 10)]
    assert [{part.generation for part in group} for group in batches(mixed, final=False)] == [{0}]
    assert [len(group) for group in batches(parts(0, 100, 0, 20_000), final=False)] == [50, 50]
    assert batches(parts(0, 16, 0, 1000), final=True) == []
    assert [len(group) for group in batches(parts(0, 16, 0, 10_000), final=True)] == [16]
    assert [len(group) for group in batches(parts(0, 60, 0, 20_000), final=True)] == [50, 10]
    assert batches(parts(0, 300, 0, 500_000), final=True) == []


def test_damage_is_not_merged(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    path = directory / "parts/00000005.parquet"
    flipped = bytearray(path.read_bytes())
    flipped[1000] ^= 4
    path.write_bytes(flipped)
    with pytest.raises(StoreError, match=r"00000005.parquet is damaged: its content does not match its checksum"):
        compact(directory, final=True)
    assert len(list(directory.glob("parts/*.parquet"))) == 40
    (line,) = Store(directory).discard_damaged()
    assert "shard 5 is computed again" in line
    Store(directory).clean()
    assert compact(directory, final=True).rows == 39 * 50


KILLED = """
import os, sys
from pathlib import Path
from results.compaction import compact_here
left = int(sys.argv[2])
def counted(original):
    def wrapped(*args, **kwargs):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), 9)
        return original(*args, **kwargs)
    return wrapped
for owner, name in ((Path, "replace"), (Path, "unlink"), (os, "fsync")):
    setattr(owner, name, counted(getattr(owner, name)))
compact_here(sys.argv[1], final=True)
"""


@pytest.mark.parametrize(
    "operation",
    [1, 5, 9, *(pytest.param(number, marks=pytest.mark.long) for number in (2, 3, 4, 6, 7, 8, 47, 200))],
)
def test_a_kill_at_any_file_operation_loses_nothing(tmp_path: Path, operation: int) -> None:
    """Before and after each flush and rename, and among the deletions; the last number is beyond the end."""
    directory = campaign(tmp_path / "c", rows=12)
    before = content(directory)
    ran = subprocess.run([sys.executable, "-c", KILLED, str(directory), str(operation)], env=with_root(), check=False)
    assert ran.returncode == (0 if operation == 200 else -signal.SIGKILL)
    assert content(directory) == before
    store = Store(directory)
    assert store.discard_damaged() == []
    store.clean()
    assert content(directory) == before
    compact_here(directory, final=True)
    assert content(directory) == before
    assert len(list(directory.glob("*/*.parquet"))) == 2


def with_root() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(results.__file__).parent.parent)}


def test_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    """Merged and small parts together: kill, look, clean, look, compact again, look."""
    start = campaign(tmp_path / "start", rows=12)
    compact_here(start, final=True)
    for shard in range(40, 73):
        Store(start).commit(shard, shard_rows(shard, 12), shard_elements(shard, 12))
    before, moments = content(start), random.Random(0)
    killed = 0
    with Compaction(Path(shutil.copytree(start, tmp_path / "calm")), final=True) as run:
        started = await_work(tmp_path / "calm", run)
        run.wait()
        usual = time.monotonic() - started
    for number in range(KILLS):
        directory = Path(shutil.copytree(start, tmp_path / f"{number}"))
        run = Compaction(directory, final=True)
        await_work(directory, run)
        time.sleep(moments.uniform(0, usual))
        killed += run._process.poll() is None
        run.kill()
        assert content(directory) == before
        assert Store(directory).discard_damaged() == []
        Store(directory).clean()
        compact_here(directory, final=True)
        assert content(directory) == before
        assert len(list(directory.glob("*/*.parquet"))) == 2
        shutil.rmtree(directory)
    print(f"{killed} of {KILLS} compactions were killed before they ended")
    assert killed >= KILLS / 4


def await_work(directory: Path, run: Compaction) -> float:
    """Wait until a compaction has begun to merge; when that was."""
    while not list((directory / "tmp").glob("compaction-*")) and run._process.poll() is None:
        time.sleep(0.001)
    return time.monotonic()


def test_a_compaction_ends_with_its_parent(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c", shards=300, rows=200)
    program = (
        "import os, sys; from results.compaction import Compaction; "
        "print(Compaction(sys.argv[1], final=True)._process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(directory)], env=with_root(), check=False, capture_output=True, text=True
    )
    child = int(ran.stdout)
    for _ in range(200):
        if not Path(f"/proc/{child}/status").exists() or "\nState:\tZ" in Path(f"/proc/{child}/status").read_text():
            break
        time.sleep(0.01)
    else:
        pytest.fail("the compaction is still running")
    assert Store(directory).done() == set(range(300))


def test_a_reader_keeps_its_answer_during_a_compaction(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    reader = results.open(directory)
    done = compact_here(directory, final=True)
    assert done.left == 40
    assert reader.records("SELECT count(*) AS n FROM measurements") == [{"n": 2000}]
    assert reader.elements.to_table().num_rows == 40 * 17
    assert results.open(directory).rows().num_rows == 2000
    del reader
    assert len(Store(directory).clean()) == 80
    assert len(list(directory.glob("*/*.parquet"))) == 2


@pytest.mark.long
def test_readers_in_a_loop_always_see_every_row(tmp_path: Path) -> None:
    """Another process opens the campaign again and again while parts are committed and merged."""
    directory = campaign(tmp_path / "c")
    program = """
import sys, results
least = 0
while True:
    opened = results.open(sys.argv[1])
    rows, elements = opened.rows().num_rows, opened.elements.to_table().num_rows
    again = opened.records("SELECT count(*) AS n FROM measurements")[0]["n"]
    if rows != again or rows % 50 or rows < least or elements != rows // 50 * 17:
        sys.exit(f"{least=} {rows=} {again=} {elements=}")
    least = rows
    del opened
    print(rows, flush=True)
"""
    reader = subprocess.Popen([sys.executable, "-c", program, str(directory)], stdout=subprocess.PIPE, env=with_root())
    seen: list[int] = []
    assert reader.stdout is not None
    lines = reader.stdout
    listener = threading.Thread(target=lambda: seen.extend(int(line) for line in lines))
    listener.start()
    while not seen and reader.poll() is None:
        time.sleep(0.01)
    store = Store(directory)
    for shard in range(40, 40 + 3 * 33):
        store.commit(shard, shard_rows(shard, 50), shard_elements(shard, 50))
        if shard % 33 == 32:
            compact_here(directory, final=True)
    assert reader.poll() is None
    reader.kill()
    reader.wait()
    listener.join()
    assert len(seen) >= 3
    store.clean()
    assert sum(content(directory)[0].values()) == 139 * 50


def test_old_campaigns_are_read_as_they_are(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c", shards=3)
    assert {facts(path).generation for path in directory.glob("parts/*.parquet")} == {0}
    assert not due(Store(directory))
    assert compact(directory).line() == "nothing to merge"
    assert sum(content(directory)[0].values()) == 150


def test_element_columns_are_those_of_the_order() -> None:
    assert set(compaction.ELEMENT_ORDER) <= {column.name for column in ELEMENT_COLUMNS}
    assert set(compaction.PART_ORDER) <= {column.name for column in COLUMNS}
