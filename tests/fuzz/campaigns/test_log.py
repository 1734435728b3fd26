"""log.jsonl: torn lines, full disks, its size, and the running time it remembers."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from fuzz.campaigns import log
from fuzz.campaigns.log import LOG, Log, elapsed, latest, read, snapshot_of
from fuzz.campaigns.recorder import Recorder


def test_lines_carry_utc_time_event_and_running_time(tmp_path: Path) -> None:
    Log(tmp_path).write("worker_died", 1.23456, {"cause": "SIGSEGV", "event": "x", "rho": math.inf, "at": tmp_path})
    (entry,) = read(tmp_path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry.pop("time"))
    wanted = {"event": "worker_died", "elapsed": 1.23, "cause": "SIGSEGV", "rho": "inf", "at": str(tmp_path)}
    assert entry == wanted


def test_a_torn_last_line_is_skipped_and_mended(tmp_path: Path) -> None:
    Log(tmp_path).write("start", 0.0, {})
    with (tmp_path / LOG).open("a") as file:
        file.write('{"time":"2026-11-30T11:40:02Z","event":"snap')
    assert [entry["event"] for entry in read(tmp_path)] == ["start"]
    assert elapsed(tmp_path) == 0.0
    Log(tmp_path).write("start", 7.0, {})
    assert [entry["event"] for entry in read(tmp_path)] == ["start", "start"]
    assert elapsed(tmp_path) == 7.0


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\n", b"[1]\n5\nnull\n", b'{"event": 3}\n', b"{}\n"])
def test_foreign_lines_are_skipped(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOG).write_bytes(content)
    assert read(tmp_path) == list(latest(tmp_path)) == []
    assert elapsed(tmp_path) == 0.0


def test_without_a_log_nothing_has_run(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere") == []
    assert elapsed(tmp_path / "nowhere") == 0.0


def test_a_full_disk_loses_lines_and_says_how_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Log(tmp_path)
    written.write("start", 0.0, {})

    def half(descriptor: int, line: bytes) -> int:
        real(descriptor, line[: len(line) // 2])
        raise OSError(28, "No space left on device")

    real = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", half)
        written.write("shard", 1.0, {})
        written.write("shard", 2.0, {})
    written.write("shard", 3.0, {})
    written.write("shard", 4.0, {})
    assert [(entry["elapsed"], entry.get("lines_lost")) for entry in read(tmp_path)] == [(0, None), (3, 2), (4, None)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_device_that_is_always_full(tmp_path: Path) -> None:
    (tmp_path / LOG).symlink_to("/dev/full")
    written = Log(tmp_path)
    written.write("start", 0.0, {})
    written.write("stop", 0.0, {})
    assert written.lost == 2
    assert read(tmp_path) == list(latest(tmp_path)) == []


def test_a_vanished_directory_ends_nothing(tmp_path: Path) -> None:
    written = Log(tmp_path / "gone")
    written.write("start", 0.0, {})
    assert written.lost == 1
    (tmp_path / "gone").mkdir()
    written.write("stop", 1.0, {})
    assert read(tmp_path / "gone")[0]["lines_lost"] == 1


def test_a_long_log_stays_small_and_keeps_what_is_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST_BYTES", 20_000)
    written = Log(tmp_path)
    largest = 0
    for number in range(2000):
        written.write("snapshot", number, {"padding": "x" * 50})
        if number % 200 == 0:
            written.write("worker_died", number, {"number": number})
        largest = max(largest, (tmp_path / LOG).stat().st_size)
    assert largest <= 20_200
    entries = read(tmp_path)
    assert [entry["number"] for entry in entries if entry["event"] == "worker_died"] == list(range(0, 2000, 200))
    times = [entry["elapsed"] for entry in entries]
    assert times == sorted(times)
    assert times[-1] == 1999
    halves = [sum(1 for t in times if low <= t < low + 1000) for low in (0, 1000)]
    assert 0 < halves[0] < halves[1]
    assert [path.name for path in tmp_path.iterdir()] == [LOG]


def test_rare_lines_go_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST_BYTES", 5000)
    written = Log(tmp_path)
    written.write("start", 0.0, {})
    for number in range(500):
        written.write("worker_died", number, {})
    entries = read(tmp_path)
    assert (tmp_path / LOG).stat().st_size <= 5100
    assert entries[0]["event"] == "start"
    assert entries[-1]["elapsed"] == 499


def test_a_killed_writer_leaves_whole_lines(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from fuzz.campaigns.log import Log; import sys, itertools\n"
        "log = Log(Path(sys.argv[1]))\n"
        "for n in itertools.count(): log.write('shard', n, {'padding': 'x' * 3000}); n or print(flush=True)"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    lines = (tmp_path / LOG).read_bytes().split(b"\n")
    assert all(json.loads(line) for line in lines[:-1])
    assert [entry["elapsed"] for entry in read(tmp_path)] == list(range(len(lines) - 1))


def test_running_time_adds_up_over_runs(tmp_path: Path) -> None:
    now = [0.0]
    for run in range(3):
        before = elapsed(tmp_path)
        assert before == 100.0 * run
        recorder = _recorder(tmp_path, before, lambda: now[0])
        recorder.start(10, 0)
        now[0] += 100.0
        if run == 1:
            recorder.tick()  # killed behind it
        else:
            recorder.stop("interrupted")
        now[0] += 5000.0


def test_the_last_snapshot_is_read_back(tmp_path: Path) -> None:
    recorder = _recorder(tmp_path, 0.0, lambda: 0.0)
    recorder.start(10, 0)
    recorder.stop("done")
    (found,) = [snapshot for entry in latest(tmp_path) if (snapshot := snapshot_of(entry))]
    assert structs.replace(found, free_bytes=None) == structs.replace(recorder.snapshot(), free_bytes=None)
    assert snapshot_of({"event": "snapshot", "done": "what a later version writes"}) is None


def _recorder(directory: Path, before: float, clock: Any) -> Recorder:
    return Recorder(
        title="t", directory=directory, plan="fixed", targets=["a"], before=before, log=Log(directory), clock=clock
    )
