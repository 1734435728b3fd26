"""The Parquet side of a campaign directory. A part that exists is the record that its shard is done.

    DIR/parts/00000000.parquet      the rows of shard 0
    DIR/elements/00000000.parquet   sampled elements of shard 0, written before the part

Every file is written under a temporary name, flushed to the disk and renamed; the directory is flushed after it. A
process killed at any moment leaves either the whole shard or nothing that is read.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from results.arrow import AnyRow
from results.columns import COLUMNS, ELEMENT_COLUMNS
from results.errors import StoreError
from results.parts import PartFacts, encode, facts, verify

_TEMPORARY = ".tmp"

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EROFS: "the file system is read-only: make it writable",
    errno.EACCES: "permission denied: make it writable",
    errno.EPERM: "permission denied: make it writable",
    errno.ENOENT: "the directory has vanished: put it back",
}


class Store:
    """Parts and elements of the campaign in `directory`. One writer at a time: the engine holds the lock."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.parts = self.directory / "parts"
        self.elements = self.directory / "elements"

    def done(self) -> set[int]:
        """Numbers of the shards that existing parts cover. StoreError for a part without a readable footer."""
        return {shard for part in self.part_facts() for shard in part.shards}

    def part_facts(self) -> list[PartFacts]:
        """What the footers of the parts to read say, in the order of their names.

        Where a part of a higher generation covers the same shards, the lower one is left out.
        """
        chosen: list[PartFacts] = []
        covered: set[int] = set()
        found = [facts(path) for path in self._files(self.parts)]
        for part in sorted(found, key=lambda part: -part.generation):
            if covered.isdisjoint(part.shards):
                chosen.append(part)
                covered.update(part.shards)
            elif not covered.issuperset(part.shards):
                raise StoreError(f"{part.path} covers some shards that other parts cover too: delete it and resume")
        return sorted(chosen, key=lambda part: part.path.name)

    def commit(self, shard: int, rows: Sequence[AnyRow], elements: Sequence[AnyRow] = ()) -> None:
        """Write a finished shard: its elements, then its part. After this returns it survives a power cut.

        Rows are mappings by column name, or sequences in the order of COLUMNS (ELEMENT_COLUMNS for `elements`).
        Raises StoreError, in one line, when the disk is full, read-only or gone; the shard is then not done.
        """
        name = f"{shard:08d}.parquet"
        _write(self.elements / name, encode(elements, ELEMENT_COLUMNS, [shard]))
        _write(self.parts / name, encode(rows, COLUMNS, [shard]))

    def check(self) -> None:
        """Read every file in full. StoreError names the first that is damaged or missing, and counts the rest."""
        broken: list[StoreError] = []
        for part in self._files(self.parts):
            for path in (part, self.elements / part.name):
                try:
                    verify(path)
                except StoreError as error:
                    broken.append(error)
        if broken:
            more = f" ({len(broken) - 1} more damaged files)" if len(broken) > 1 else ""
            raise StoreError(f"{broken[0]}{more}")

    def clean(self) -> list[Path]:
        """Remove temporary files that an interrupted writer left; returns them. Call it while holding the lock."""
        stale = [path for folder in (self.parts, self.elements) for path in folder.glob("*" + _TEMPORARY)]
        for path in stale:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise _storage_error(path, error) from error
        return stale

    @staticmethod
    def _files(folder: Path) -> list[Path]:
        return sorted(folder.glob("*.parquet"))


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}{_TEMPORARY}")
    try:
        path.parent.mkdir(exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_directory(path.parent)
    except OSError as error:
        raise _storage_error(path, error) from error


def _flush_directory(folder: Path) -> None:
    """Make the rename itself durable. Windows cannot open a directory and does not need it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _storage_error(path: Path, error: OSError) -> StoreError:
    advice = _ADVICE.get(error.errno or 0, f"{error.strerror or error}: mend it")
    campaign = path.parent.parent
    return StoreError(
        f"{path} cannot be written, {advice}, then run `ulpfuzz resume {campaign}`; finished shards are kept"
    )
