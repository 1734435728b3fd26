"""A small shared page that says what a worker is doing. It outlives the worker: the supervisor reads it afterwards."""

from __future__ import annotations

import mmap
import struct
import time
from pathlib import Path

from msgspec import Struct

from fuzz.execution import CAMPAIGN, COMPILE, LADDER, RUN

_LAYOUT = struct.Struct("<qqiiid")
_STAGES = ("", COMPILE, RUN)
_PURPOSES = (CAMPAIGN, LADDER)
_NOWHERE = -1
_STOP = 64
"""Where the supervisor's wish lies: one byte, on a cache line of its own."""


class Place(Struct, frozen=True):
    """Position of the trial in its shard, target number, stage ("" between calls), purpose, start (monotonic s)."""

    position: int
    index: int
    target: int
    stage: str
    purpose: str
    since: float


class SharedBreadcrumb:
    """Written by the worker before each foreign call (about 1 us), read by the supervisor.

    One byte goes the other way: whether the worker is to stop after the trial it is on.
    """

    def __init__(self, path: Path, create: bool) -> None:
        if create:
            path.write_bytes(b"\0" * mmap.PAGESIZE)
        self._file = path.open("r+b")
        self._page = mmap.mmap(self._file.fileno(), mmap.PAGESIZE)
        self._position = 0
        if create:
            self.clear()

    def enter(self, position: int) -> None:
        """A new trial begins."""
        self._position = position
        self.clear()

    def mark(self, index: int, target: int, stage: str, purpose: str) -> None:
        """A foreign call begins."""
        code, why = _STAGES.index(stage), _PURPOSES.index(purpose)
        _LAYOUT.pack_into(self._page, 0, self._position, index, target, code, why, time.monotonic())

    def clear(self) -> None:
        """No foreign call is running."""
        _LAYOUT.pack_into(self._page, 0, self._position, 0, _NOWHERE, 0, 0, time.monotonic())

    def read(self) -> Place:
        """What the worker is doing, or was doing when it died."""
        position, index, target, stage, purpose, since = _LAYOUT.unpack_from(self._page, 0)
        return Place(position, index, target, _STAGES[stage], _PURPOSES[purpose], since)

    def ask_to_stop(self, wish: bool = True) -> None:
        """Of the supervisor: hand over what is there after the present trial, or take that wish back."""
        self._page[_STOP] = wish

    def stopping(self) -> bool:
        """Of the worker: whether no further trial is to begin."""
        return self._page[_STOP] != 0

    def close(self) -> None:
        self._page.close()
        self._file.close()
