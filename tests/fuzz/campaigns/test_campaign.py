"""What a campaign writes depends on its plan and seed alone, and survives what a file system does to it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from running import COMMAND, Cli, differing, elements_of, in_session, rows_of, wait_for

SUM = ("run", "sum", "--dims", "rows=3,n=8", "--targets", "numpy,numpy[dtype=float64]")
MINE = """
import numpy as np
from fuzz.extend import FunctionBackend, register
mine = FunctionBackend("mine")
@mine.operator("sum")
def total(x, *, axis):
    return x.sum(axis=axis) * x.dtype.type(1.001)
register(mine)
"""


def same(one: Path, other: Path) -> None:
    assert not differing(rows_of(one), rows_of(other))
    assert elements_of(one) == elements_of(other)


def test_seed_decides_and_nothing_else(ulpfuzz: Cli, tmp_path: Path) -> None:
    run = (*SUM, "--trials", 90)
    ulpfuzz.ok(*run, "--out", "a")
    ulpfuzz.ok(*run, "--out", "b", "--workers", 2, "--shard-trials", 7)
    ulpfuzz.ok(*run, "--out", "other", "--seed", 1)
    same(tmp_path / "a", tmp_path / "b")
    assert len(differing(rows_of(tmp_path / "a"), rows_of(tmp_path / "other"))) == 4 * 90


@pytest.mark.long
def test_the_environment_does_not_depend_on_how_often_a_campaign_was_started(ulpfuzz: Cli, tmp_path: Path) -> None:
    """Thread variables are part of the record: they are set before anything reads them."""
    ulpfuzz.ok(*SUM, "--trials", 20, "--shard-trials", 10, "--out", "a")
    (tmp_path / "a" / "parts" / "00000001.parquet").unlink()
    ulpfuzz.ok("resume", "a")
    assert len(json.loads((tmp_path / "a" / "environments.json").read_text())) == 1
    assert len({row["environment"] for row in rows_of(tmp_path / "a").values()}) == 1


@pytest.mark.long
def test_given_arrays_travel_with_the_campaign(ulpfuzz: Cli, tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", w=np.arange(24.0).reshape(3, 8) / 7)
    ulpfuzz.ok(*SUM, "--input", "x=given(w.npz:w)", "--trials", 8, "--shard-trials", 2, "--out", "a")
    (tmp_path / "w.npz").unlink()
    shutil.copytree(tmp_path / "a", tmp_path / "elsewhere" / "b")
    shutil.move(tmp_path / "a", tmp_path / "gone")
    for part in ("00000001", "00000003"):
        (tmp_path / "elsewhere" / "b" / "parts" / f"{part}.parquet").unlink()
    ulpfuzz.ok("resume", "elsewhere/b")
    same(tmp_path / "elsewhere" / "b", tmp_path / "gone")
    assert "outputs equal bit for bit" in ulpfuzz.ok("repro", "elsewhere/b", "5").stdout


def test_extensions_travel_with_the_campaign(ulpfuzz: Cli, tmp_path: Path) -> None:
    """Named twice, deleted afterwards: resumed and reproduced from the copy."""
    (tmp_path / "mine.py").write_text(MINE)
    run = ("run", "sum", "--dims", "rows=3,n=8", "--targets", "numpy,mine", "--trials", 20, "--shard-trials", 10)
    ulpfuzz.ok(*run, "--extension", "mine.py", "--extension", tmp_path / "mine.py", "--out", "a")
    assert [path.name for path in (tmp_path / "a" / "extensions").iterdir()] == ["000_mine.py"]
    (tmp_path / "mine.py").unlink()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "parts" / "00000000.parquet").unlink()
    ulpfuzz.ok("resume", "b")
    same(tmp_path / "a", tmp_path / "b")
    assert "outputs equal bit for bit" in ulpfuzz.ok("repro", "b", "13").stdout


def test_a_second_writer_is_told_who_holds_the_directory(ulpfuzz: Cli, tmp_path: Path) -> None:
    process = ulpfuzz.start(*SUM, "--trials", 100000, "--out", "a")
    wait_for((tmp_path / "a" / "campaign.json").exists)
    ran = ulpfuzz("resume", "a")
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"ulpfuzz: a is being written by process {process.pid} since 20")
    assert ran.stderr.count("\n") == 1


def limited(folder: Path, size: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command where no file may exceed `size` bytes: what a full disk does to a large file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        preexec_fn=limit,  # one thread here
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_a_shard_that_cannot_be_written_ends_in_one_line(ulpfuzz: Cli, tmp_path: Path) -> None:
    run = (*SUM, "--trials", 60, "--shard-trials", 30)
    ulpfuzz.ok(*run, "--out", "peace")
    ulpfuzz.ok(*run, "--out", "a")
    (tmp_path / "a" / "parts" / "00000001.parquet").unlink()
    ran = limited(tmp_path, 8192, "resume", "a")
    assert ran.returncode == 3, ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("ulpfuzz: a/")
    assert "`ulpfuzz resume a`; finished shards are kept" in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr
    assert (tmp_path / "a" / "parts" / "00000000.parquet").exists()
    ulpfuzz.ok("resume", "a")
    same(tmp_path / "a", tmp_path / "peace")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 kB, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", disk], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk(ulpfuzz: Cli, small_disk: Path) -> None:
    ulpfuzz.ok(*SUM, "--trials", 600, "--shard-trials", 50, "--out", "peace")
    ran = ulpfuzz(*SUM, "--trials", 600, "--shard-trials", 50, "--out", "disk/a")
    assert ran.returncode == 3, ran.stderr
    assert "the disk is full: free some space" in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr
    kept = rows_of(small_disk / "a")
    assert kept
    full = ulpfuzz("resume", "disk/a")
    assert full.returncode == 3, full.stderr
    assert full.stderr.splitlines()[-1].startswith("ulpfuzz: ")
    assert "Traceback" not in full.stderr
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    ulpfuzz.ok("resume", "disk/a")
    same(small_disk / "a", ulpfuzz.folder / "peace")
    complete = rows_of(small_disk / "a")
    assert not differing(kept, {key: complete[key] for key in kept})


def test_a_read_only_directory(ulpfuzz: Cli, small_disk: Path) -> None:
    ulpfuzz.ok(*SUM, "--trials", 20, "--shard-trials", 10, "--out", "disk/a")
    (small_disk / "a" / "parts" / "00000001.parquet").unlink()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    ran = ulpfuzz("resume", "disk/a")
    assert ran.returncode == 3
    assert ran.stderr == (
        "ulpfuzz: disk/a/lock cannot be written (Read-only file system): mend it, then run `ulpfuzz resume disk/a`; "
        "finished shards are kept\n"
    )
    assert ulpfuzz.ok("report", "disk/a").stdout
    created = ulpfuzz(*SUM, "--out", "disk/b")
    assert created.returncode == 2
    assert created.stderr == "ulpfuzz: cannot write disk/b: Read-only file system: choose another --out\n"


def test_a_directory_that_vanishes(ulpfuzz: Cli, tmp_path: Path) -> None:
    process = ulpfuzz.start(*SUM, "--trials", 100000, "--shard-trials", 50, "--out", "a")
    wait_for(lambda: list((tmp_path / "a" / "parts").glob("*.parquet")))
    os.rename(tmp_path / "a", tmp_path / "hidden")
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 3, messages
    assert messages.splitlines()[-1].startswith(("ulpfuzz: a/", "ulpfuzz: a has vanished: put it back"))
    assert "Traceback" not in messages
    wait_for(lambda: not in_session(process.pid))


def test_the_command_starts_without_heavy_libraries(tmp_path: Path) -> None:
    code = (
        "import sys, fuzz.cli; print([m for m in ('numpy', 'torch', 'scipy', 'duckdb', 'pyarrow') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
