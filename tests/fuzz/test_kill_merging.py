"""kill -9 while a campaign merges its small parts: nothing is lost, nothing comes twice, and it merges in the end.

ULPFUZZ_KILLS sets the number of kills (2 by default), ULPFUZZ_KILL_SEED the moments.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import psutil
import pytest
from running import TINY, Cli, differing, elements_of, in_session, rows_of, wait_for

KILLS = int(os.environ.get("ULPFUZZ_KILLS", "2"))
SEED = int(os.environ.get("ULPFUZZ_KILL_SEED", "0"))
MANY = ("run", *TINY, "--trials", 600, "--shard-trials", 1)


def merging(main: int) -> psutil.Process | None:
    """The process that merges, a child of the campaign's."""
    try:
        children = psutil.Process(main).children()
        return next((child for child in children if "results.compaction" in child.cmdline()), None)
    except psutil.Error:
        return None


@pytest.mark.long
def test_kills_while_parts_are_merged(ulpfuzz: Cli, tmp_path: Path) -> None:
    moments = random.Random(SEED)
    ulpfuzz.ok("run", *TINY, "--trials", 600, "--out", "peace")
    killed = 0
    for attempt in range(20 * KILLS):
        if killed == KILLS:
            break
        begun = (tmp_path / "c" / "campaign.json").exists()
        process = ulpfuzz.start(*(("resume", "c") if begun else (*MANY, "--out", "c")))
        wait_for(lambda p=process: merging(p.pid) or p.poll() is not None, 60)
        time.sleep(moments.uniform(0.0, 1.0))
        child = merging(process.pid)
        if child is None and process.poll() is not None:
            break
        whom = ("main", "group", "merging")[attempt % 3]
        if whom == "main":
            process.kill()
        elif whom == "group":
            os.killpg(process.pid, signal.SIGKILL)
        elif child is not None:
            child.kill()
            time.sleep(0.5)
            process.kill()
        killed += child is not None
        wait_for(lambda p=process: not in_session(p.pid), 10)
        if child is not None:
            wait_for(lambda c=child: not c.is_running() or c.status() == psutil.STATUS_ZOMBIE, 10)
    ulpfuzz.ok("resume", "c")
    assert killed >= min(KILLS, 3)
    assert not differing(rows_of(tmp_path / "c"), rows_of(tmp_path / "peace"))
    assert elements_of(tmp_path / "c") == elements_of(tmp_path / "peace")
    ulpfuzz.ok("compact", "c")
    assert len(list((tmp_path / "c" / "parts").glob("*.parquet"))) <= 3
    assert not [path for path in (tmp_path / "c").rglob("*") if path.suffix in (".tmp", ".part")]
    assert not differing(rows_of(tmp_path / "c"), rows_of(tmp_path / "peace"))


def test_a_merge_that_dies_does_not_end_the_campaign(ulpfuzz: Cli, tmp_path: Path) -> None:
    process = ulpfuzz.start(*MANY, "--out", "c")
    child = wait_for(lambda: merging(process.pid), 60)
    child.kill()
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 0, messages
    assert "not_compacted" in (tmp_path / "c" / "log.jsonl").read_text()
    assert len(rows_of(tmp_path / "c")) == 600
