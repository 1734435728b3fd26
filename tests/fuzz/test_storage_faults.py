"""Full, read-only and vanished disks under what describes a campaign: its JSON files and its lock."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.campaigns import lock as lock_module
from fuzz.campaigns.directory import CampaignDirectory
from fuzz.campaigns.lock import read_owner
from fuzz.errors import StorageError


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB, where this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def place(disk: Path) -> Iterator[CampaignDirectory]:
    """A locked directory on that disk with one JSON file."""
    directory = CampaignDirectory(disk / "c")
    directory.create()
    directory.write_json("environments.json", {"a": {}})
    yield directory
    directory.unlock()


def fill(disk: Path) -> None:
    (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free))


def one_line(error: pytest.ExceptionInfo[StorageError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    assert error.value.exit_code == 3
    return message


def test_a_full_disk_keeps_the_file_that_was_there(disk: Path, place: CampaignDirectory) -> None:
    fill(disk)
    with pytest.raises(StorageError) as caught:
        place.add_environment("b", {"what": "x" * 10_000})
    assert f"run `ulpfuzz resume {place.path}`; finished shards are kept" in one_line(caught)
    assert json.loads((place.path / "environments.json").read_text()) == {"a": {}}
    assert not list(place.path.glob("*.part"))
    (disk / "ballast").unlink()
    place.add_environment("b", {})
    assert json.loads((place.path / "environments.json").read_text()) == {"a": {}, "b": {}}


def test_signs_of_life_need_no_space(disk: Path, place: CampaignDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_module, "HEARTBEAT_SECONDS", 0.0)
    fill(disk)
    before = read_owner(place.path)
    place.heartbeat()
    after = read_owner(place.path)
    assert before is not None
    assert after is not None
    assert after.heartbeat > before.heartbeat
    place.unlock()
    released = read_owner(place.path)
    assert released is not None
    assert released.released


def test_a_full_disk_refuses_a_new_lock_in_one_line(disk: Path) -> None:
    fill(disk)
    directory = CampaignDirectory(disk)
    with pytest.raises(StorageError) as caught:
        directory.lock()
    assert one_line(caught).startswith(f"{disk / 'lock'} cannot be written (No space left on device): mend it")
    (disk / "ballast").unlink()
    directory.lock()
    directory.unlock()


def test_a_vanished_directory_is_said_and_not_made_anew(place: CampaignDirectory) -> None:
    place.path.rename(place.path.with_name("hidden"))
    with pytest.raises(StorageError) as caught:
        place.write_json("environments.json", {})
    assert "cannot be written (No such file or directory): mend it" in one_line(caught)
    assert not place.path.exists()
    place.path.with_name("hidden").rename(place.path)
    assert json.loads((place.path / "environments.json").read_text()) == {"a": {}}


def test_a_read_only_disk_refuses_files_and_lock(disk: Path, place: CampaignDirectory) -> None:
    place.unlock()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    with pytest.raises(StorageError) as caught:
        place.lock()
    assert one_line(caught).startswith(f"{place.path / 'lock'} cannot be written (Read-only file system): mend it")
    with pytest.raises(StorageError) as writing:
        place.write_json("environments.json", {})
    assert "(Read-only file system)" in one_line(writing)
    assert read_owner(place.path) is not None
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    place.lock()
    place.write_json("environments.json", {"c": {}})
