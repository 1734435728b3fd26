"""A campaign directory: who may write it, what describes it. Rows are the business of results.store."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from pathlib import Path
from typing import IO, Any

from fuzz.errors import UserError

FORMAT = "ulpfuzz campaign"
MANIFEST = "campaign.json"


class CampaignDirectory:
    """Folder layout: campaign.json, environments.json, problems/, parts/, elements/, given/, extensions/, tmp/, lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    @property
    def manifest_path(self) -> Path:
        return self.path / MANIFEST

    def create(self) -> None:
        """Make the folder. UserError when it cannot be written, holds something else, or is a campaign already."""
        if self.manifest_path.exists():
            raise UserError(
                f"{self.path} holds a campaign already: `ulpfuzz resume {self.path}`, or choose another --out"
            )
        try:
            if self.path.exists() and any(self.path.iterdir()):
                raise UserError(f"{self.path} is not empty and no campaign: choose another --out")
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / "tmp").mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror or error}: choose another --out") from None

    def read_manifest(self) -> dict[str, Any]:
        """campaign.json; UserError when this is no campaign."""
        try:
            data = json.loads(self.manifest_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(f"{self.path} is not a campaign: it has no {MANIFEST}") from None
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read {self.manifest_path}: {error}") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise UserError(f"{self.manifest_path} does not describe a campaign of ulpfuzz")
        return data

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file whole or not at all."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_suffix(".part")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def lock(self) -> None:
        """Become the only writer, until the process ends. UserError names the owner when there is one."""
        path = self.path / "lock"
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = file.read().strip() or "another process"
            file.close()
            raise UserError(f"{self.path} is being written by {owner}: wait for it, or end it first") from None
        file.truncate(0)
        file.write(f"process {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        file.flush()
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def clear_temporary(self) -> None:
        """Remove what dead workers left behind."""
        shutil.rmtree(self.path / "tmp", ignore_errors=True)
        (self.path / "tmp").mkdir(exist_ok=True)

    def add_environment(self, identity: str, facts: dict[str, Any]) -> None:
        """Store the environment record once."""
        path = self.path / "environments.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if identity not in known:
            self.write_json("environments.json", known | {identity: facts})

    def add_extension(self, source: Path) -> str:
        """Copy an extension file into the campaign; the name it has there."""
        folder = self.path / "extensions"
        folder.mkdir(exist_ok=True)
        name = f"{len(list(folder.glob('*.py'))):02d}_{source.name}"
        shutil.copyfile(source, folder / name)
        return name

    def extensions(self) -> tuple[Path, ...]:
        return tuple(sorted((self.path / "extensions").glob("*.py")))


def default_directory(what: str) -> Path:
    """./ulpfuzz-runs/<what>-<time>, a name that does not exist yet."""
    base = Path("ulpfuzz-runs") / f"{what}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path
