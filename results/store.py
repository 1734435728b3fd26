"""The Parquet side of a campaign directory. A part that exists is the record that its shard is done.

    DIR/parts/00000000.parquet      the rows of shard 0
    DIR/elements/00000000.parquet   sampled elements of shard 0, written before the part

Every file is written under a temporary name, flushed to the disk and renamed; the directory is flushed after it. A
process killed at any moment leaves either the whole shard or nothing that is read. An interrupted campaign commits the
leading trials of a shard as a partial part; the whole shard replaces it later under the same name. A kill between the
two files then leaves elements of trials that the part lacks: they are hidden from every reader.

Compaction merges parts into files of a higher generation and deletes what these replace, unless somebody reads it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from results.arrow import AnyRow, arrow_schema, to_lists, to_table
from results.columns import COLUMNS, ELEMENT_COLUMNS, Cell, Column
from results.errors import DamagedFile, StoreError
from results.files import TEMPORARY, alone, storing, write
from results.parts import PartFacts, damaged, encode, encode_table, facts, verify
from results.summary import LEAST_ROWS, packed, summarise

_TRIAL = ("problem_id", "index")
"""Columns that name a trial within a campaign."""

SPILL = "compaction-"
"""Beginning of the names of a compaction's folders in DIR/tmp."""

DAMAGED = "damaged"
"""Folder of a campaign for files that were found damaged."""

_LISTINGS = 10
"""Times the parts are listed anew because one vanished in between: each time another process has merged some."""

_READER_SECONDS = 1.0
"""How long to wait for readers before leaving replaced files to the next compaction."""


class Store:
    """Parts and elements of the campaign in `directory`. One writer at a time: the engine holds the lock."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.parts = self.directory / "parts"
        self.elements = self.directory / "elements"
        self._known: dict[Path, tuple[tuple[int, int, int], PartFacts]] = {}

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
        rows = self.part_table(part)
        return to_lists(rows), to_lists(self.element_table(part, rows))

    def part_table(self, part: PartFacts) -> pa.Table:
        """The rows of a part with the columns of COLUMNS."""
        return _table(part.path, COLUMNS)

    def element_table(self, part: PartFacts, rows: pa.Table) -> pa.Table:
        """The elements of a part with the columns of ELEMENT_COLUMNS, without those of trials that `rows` lack."""
        path = self.elements / part.path.name
        elements = _table(path, ELEMENT_COLUMNS)
        if part.done is None and facts(path).done is None:
            return elements
        known = set(_trials(rows))
        return elements.filter(pa.array([trial in known for trial in _trials(elements)], pa.bool_()))

    def part_facts(self) -> list[PartFacts]:
        """What the footers of the parts to read say, in the order of their names.

        Where a part of a higher generation covers the same shards, the lower one is left out.
        """
        return sorted(self._listed()[0], key=lambda part: part.path.name)

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
        write(self.elements / name, encode(elements, ELEMENT_COLUMNS, [shard], done=done))
        self._write_part(shard, to_table(rows, COLUMNS), done)

    def commit_table(self, shard: int, rows: pa.Table, elements: pa.Table) -> None:
        """`commit` of a whole shard from Arrow tables with the schemas of COLUMNS and ELEMENT_COLUMNS."""
        name = shard_name(shard)
        write(self.elements / name, encode_table(elements, ELEMENT_COLUMNS, [shard]))
        self._write_part(shard, rows, None)

    def _write_part(self, shard: int, rows: pa.Table, done: int | None) -> None:
        summary = packed(summarise(rows), rows.num_rows) if done is None and rows.num_rows >= LEAST_ROWS else ""
        content = encode_table(rows, COLUMNS, [shard], done=done, summary=summary)
        write(self.parts / shard_name(shard), content)

    def check(self) -> None:
        """Read every file in full. StoreError names the first that is damaged or missing, and counts the rest, or the
        first that cannot be read or was written by a newer ulpfuzz.
        """
        broken: list[DamagedFile] = []
        for path in (folder / name for name in self._names() for folder in (self.parts, self.elements)):
            try:
                verify(path)
            except DamagedFile as error:
                broken.append(error)
        if broken:
            more = f" ({len(broken) - 1} more damaged files)" if len(broken) > 1 else ""
            raise StoreError(f"{broken[0]}{more}")

    def clean(self) -> list[Path]:
        """Remove what interrupted writers left: temporary files, elements without a part, parts that intact ones of a
        higher generation replace and nobody reads. Returns what was removed. Call it while holding the lock.
        """
        self.require()
        folders = [folder for folder in (self.parts, self.elements) if folder.is_dir()]
        stale = [path for folder in folders for path in folder.glob("*" + TEMPORARY)]
        stale += self.directory.glob(f"*.[0-9]*{TEMPORARY}")  # of the findings, and of kept answers
        kept = set(self._names())
        stale += [path for path in sorted(self.elements.glob("*.parquet")) if path.name not in kept]
        stale += sorted((self.directory / "tmp").glob(SPILL + "*"))
        for path in stale:
            with storing(path):
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        try:
            return stale + self.drop_replaced()
        except DamagedFile:  # what a damaged part replaces may be all that is left of its trials
            return stale

    def discard_damaged(self) -> list[str]:
        """Move every file that is cut, altered, unreadable or without its counterpart to DIR/damaged, so that its
        shards count as not done. Call it while holding the lock.

        Returns a line for each: which file, what is wrong, which shards are to be computed again. StoreError when a
        file cannot be moved, or was written by a newer ulpfuzz.
        """
        self.require()
        found: list[tuple[str, str, set[int] | None]] = []
        intact: list[PartFacts] = []
        for name in self._names():
            wrong = {path: error for path in (self.parts / name, self.elements / name) if (error := _damage(path))}
            if not wrong:
                intact.append(self._facts(self.parts / name))
                continue
            shards = self._shards_of(name)
            found += [(name, error.what, shards) for error in wrong.values()]
        chosen, _, misplaced = choose(intact)
        for part in misplaced:
            wrong_place = f"{part.path} covers some shards that other parts cover too"
            found.append((part.path.name, wrong_place, set(part.shards)))
        there = {shard for part in chosen for shard in part.shards}
        for name in dict.fromkeys(name for name, _, _ in found):
            self._set_aside(name)
        return [f"{wrong}; moved to {self.directory / DAMAGED}, {_again(shards, there)}" for _, wrong, shards in found]

    def _set_aside(self, name: str) -> None:
        """Move a part, then its elements, so that a kill in between leaves elements without a part."""
        for path in (self.parts / name, self.elements / name):
            target = self.directory / DAMAGED / path.parent.name / name
            with storing(path), contextlib.suppress(FileNotFoundError):
                target.parent.mkdir(parents=True, exist_ok=True)
                if target.is_dir():
                    shutil.rmtree(target)
                path.replace(target)

    def _shards_of(self, name: str) -> set[int] | None:
        """The shards of a damaged file: from whichever footer can be read, or from its name; None where neither can."""
        for path in (self.parts / name, self.elements / name):
            try:
                return set(facts(path).shards)
            except StoreError:
                continue
        stem = name.removesuffix(".parquet")
        return {int(stem)} if stem.isdecimal() else None

    def drop_replaced(self) -> list[Path]:
        """Delete the parts, and their elements, whose shards an intact part of a higher generation covers.

        Does nothing while somebody reads the campaign. Returns what was deleted.
        """
        if not self.parts.is_dir():
            return []
        chosen, replaced = self._listed()
        cover = {shard: part for part in chosen for shard in part.shards}
        for part in {cover[shard].path: cover[shard] for old in replaced for shard in old.shards}.values():
            verify(part.path)
            verify(self.elements / part.path.name)
        if not replaced:
            return []
        dropped: list[Path] = []
        with alone(self.parts, _READER_SECONDS) as free:
            for part in replaced if free else ():
                for path in (part.path, self.elements / part.path.name):
                    with storing(path):
                        path.unlink(missing_ok=True)
                    dropped.append(path)
        return dropped

    def replaced(self) -> list[PartFacts]:
        """Parts that are there although those of a higher generation cover their shards."""
        return self._listed()[1]

    def _listed(self) -> tuple[list[PartFacts], list[PartFacts]]:
        """Parts to read, and those that others replace. StoreError for one that cannot be placed."""
        chosen, replaced, misplaced = choose(self._all_facts())
        if misplaced:
            raise damaged(misplaced[0].path, "it covers some shards that other parts cover too")
        return chosen, replaced

    def require(self) -> None:
        """StoreError when the directory of the campaign is not there."""
        if not self.directory.is_dir():
            raise StoreError(f"{self.directory} has vanished: put it back")

    def _all_facts(self) -> list[PartFacts]:
        self.require()
        for _ in range(_LISTINGS):
            paths = [self.parts / name for name in self._names()]
            try:
                return [self._facts(path) for path in paths]
            except StoreError:
                if all(path.exists() for path in paths):
                    raise
        raise StoreError(f"the files in {self.parts} vanish while they are read: try again")

    def _facts(self, path: Path) -> PartFacts:
        """The facts of a part, kept until the file changes."""
        try:
            state = path.stat()
        except OSError:
            return facts(path)
        identity = state.st_ino, state.st_size, state.st_mtime_ns
        known = self._known.get(path)
        if known is None or known[0] != identity:
            known = self._known[path] = identity, facts(path)
        return known[1]

    def _names(self) -> list[str]:
        return sorted(path.name for path in self.parts.glob("*.parquet"))


def choose(parts: Iterable[PartFacts]) -> tuple[list[PartFacts], list[PartFacts], list[PartFacts]]:
    """Parts to read, parts whose shards those of a higher generation cover, parts that overlap with others in part."""
    chosen: list[PartFacts] = []
    replaced: list[PartFacts] = []
    misplaced: list[PartFacts] = []
    covered: set[int] = set()
    for part in sorted(parts, key=lambda part: (-part.generation, part.path.name)):
        if covered.isdisjoint(part.shards):
            chosen.append(part)
            covered.update(part.shards)
        elif covered.issuperset(part.shards):
            replaced.append(part)
        else:
            misplaced.append(part)
    return chosen, replaced, misplaced


def _damage(path: Path) -> DamagedFile | None:
    try:
        verify(path)
    except DamagedFile as error:
        return error
    return None


def _again(shards: set[int] | None, there: set[int]) -> str:
    """Which shards of a damaged file are to be computed again, given those that other parts have."""
    if shards is None:
        return "its shards are computed again"
    missing = sorted(shards - there)
    if not missing:
        return "other parts have its shards"
    names = ranges(missing)
    return f"shard {names} is computed again" if len(missing) == 1 else f"shards {names} are computed again"


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers for people: 0-17, 19."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def shard_name(shard: int) -> str:
    """File name of the part, and of the elements, of one shard."""
    return f"{shard:08d}.parquet"


def _table(path: Path, columns: Sequence[Column]) -> pa.Table:
    """The rows of one file; a column that it lacks is null."""
    import pyarrow.dataset as ds

    try:
        return ds.dataset(str(path), schema=arrow_schema(columns), format="parquet").to_table()
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, "its rows cannot be read") from error


def _trials(table: pa.Table) -> Iterable[tuple[Cell, ...]]:
    return zip(*(table.column(name).to_pylist() for name in _TRIAL), strict=True)
