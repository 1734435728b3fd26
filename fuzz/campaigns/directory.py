"""A campaign directory: who may write it, what describes it. Rows are the business of results.store."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fuzz.campaigns.lock import LOCK, Lock, Owner, is_record
from fuzz.campaigns.manifest import Manifest, manifest_from_plain
from fuzz.errors import StorageError, UserError
from results.columns import SCHEMA_VERSION
from results.manifest import ENVIRONMENTS, FORMAT, KNOWN, MANIFEST, resume_command

_PART = ".part"
_BEGUN = {LOCK, "tmp", "extensions", "given", KNOWN, Path(MANIFEST).with_suffix(_PART).name}
"""What exists before campaign.json: a folder with the lock and nothing else but these was never completed."""


class CampaignDirectory:
    """A folder of campaign.json, environments.json, problems/, parts/, elements/, given/, extensions/, tmp/, lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock(path)

    @property
    def manifest_path(self) -> Path:
        return self.path / MANIFEST

    def create(self) -> None:
        """Make the folder and lock it. UserError when it cannot be written, holds something else, or is a campaign.

        What a run left that was killed before it had written campaign.json is removed.
        """
        try:
            os.fspath(self.path).encode()
        except UnicodeEncodeError:  # no report could read it
            raise UserError(f"the name {self.path} is no UTF-8 text: choose another --out") from None
        if self.manifest_path.exists():
            raise UserError(
                f"{self.path} holds a campaign already: {resume_command(self.path)}, or choose another --out"
            )
        try:
            if self.path.exists() and any(self.path.iterdir()) and not self._begun():
                raise UserError(f"{self.path} is not empty and no campaign: choose another --out")
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror or error}: choose another --out") from None
        self.lock()
        with self.unlocked_on_error(), self.writing():
            if self.manifest_path.exists():  # written by another process meanwhile
                raise UserError(f"{self.path} holds a campaign already: choose another --out")
            for name in _BEGUN - {LOCK}:
                _remove(self.path / name)
            (self.path / "tmp").mkdir(exist_ok=True)

    def _begun(self) -> bool:
        """Whether this is what a run leaves that was killed before the campaign was described."""
        names = {entry.name for entry in self.path.iterdir()}
        if LOCK not in names or not names <= _BEGUN:
            return False
        return is_record((self.path / LOCK).read_bytes())

    def read_manifest(self) -> Manifest:
        """campaign.json; UserError when this is no campaign or one of a newer ulpfuzz, StorageError when damaged."""
        if not self.path.exists():
            raise UserError(f"there is no directory {self.path}: give the directory of a campaign")
        if not self.path.is_dir():
            raise UserError(f"{self.path} is a file: give the directory of a campaign")
        try:
            data = json.loads(self.manifest_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(
                f"{self.path} is not a campaign: it has no {MANIFEST}; give a directory that ulpfuzz wrote"
            ) from None
        except (OSError, ValueError) as error:
            raise StorageError(f"cannot read {self.manifest_path}: {error}: restore it from a copy") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise UserError(f"{self.manifest_path} does not describe a campaign of ulpfuzz")
        if isinstance(version := data.get("schema_version"), int) and version > SCHEMA_VERSION:
            raise UserError(
                f"{self.manifest_path} has schema version {version}, this ulpfuzz reads up to {SCHEMA_VERSION}: upgrade"
            )
        try:
            return manifest_from_plain(data)
        except msgspec.ValidationError as error:
            raise StorageError(f"{self.manifest_path} is damaged: {error}: restore it from a copy") from None

    def write_manifest(self, manifest: Manifest) -> None:
        self.write_json(MANIFEST, manifest.plain())

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file whole or not at all. StorageError when the disk does not take it."""
        self.write_bytes(name, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all. StorageError when the disk does not take it."""
        path = self.path / name
        temporary = path.with_suffix(_PART)
        with self.writing():
            if path.parent != self.path:  # one that has vanished is not made anew
                path.parent.mkdir(exist_ok=True)
            try:
                with temporary.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)
                raise

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Turns an OSError of the block into the one line that says what to do."""
        try:
            yield
        except OSError as error:
            where = error.filename or self.path
            raise StorageError(
                f"{where} cannot be written ({error.strerror or error}): mend it, then run "
                f"{resume_command(self.path)}; finished shards are kept"
            ) from error

    def lock(self) -> None:
        """Become the only writer, until `unlock` or the end of the process. UserError names the owner if there is one.

        Afterwards `taken_over` says whose the directory was, if that owner was killed.
        """
        self._lock.acquire()

    @property
    def taken_over(self) -> Owner | None:
        """The writer before, where it ended without giving the directory back."""
        return self._lock.taken_over

    def heartbeat(self) -> None:
        """Tell others that the writer lives. Cheap: call it in every round of a loop. StorageError when it fails."""
        self._lock.heartbeat()

    def unlock(self) -> None:
        """Leave the directory to others. Does nothing where it is not locked."""
        self._lock.release()

    @contextlib.contextmanager
    def unlocked_on_error(self) -> Iterator[None]:
        """An error in the block leaves the directory to others."""
        try:
            yield
        except BaseException:
            self.unlock()
            raise

    def clear_temporary(self) -> None:
        """Remove what dead workers and killed runs left behind."""
        with self.writing():
            shutil.rmtree(self.path / "tmp", ignore_errors=True)
            (self.path / "tmp").mkdir(exist_ok=True)
            for pattern in (f"*{_PART}", f"*/*{_PART}"):
                for stale in self.path.glob(pattern):
                    stale.unlink(missing_ok=True)

    def add_environment(self, identity: str, facts: dict[str, Any]) -> None:
        """Store the environment record once."""
        path = self.path / ENVIRONMENTS
        try:
            known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        except (OSError, ValueError) as error:
            raise StorageError(f"cannot read {path}: {error}: restore it from a copy") from None
        if identity not in known:
            self.write_json(ENVIRONMENTS, known | {identity: facts})

    def add_extensions(self, sources: Sequence[Path]) -> None:
        """Copy extension files into the campaign, each once, in the order in which they are loaded."""
        folder = self.path / "extensions"
        distinct = list(dict.fromkeys(source.resolve() for source in sources))
        with self.writing():
            for number, source in enumerate(distinct):
                folder.mkdir(exist_ok=True)
                shutil.copyfile(source, folder / f"{number:03d}_{source.name}")

    def extensions(self) -> tuple[Path, ...]:
        return tuple(sorted((self.path / "extensions").glob("*.py")))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def default_directory(what: str) -> Path:
    """./ulpfuzz-runs/<what>-<time>, a name that does not exist yet."""
    base = Path("ulpfuzz-runs") / f"{what}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path
