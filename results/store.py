"""The Parquet side of a campaign directory. A part that exists is the record that its shard is done.

    DIR/parts/00000000.parquet      the rows of shard 0
    DIR/elements/00000000.parquet   sampled elements of shard 0, written before the part

Every file is written under a temporary name, flushed to the disk and renamed; the directory is flushed after it. A
process killed at any moment leaves either the whole shard or nothing that is read. An interrupted campaign commits the
leading trials of a shard as a partial part; the whole shard replaces it later under the same name. A kill between the
two files then leaves elements of trials that the part lacks: they are hidden from every reader.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from results.arrow import AnyRow, arrow_schema, to_lists
from results.columns import COLUMNS, ELEMENT_COLUMNS, Cell, Column
from results.errors import StoreError
from results.parts import PartFacts, encode, facts, verify

_TEMPORARY = ".tmp"

_TRIAL = ("problem_id", "index")
"""Columns that name a trial within a campaign."""

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
        """Numbers of the shards that are there whole. StoreError for a part without a readable footer."""
        return {shard for part in self.part_facts() if part.done is None for shard in part.shards}

    def partial(self) -> dict[int, int]:
        """Leading trials contained, by the number of each shard that is there in part. StoreError as for `done`."""
        return {part.shards[0]: part.done for part in self.part_facts() if part.done is not None}

    def read(self, shard: int) -> tuple[list[list[Cell]], list[list[Cell]]]:
        """Rows in the order of COLUMNS and elements in that of ELEMENT_COLUMNS, of a shard that has its own part.

        Cells are as they were committed, elements those of trials that the part contains. StoreError for a damaged
        or missing file.
        """
        part = verify(self.parts / shard_name(shard))
        verify(self.elements / part.path.name)
        return to_lists(self.part_table(part)), to_lists(self.element_table(part))

    def part_table(self, part: PartFacts) -> pa.Table:
        """The rows of a part with the columns of COLUMNS."""
        return _table(part.path, COLUMNS)

    def element_table(self, part: PartFacts) -> pa.Table:
        """The elements of a part with the columns of ELEMENT_COLUMNS, without those of trials that it lacks."""
        path = self.elements / part.path.name
        elements = _table(path, ELEMENT_COLUMNS)
        if facts(path).done == part.done:
            return elements
        trials = pq.read_table(part.path, columns=list(_TRIAL), partitioning=None)
        known = set(zip(*(trials.column(name).to_pylist() for name in _TRIAL), strict=True))
        found = zip(*(elements.column(name).to_pylist() for name in _TRIAL), strict=True)
        return elements.filter(pa.array([trial in known for trial in found], pa.bool_()))

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

    def commit(
        self, shard: int, rows: Sequence[AnyRow], elements: Sequence[AnyRow] = (), done: int | None = None
    ) -> None:
        """Write a shard: its elements, then its part. After this returns it survives a power cut.

        `done` is the number of its leading trials that `rows` hold, None when they hold all. What is there of the
        shard is replaced, unless it holds more trials.
        Rows are mappings by column name, or sequences in the order of COLUMNS (ELEMENT_COLUMNS for `elements`).
        Raises StoreError, in one line, when the disk is full, read-only or gone; the shard is then as it was.
        """
        name = shard_name(shard)
        if done is not None and (self.parts / name).exists():
            there = facts(self.parts / name).done
            if there is None or there > done:
                return
        _write(self.elements / name, encode(elements, ELEMENT_COLUMNS, [shard], done=done))
        _write(self.parts / name, encode(rows, COLUMNS, [shard], done=done))

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


def shard_name(shard: int) -> str:
    """File name of the part, and of the elements, of one shard."""
    return f"{shard:08d}.parquet"


def _table(path: Path, columns: Sequence[Column]) -> pa.Table:
    """The rows of one file; a column that it lacks is null."""
    return ds.dataset(str(path), schema=arrow_schema(columns), format="parquet").to_table()


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
