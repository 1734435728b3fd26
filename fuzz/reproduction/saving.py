"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzz.errors import StorageError
from fuzz.reproduction.script import Text, save_large


def save_beside(text: Text, path: Path) -> None:
    with storing(path):
        save_large(text, path.with_name(text.beside))


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with storing(path):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def storing(path: Path) -> Iterator[None]:
    """An error of the disk as one line."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}: name another file") from None
