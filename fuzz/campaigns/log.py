"""DIR/log.jsonl: what happened in a campaign and when, one JSON object a line, and the running time it took.

    {"time": "2026-11-30T11:40:02Z", "event": "shard", "elapsed": 12.3, ...facts}

`time` is UTC, `elapsed` the running time of all runs of the campaign up to then, in seconds. The log is for people and
for `ulpfuzz watch`; rows do not depend on it, so what goes wrong in writing it never ends a campaign. A line is handed
to the system in one piece: a killed process leaves at most a torn last line, which readers skip.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fuzz.campaigns.snapshot import Snapshot

LOG = "log.jsonl"
MOST_BYTES = 4_000_000
"""Beyond that the log is thinned to half. A week of snapshots every 10 s would have 100 MB."""
FREQUENT = frozenset({"snapshot", "shard"})
"""Kinds of lines of which older ones may go: each is the state of a moment."""
KEPT = frozenset({"start", "stop"})
"""Kinds of lines that stay whatever else there is."""
_TAIL_BYTES = 1_000_000
_TEMPORARY = ".part"


class Log:
    """Appends to the log of the campaign in `directory`. One writer at a time: the engine holds the lock."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / LOG
        self.lost = 0
        """Lines that could not be written, for want of space or of the directory; the next that can says how many."""
        self._mended = False

    def write(self, event: str, elapsed: float, facts: Mapping[str, Any]) -> None:
        """Append one line. Never raises an OSError."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "event": event,
            "elapsed": round(elapsed, 2),
        }
        if self.lost:
            line["lines_lost"] = self.lost
        text = json.dumps(_plain(line | dict(facts) | line), separators=(",", ":"))
        try:
            size = self._append(text.encode() + b"\n")
        except OSError:
            self.lost += 1
            self._mended = False
            return
        self.lost = 0
        if size > MOST_BYTES:
            with contextlib.suppress(OSError):
                _thin(self.path)

    def _append(self, line: bytes) -> int:
        """Write the line, behind a line break where the last one was torn; the size of the log."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            if not self._mended and size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise OSError("the disk took a part of the line")
        finally:
            os.close(descriptor)
        self._mended = True
        return size + len(line)


def read(directory: Path) -> list[dict[str, Any]]:
    """All lines that can be read, the oldest first; none where the campaign has no log."""
    try:
        with (directory / LOG).open("rb") as file:
            content = file.read(4 * MOST_BYTES)
    except OSError:
        return []
    return [entry for line in content.splitlines() if (entry := _entry(line)) is not None]


def latest(directory: Path) -> Iterator[dict[str, Any]]:
    """The last lines that can be read, the newest first. The oldest of a long log are left out."""
    try:
        with (directory / LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).splitlines()
    except OSError:
        return
    for line in reversed(lines):
        if (entry := _entry(line)) is not None:
            yield entry


def elapsed(directory: Path) -> float:
    """Running time of all runs of the campaign so far, in seconds; 0 where it has no log.

    After a kill -9 up to a snapshot's interval is missing.
    """
    return next((float(entry["elapsed"]) for entry in latest(directory)), 0.0)


def snapshot_of(entry: Mapping[str, Any]) -> Snapshot | None:
    """The snapshot in a line; None where it holds none that this version can read."""
    if entry["event"] != "snapshot":
        return None
    try:
        return msgspec.convert(dict(entry), Snapshot)
    except msgspec.ValidationError:
        return None


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(entry, dict) and isinstance(entry.get("event"), str) and isinstance(entry.get("time"), str)
    elapsed = entry.get("elapsed") if whole else None
    return entry if isinstance(elapsed, int | float) and math.isfinite(elapsed) else None


def _plain(value: Any) -> Any:
    """`value` as JSON has it: numbers that are not finite as text, what is no JSON value as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)


def _thin(path: Path) -> None:
    """Halve the log: of frequent lines every second goes, as often as it takes; the older they are the fewer are left.

    Where that is not enough, the oldest lines go, apart from starts and stops.
    """
    lines = [(entry, line) for line in path.read_bytes().splitlines() if (entry := _entry(line)) is not None]
    wanted = MOST_BYTES // 2
    while _size(lines) > wanted:
        frequent = [number for number, (entry, _) in enumerate(lines[:-1]) if entry["event"] in FREQUENT]
        dropped = set(frequent[::2])
        if not dropped:
            break
        lines = [line for number, line in enumerate(lines) if number not in dropped]
    excess = _size(lines) - wanted
    kept = []
    for entry, line in lines:
        if excess > 0 and entry["event"] not in KEPT:
            excess -= len(line) + 1
        else:
            kept.append(line)
    temporary = path.with_suffix(_TEMPORARY)
    try:
        temporary.write_bytes(b"".join(line + b"\n" for line in kept))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _size(lines: list[tuple[dict[str, Any], bytes]]) -> int:
    return sum(len(line) + 1 for _, line in lines)
