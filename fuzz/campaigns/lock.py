"""The lock of a campaign directory: one writer at a time, across machines too, and everybody can see who it is.

The file `lock` is locked with flock, which ends with its process. File systems shared between machines may keep flock
to each machine, so the file also says, in JSON, which process on which host writes and when it was last known to live.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fuzz.errors import StorageError, UserError
from results.manifest import resume_command

LOCK = "lock"
HEARTBEAT_SECONDS = 10.0
"""Between two signs of life."""
ALIVE_SECONDS = 60.0
"""A writer on another host whose last sign of life is younger is taken to be alive: several were to be missed."""

_SIZE = 512
"""Bytes of the record, padded: it is written at once, in place, and needs no space on a full disk."""
_LEGACY = "process "


class Owner(Struct, frozen=True):
    """Who writes a campaign directory, or wrote it last. Times are seconds since 1970."""

    host: str
    pid: int
    started: float
    heartbeat: float
    released: bool = False
    """Whether it gave the directory back itself; otherwise it lives or was killed."""

    @property
    def silent_seconds(self) -> float:
        """Since its last sign of life, by the clock of this machine; clocks of two hosts may differ."""
        return max(0.0, time.time() - self.heartbeat)

    def __str__(self) -> str:
        where = "" if self.host == socket.gethostname() else f" on {self.host}"
        return f"process {self.pid}{where} since {_clock(self.started)}"


class Lock:
    """The lock of one directory. UserError when another process has it, StorageError when it cannot be written."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.taken_over: Owner | None = None
        """The owner before, where it ended without releasing the directory: it was killed."""
        self._descriptor: int | None = None
        self._owner: Owner | None = None
        self._beaten = 0.0

    def acquire(self) -> None:
        """Become the only writer until `release` or the end of the process."""
        with _writing(self.directory):
            descriptor = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def heartbeat(self) -> None:
        """A sign of life; call it as often as you like, it is written every HEARTBEAT_SECONDS."""
        if self._owner is None or time.monotonic() - self._beaten < HEARTBEAT_SECONDS:
            return
        self._write(structs.replace(self._owner, heartbeat=time.time()))

    def release(self) -> None:
        """Leave the directory to others, and say so in it. Does nothing where it is not held."""
        if self._descriptor is None:
            return
        if self._owner is not None:
            with contextlib.suppress(StorageError):  # the lock ends with the descriptor all the same
                self._write(structs.replace(self._owner, heartbeat=time.time(), released=True))
        os.close(self._descriptor)
        self._descriptor = self._owner = None

    def _take(self, descriptor: int) -> None:
        with _writing(self.directory):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    f"{self.directory} is being written by {_holder(descriptor)}: wait for it, or end it first"
                ) from None
        before = _parse(os.pread(descriptor, _SIZE, 0))
        if before is not None and not before.released:
            if before.host != socket.gethostname() and abs(time.time() - before.heartbeat) < ALIVE_SECONDS:
                raise UserError(
                    f"{self.directory} is being written by {before}, last heard of {before.silent_seconds:.0f} s ago: "
                    f"wait for it, or end it there; a process that was killed is given up after {ALIVE_SECONDS:.0f} s"
                )
            self.taken_over = before
        now = time.time()
        self._descriptor = descriptor
        try:
            self._write(Owner(socket.gethostname(), os.getpid(), now, now))
        except BaseException:
            self._descriptor = self._owner = None
            raise

    def _write(self, owner: Owner) -> None:
        assert self._descriptor is not None
        with _writing(self.directory):
            os.pwrite(self._descriptor, msgspec.json.encode(owner).ljust(_SIZE - 1) + b"\n", 0)
            os.ftruncate(self._descriptor, _SIZE)
        self._owner, self._beaten = owner, time.monotonic()


def read_owner(directory: Path) -> Owner | None:
    """Who writes the campaign in `directory` or wrote it last; None where nobody did, or an older ulpfuzz. Only reads.

    An owner of this host that has not released it but does not live was killed: `alive` tells.
    """
    try:
        return _parse((directory / LOCK).read_bytes())
    except OSError:
        return None


def alive(directory: Path) -> bool:
    """Whether somebody writes the campaign now: a process of this host has the lock, or another host was heard of."""
    owner = read_owner(directory)
    if owner is None or owner.released:
        return False
    if owner.host != socket.gethostname():
        return abs(time.time() - owner.heartbeat) < ALIVE_SECONDS
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def is_record(content: bytes) -> bool:
    """Whether the content of a file `lock` was written by ulpfuzz, this version or an older one."""
    return not content or content.startswith(_LEGACY.encode()) or _parse(content) is not None


def _parse(content: bytes) -> Owner | None:
    try:
        return msgspec.json.decode(content, type=Owner)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _holder(descriptor: int) -> str:
    content = os.pread(descriptor, _SIZE, 0)
    return str(_parse(content) or content.decode("utf-8", "replace").strip() or "another process")


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


@contextlib.contextmanager
def _writing(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{directory / LOCK} cannot be written ({error.strerror or error}): mend it, then run "
            f"{resume_command(directory)}; finished shards are kept"
        ) from error
