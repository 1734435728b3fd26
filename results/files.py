"""Files of a campaign directory: written whole or not at all, and the one line when the disk does not take them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from results.errors import StoreError
from results.manifest import campaign_of, resume_command

TEMPORARY = ".tmp"
"""Ending of a file that is being written."""

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EROFS: "the file system is read-only: make it writable",
    errno.EACCES: "permission denied: make it writable",
    errno.EPERM: "permission denied: make it writable",
    errno.ENOENT: "the directory has vanished: put it back",
}
_RETRY_SECONDS = 0.02


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; the folder is made, its parent is not. StoreError when that fails."""
    with storing(path):
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.write(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The temporary name that the block writes; it is flushed to the disk and takes the place of `path` afterwards.

    Nothing is left of a block that fails. OSError as the system raises it.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # what went wrong first is what to say
            temporary.unlink(missing_ok=True)
        raise
    flush(path.parent)


def flush(path: Path) -> None:
    """Make what was written to a file, or renamed in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turns an OSError of the block into the one line that names `path`, a file in a folder of a campaign."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, f"{error.strerror or error}: mend it")
        raise StoreError(
            f"{path} cannot be written, {advice}, then run {resume_command(campaign_of(path))}; "
            "finished shards are kept"
        ) from error


def hold(folder: Path) -> int | None:
    """Keep a folder's files from being deleted, until the descriptor returned is closed.

    None where the file system has no locks; files may then vanish.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def alone(folder: Path, seconds: float) -> Iterator[bool]:
    """Whether nobody else is with the folder, in `hold` or here, for the block. Waits up to `seconds` for that."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield _exclusive(descriptor, time.monotonic() + seconds)
    finally:
        os.close(descriptor)


def _exclusive(descriptor: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_RETRY_SECONDS)
        except OSError:
            return True
        else:
            return True
