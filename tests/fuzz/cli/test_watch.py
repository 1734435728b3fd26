"""Watching a campaign from outside: running, ended, silent, of an older version, foreign."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from recorder_rows import MIXED, row
from running import TINY, Cli, wait_for

from fuzz.campaigns.lock import LOCK, Lock
from fuzz.campaigns.log import LOG, Log, elapsed, read
from fuzz.campaigns.recorder import Recorder
from fuzz.cli import watch as module
from fuzz.cli.watch import look, watch
from results.errors import ResultsError, StoreError
from results.store import Store

SCRIPT = "import sys, pathlib, fuzz.cli.watch; sys.exit(fuzz.cli.watch.watch(pathlib.Path(sys.argv[1]), False))"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    manifest = {"format": "ulpfuzz campaign", "plan": "fixed", "trials": 10, "targets": ["a", "b"], "cells": [{}]}
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "campaign.json").write_text(json.dumps(manifest))
    return tmp_path / "c"


def recorder(directory: Path, **options: Any) -> Recorder:
    defaults: dict[str, Any] = {"title": "sum", "plan": "fixed", "targets": ["a", "b"], "one_rate": True}
    return Recorder(directory=directory, before=elapsed(directory), log=Log(directory), **(defaults | options))


def logged(recording: Recorder) -> None:
    """Log a snapshot now."""
    recording._due = 0.0
    recording.tick()


def silent_for(directory: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(directory / LOG, (then, then))


def test_a_running_campaign(directory: Path) -> None:
    recording = recorder(directory)
    recording.start(10, 0)
    recording.advance(3, MIXED)
    logged(recording)
    sight = look(directory)
    assert (sight.note, sight.over, sight.snapshot.done, sight.snapshot.ended) == ("", False, 3, "")
    assert sight.snapshot.targets == recording.snapshot().targets
    silent_for(directory, 20)
    later = look(directory).snapshot
    assert later.elapsed is not None
    assert 19 < later.elapsed < 25


def test_an_ended_campaign(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = recorder(directory)
    recording.start(10, 0)
    recording.advance(10, [row(0)])
    recording.stop()
    assert watch(directory, once=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("sum (fixed plan), ran for ")
    assert lines[1] == "10 of 10 trials, ended: done"
    assert not any("resume" in line for line in lines)


def test_an_interrupted_campaign_says_how_to_go_on_and_runs_again(directory: Path) -> None:
    recording = recorder(directory)
    recording.start(10, 0)
    recording.advance(3, [])
    recording.stop("interrupted")
    silent_for(directory, 9999)
    sight = look(directory)
    assert (sight.snapshot.ended, sight.over) == ("interrupted", True)
    assert sight.note == f"`ulpfuzz resume {directory}` goes on"
    recorder(directory).start(10, 3)
    again = look(directory)
    assert (again.snapshot.ended, again.over, again.snapshot.done) == ("", False, 3)


def test_a_decision_is_an_end(directory: Path) -> None:
    recording = recorder(directory)
    recording.start(None, 0)
    recording.stop("decided")
    assert look(directory).note == ""


def test_a_silent_campaign(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = recorder(directory)
    recording.start(10, 0)
    logged(recording)
    silent_for(directory, 185)
    assert watch(directory, once=True) == 0
    assert f"last sign of life 3 min 05 s ago; `ulpfuzz resume {directory}` goes on" in capsys.readouterr().out
    assert not look(directory).over


def test_a_campaign_without_a_log_shows_its_rows(directory: Path) -> None:
    empty = look(directory)
    assert (empty.snapshot.done, empty.over) == (0, True)
    assert empty.note == f"no log; `ulpfuzz resume {directory}` goes on"
    Store(directory).commit(0, MIXED)
    lock = Lock(directory)
    lock.acquire()
    sight = look(directory)
    assert (sight.over, sight.note) == (False, "no log yet: counts from the trials on disk")
    assert sight.snapshot.done == 5
    assert [of.trials for of in sight.snapshot.targets] == [2, 1, 2]
    assert sight.snapshot.findings_total == 4
    lock.release()
    Store(directory).commit(1, [row(trial) for trial in range(5, 10)])
    done = look(directory)
    assert (done.snapshot.ended, done.note, done.over) == ("done", "", True)


def test_the_lock_tells_whether_the_writer_lives(directory: Path) -> None:
    lock = Lock(directory)
    lock.acquire()
    recording = recorder(directory)
    recording.start(10, 0)
    logged(recording)
    silent_for(directory, 500)  # a full disk: the log stands still, the heartbeat goes on
    assert look(directory).note == ""
    killed = json.loads((directory / LOCK).read_text()) | {"pid": _gone()}
    (directory / LOCK).write_text(json.dumps(killed))
    silent_for(directory, 0)
    assert look(directory).note.startswith("last sign of life 0 s ago")
    lock.release()  # without a last line in the log
    sight = look(directory)
    assert (sight.snapshot.ended, sight.over) == ("stopped", True)


def test_a_run_that_begins_again_is_waited_for(directory: Path) -> None:
    recording = recorder(directory)
    recording.start(10, 0)
    recording.stop("interrupted")
    silent_for(directory, 5)
    lock = Lock(directory)
    lock.acquire()  # the new run loads its libraries and has not logged anything
    assert not look(directory).over
    lock.release()
    assert look(directory).over


def _gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_log_that_has_just_begun_shows_the_rows(directory: Path) -> None:
    Store(directory).commit(0, MIXED)
    recorder(directory).start(10, 5)
    sight = look(directory)
    assert (sight.snapshot.done, sight.over, sight.note) == (5, False, "")


def test_snapshots_of_a_later_version_are_passed_over(directory: Path) -> None:
    Store(directory).commit(0, MIXED)
    Log(directory).write("snapshot", 5.0, {"done": "unreadable"})
    assert look(directory).snapshot.done == 5


def test_directories_that_are_no_campaign(tmp_path: Path, directory: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ResultsError) as raised:
            watch(path, once=True)
        assert raised.value.exit_code == 2
        assert "\n" not in str(raised.value)
    (directory / "campaign.json").rename(directory / "gone")
    with pytest.raises(StoreError, match="has vanished"):
        look(directory)


def test_damaged_rows_are_no_silent_zero(directory: Path) -> None:
    Store(directory).commit(0, MIXED)
    (part,) = (directory / "parts").iterdir()
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(StoreError):
        look(directory)


def test_piped_lines_end_with_the_campaign(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PLAIN_SECONDS", 0.05)
    recording = recorder(directory)
    recording.start(10, 0)
    logged(recording)

    def finish() -> None:
        time.sleep(0.3)
        recording.advance(10, MIXED)
        recording.stop()

    finishing = threading.Thread(target=finish)
    finishing.start()
    assert watch(directory, once=False) == 0
    finishing.join()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("0/10 trials, starting workers")
    assert "10 of 10 trials, ended: done" in lines
    assert any(line.startswith("Findings so far (4)") for line in lines)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_is_quiet_and_leaves_the_terminal_as_it_was(directory: Path, number: int, code: int) -> None:
    recording = recorder(directory)
    recording.start(10, 0)
    logged(recording)
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(directory)],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
    )
    os.close(terminal)
    seen = bytearray()

    def shown(what: bytes) -> bool:
        with contextlib.suppress(OSError):
            seen.extend(os.read(main, 65536))
        return what in seen

    wait_for(lambda: shown(b"sum (fixed plan), running for"))
    process.send_signal(number)
    wait_for(lambda: shown(b"\x1b[?1049l"))
    os.close(main)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert errors == b""
    assert seen.count(b"\x1b[?1049h") == seen.count(b"\x1b[?1049l") == 1
    assert seen.count(b"\x1b[?25l") == seen.count(b"\x1b[?25h")


def test_a_campaign_is_killed_watched_resumed_and_watched(ulpfuzz: Cli) -> None:
    campaign = ulpfuzz.folder / "c"
    process = ulpfuzz.start("run", *TINY, "--trials", 3000, "--shard-trials", 100, "--out", "c")
    wait_for(lambda: any(entry["event"] == "shard" for entry in read(campaign)))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = elapsed(campaign)
    killed = ulpfuzz.ok("watch", "c", "--once").stdout.splitlines()
    assert killed[-1].endswith("ago; `ulpfuzz resume c` goes on")
    assert "ended: no sign of life" in killed[1]
    ulpfuzz.ok("resume", "c")
    assert elapsed(campaign) > before > 0
    events = [entry["event"] for entry in read(campaign)]
    assert [event for event in events if event in ("start", "stop")] == ["start", "start", "stop"]
    watched = ulpfuzz.ok("watch", "c")
    assert watched.returncode == 0
    lines = watched.stdout.splitlines()
    assert lines[1] == "3,000 of 3,000 trials, ended: done"
    assert any(line.split()[:2] == ["numpy:cpu", "3,000"] for line in lines)
    for foreign in (".", "nowhere"):
        refused = ulpfuzz("watch", foreign)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
