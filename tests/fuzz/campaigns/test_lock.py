"""The lock of a campaign directory: who has it, who had it, and who may take it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import fuzz
from fuzz.campaigns import lock as module
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.campaigns.lock import ALIVE_SECONDS, LOCK, Lock, alive, read_owner
from fuzz.errors import StorageError, UserError

HOLDER = """
import sys, time
from pathlib import Path
from fuzz.campaigns.lock import Lock
lock = Lock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


def holder(directory: Path) -> subprocess.Popen[str]:
    """Another process that has the lock."""
    environment = os.environ | {"PYTHONPATH": str(Path(fuzz.__file__).parent.parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def foreign(directory: Path, silent: float, **changes: Any) -> None:
    """The record of a writer on another machine whose flock is not seen here."""
    now = time.time() - silent
    record = {"host": "elsewhere", "pid": 17, "started": now - 100, "heartbeat": now, "released": False}
    (directory / LOCK).write_text(json.dumps(record | changes))


def test_the_record_says_who_writes(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    before = time.time()
    lock.acquire()
    record = json.loads((tmp_path / LOCK).read_text())
    assert record.pop("started") == record.pop("heartbeat") >= before
    assert record == {"host": socket.gethostname(), "pid": os.getpid(), "released": False}
    assert alive(tmp_path)
    assert lock.taken_over is None


def test_a_second_writer_is_told_who_and_since_when(tmp_path: Path) -> None:
    process = holder(tmp_path)
    with pytest.raises(UserError) as caught:
        Lock(tmp_path).acquire()
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime())[:-3]
    assert str(caught.value).startswith(f"{tmp_path} is being written by process {process.pid} since {since}")
    assert str(caught.value).endswith(": wait for it, or end it first")
    process.kill()
    process.wait()


def test_the_lock_of_a_killed_writer_is_taken_over_and_said(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not alive(tmp_path)
    directory = CampaignDirectory(tmp_path)
    directory.lock()
    assert directory.taken_over is not None
    assert directory.taken_over.pid == process.pid
    directory.unlock()


def test_a_released_lock_was_nobodys(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    first.acquire()
    first.release()
    owner = read_owner(tmp_path)
    assert owner is not None
    assert owner.released
    assert not alive(tmp_path)
    second = Lock(tmp_path)
    second.acquire()
    assert second.taken_over is None
    second.release()
    second.release()


def test_a_living_writer_on_another_host_is_respected(tmp_path: Path) -> None:
    foreign(tmp_path, 20)
    before = (tmp_path / LOCK).read_bytes()
    assert alive(tmp_path)
    with pytest.raises(UserError, match=r"is being written by process 17 on elsewhere since 20.*heard of 20 s ago"):
        Lock(tmp_path).acquire()
    assert (tmp_path / LOCK).read_bytes() == before


@pytest.mark.parametrize(("silent", "released"), [(ALIVE_SECONDS + 1, False), (5, True)])
def test_a_silent_or_finished_writer_on_another_host_is_followed(tmp_path: Path, silent: float, released: bool) -> None:
    foreign(tmp_path, silent, released=released)
    assert not alive(tmp_path)
    lock = Lock(tmp_path)
    lock.acquire()
    assert (lock.taken_over is None) == released
    lock.release()


def test_the_heartbeat_is_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = Lock(tmp_path)
    lock.heartbeat()
    lock.acquire()
    started = json.loads((tmp_path / LOCK).read_text())
    lock.heartbeat()
    assert json.loads((tmp_path / LOCK).read_text()) == started
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.0)
    time.sleep(0.002)
    lock.heartbeat()
    beaten = json.loads((tmp_path / LOCK).read_text())
    assert beaten["heartbeat"] > started["heartbeat"]
    assert beaten | {"heartbeat": 0} == started | {"heartbeat": 0}
    lock.release()


def test_a_heartbeat_between_two_signs_of_life_costs_nothing(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    lock.acquire()
    started = time.process_time()
    for _ in range(10_000):
        lock.heartbeat()
    assert time.process_time() - started < 0.2
    lock.release()


def test_a_record_is_read_whole_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.0)
    lock = Lock(tmp_path)
    lock.acquire()
    sizes = set()
    for _ in range(200):
        lock.heartbeat()
        assert read_owner(tmp_path) is not None
        sizes.add((tmp_path / LOCK).stat().st_size)
    lock.release()
    assert len(sizes) == 1


def test_the_lock_of_an_older_ulpfuzz_is_taken(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("process 1 since 2000-01-01 00:00:00" + " " * 600)
    assert read_owner(tmp_path) is None
    lock = Lock(tmp_path)
    lock.acquire()
    assert read_owner(tmp_path) is not None
    lock.release()


def test_a_directory_that_is_gone_has_no_owner_and_no_lock(tmp_path: Path) -> None:
    assert read_owner(tmp_path / "gone") is None
    assert not alive(tmp_path / "gone")
    with pytest.raises(StorageError, match=r"gone.lock cannot be written \(No such file or directory\)"):
        Lock(tmp_path / "gone").acquire()


def test_what_a_run_left_that_never_began_is_removed(tmp_path: Path) -> None:
    """Folders and files: nothing of it becomes part of the next campaign."""
    Lock(tmp_path).acquire()
    (tmp_path / "given").mkdir()
    (tmp_path / "known.toml").write_text("")
    (tmp_path / "campaign.part").write_text("{")
    (tmp_path / LOCK).unlink()
    (tmp_path / LOCK).touch()
    directory = CampaignDirectory(tmp_path)
    directory.create()
    assert sorted(path.name for path in tmp_path.iterdir()) == [LOCK, "tmp"]
    directory.unlock()


def test_a_refused_creation_leaves_the_directory_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = CampaignDirectory(tmp_path)
    answers = iter([False, True])
    monkeypatch.setattr(CampaignDirectory, "manifest_path", property(lambda self: Answer(answers)))
    with pytest.raises(UserError, match="holds a campaign already"):
        directory.create()
    assert not alive(tmp_path)
    Lock(tmp_path).acquire()


class Answer:
    """A path that appears between two looks."""

    def __init__(self, answers: Any) -> None:
        self._answers = answers

    def exists(self) -> bool:
        return bool(next(self._answers))
