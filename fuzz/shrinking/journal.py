"""What was seen of each candidate, kept in a file: a search that was killed asks nothing twice.

The search is a pure function of its first specimen and of the answers, so replaying it on the answers of the file ends
where it was, and what it does from there on is what it would have done undisturbed.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from fuzz.errors import StorageError
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.seen import Seen
from strategies.canonical import canonical

VERSION = "ulpfuzz shrinking 1"
"""Of the search: answers of another one do not belong to this one."""


def digest(specimen: Specimen) -> str:
    """Of all that a candidate is: problem, target, bytes of its inputs."""
    problem, target = specimen.problem, specimen.target
    plain = {
        "operator": problem.operator,
        "attributes": dict(problem.attributes),
        "dims": dict(problem.dims),
        "target": target.spelling(""),
    }
    hashed = xxhash.xxh3_128(canonical(plain).encode())
    for name, values in specimen.arrays.items():
        hashed.update(f"|{name}{values.dtype}{values.shape}".encode())
        hashed.update(values.tobytes())
    return hashed.hexdigest()


class Journal:
    """Answers by digest of the candidate; None as a path keeps them in memory only."""

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self._path = path
        self._answers: dict[str, Seen | None] = {}
        self._descriptor = -1
        if path is not None:
            self._open(path, {"format": VERSION, **about})

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def __getitem__(self, key: str) -> Seen | None:
        return self._answers[key]

    def __len__(self) -> int:
        return len(self._answers)

    def add(self, key: str, seen: Seen | None) -> None:
        """Keep an answer. StorageError where the disk does not take it."""
        self._answers[key] = seen
        if self._descriptor >= 0:
            self._write({"key": key, "seen": None if seen is None else msgspec.to_builtins(seen)})

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """The search is over: its result is the record."""
        self.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _open(self, path: Path, header: dict[str, Any]) -> None:
        lines = _lines(path)
        if lines and lines[0] == json.loads(json.dumps(header)):
            for line in lines[1:]:
                self._answers[line["key"]] = None if line["seen"] is None else msgspec.convert(line["seen"], Seen)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags if self._answers else flags | os.O_TRUNC, 0o644)
        except OSError as error:
            raise _unwritable(path, error) from None
        if self._answers:
            os.write(self._descriptor, b"\n")  # behind a line that a kill has torn
        else:
            self._write(header)

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":"), allow_nan=True) + "\n"
        try:
            if os.write(self._descriptor, text.encode()) != len(text.encode()):
                raise OSError("the disk took a part of the line")
        except OSError as error:
            assert self._path is not None
            raise _unwritable(self._path, error) from None


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of the file; none where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                found.append(entry)
    return found


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be written ({error.strerror or error}): mend it, then run `ulpfuzz shrink` again"
    )
