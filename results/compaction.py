"""Compaction: many small parts become few sorted files, in a process of its own, and no kill loses a row.

    DIR/parts/00000000-00000311-1.parquet      the rows of shards between 0 and 311, generation 1
    DIR/elements/00000000-00000311-1.parquet   their elements

The merged elements are written first, then the merged part, whose footer lists its shards; from its renaming on it is
what is read. Then the parts it replaces are deleted. A kill leaves either what was there before or files that
`Store.clean` and the next compaction delete. While somebody reads the campaign, nothing is deleted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import msgspec
from msgspec import Struct

from results.columns import COLUMNS, ELEMENT_COLUMNS
from results.errors import ResultsError, StoreError
from results.files import alone, replacing, storing
from results.parts import ROW_GROUP, PartFacts, verify
from results.store import SPILL, Store

TARGET_ROWS = 1_000_000
"""Rows of a merged file, about: 8 row groups, 200 MB at most."""
SMALL_ROWS = TARGET_ROWS // 2
"""Parts below this are merged."""
MANY_ROWS = TARGET_ROWS
"""From so many rows on, answers that need a look at all of them are kept."""
MANY = 256
"""Parts of one generation that are merged although they have fewer than TARGET_ROWS together. Each row is then
rewritten once a generation, and there are log(rows)/log(MANY) generations."""
FEW = 32
"""At the end of a campaign fewer parts than this stay as they are, unless they fill a row group."""

PART_ORDER = ("operator", "home", "target", "against", "problem_id", "index", "output", "variant")
ELEMENT_ORDER = ("operator", "dtype", "target", "against", "problem_id", "index", "output", "variant")
"""Sort orders: a question about one operator or target reads few row groups."""

_WAIT_SECONDS = 600.0
"""How long a compaction waits for another one of the same campaign to end."""
_TICK_SECONDS = 1.0
_STORAGE = 3
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux."""


class Compacted(Struct, frozen=True):
    """What a compaction did. Memory is the peak above that of the process after its imports; 0 where unknown."""

    merged: int = 0
    files: int = 0
    rows: int = 0
    left: int = 0
    """Replaced files that are still there because somebody reads the campaign."""
    answers: bool = False
    """Whether answers to what reports ask of all rows were computed and kept."""
    seconds: float = 0.0
    memory_bytes: int = 0

    def line(self) -> str:
        """For people: what was merged, how fast, with how much memory."""
        answers = "; answers of reports kept" if self.answers else ""
        if not self.merged:
            return f"nothing to merge{answers}"
        left = f"; {self.left} replaced files are being read and stay until the next compaction" if self.left else ""
        return (
            f"{self.merged:,} parts with {self.rows:,} rows merged into {self.files:,} files in {self.seconds:.1f} s, "
            f"{self.memory_bytes / 1e6:.0f} MB of memory{left}{answers}"
        )


class Compaction:
    """A running compaction of a campaign directory. Call `poll` now and then, or `wait`; as a context it is killed
    on leaving, which loses nothing."""

    def __init__(self, directory: str | os.PathLike[str], *, final: bool = False) -> None:
        """Start it; the caller holds the lock of the directory. It ends when the caller dies."""
        program = [sys.executable, "-P", "-m", "results.compaction"]
        command = [*program, os.fspath(directory), str(int(final)), str(os.getpid())]
        self.directory = Path(directory)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([_ROOT, *_python_path()])},
        )

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, after waiting up to so many seconds for that."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def poll(self) -> Compacted | None:
        """What was done, or None while it runs. StoreError as in `wait`."""
        return None if self._process.poll() is None else self.wait()

    def wait(self) -> Compacted:
        """What was done. StoreError, one line, when the disk does not take it or a part is damaged; nothing is lost."""
        try:
            output, errors = self._process.communicate()
        except BaseException:
            self.kill()
            raise
        if self._process.returncode == 0:
            return msgspec.json.decode(output, type=Compacted)
        if self._process.returncode == _STORAGE:
            raise StoreError(errors.strip())
        last = (errors.strip().splitlines() or [f"exit status {self._process.returncode}"])[-1]
        raise StoreError(f"{self.directory} could not be compacted: {last}; nothing is lost, its parts are as before")

    def kill(self) -> None:
        """End it at once; what it has not finished is left as it was."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Compaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.returncode is None:
            self.kill()


def due(store: Store) -> bool:
    """Whether the campaign has so many small parts that a compaction is worth its while."""
    return bool(batches(store.part_facts(), final=False))


def compact(
    directory: str | os.PathLike[str], *, final: bool = False, tick: Callable[[], object] = lambda: None
) -> Compacted:
    """Merge the small parts of a campaign in another process, so that its memory returns to the system.

    Call it while holding the lock of the directory. `final` merges what is left at the end of a campaign too. `tick`
    is called about once a second meanwhile: the owner of the lock gives its sign of life there.
    StoreError, in one line, when the disk is full or a part is damaged; every row is then where it was.
    """
    with Compaction(directory, final=final) as run:
        while not run.ended(_TICK_SECONDS):
            tick()
        return run.wait()


def batches(parts: Sequence[PartFacts], *, final: bool) -> list[list[PartFacts]]:
    """Which parts are to be merged with each other, in the order of their shards."""
    small = [part for part in parts if part.done is None and part.rows < SMALL_ROWS and part.shards]
    found: list[list[PartFacts]] = []
    run: list[PartFacts] = []
    rows = 0
    for part in sorted(small, key=lambda part: part.shards[0]):
        run.append(part)
        rows += part.rows
        if rows >= TARGET_ROWS:
            found.append(run)
            run, rows = [], 0
    if final:
        enough = len(run) >= FEW or rows >= ROW_GROUP
        return [*found, run] if enough and len(run) > 1 else found
    for generation in sorted({part.generation for part in run}):
        same = [part for part in run if part.generation == generation]
        found += [same] if len(same) >= MANY else []
    return found


def compact_here(directory: str | os.PathLike[str], *, final: bool = False) -> Compacted:
    """`compact` in this process, which keeps the memory. For a process that ends afterwards."""
    store = Store(directory)
    started = time.monotonic()
    store.require()
    if not store.parts.is_dir() or not store.elements.is_dir():
        return Compacted()
    from results.merging import peak_memory

    base = peak_memory()
    with alone(store.elements, _WAIT_SECONDS) as free:
        if not free:
            raise StoreError(f"{store.directory} is being compacted by another process: wait for it, or end it first")
        store.drop_replaced()
        groups = batches(store.part_facts(), final=final)
        for group in groups:
            _merge(store, group)
            store.drop_replaced()
        left = len(store.replaced())
        answers = final and _keep_answers(store)
    return Compacted(
        merged=sum(map(len, groups)),
        files=len(groups),
        rows=sum(part.rows for group in groups for part in group),
        left=left,
        answers=answers,
        seconds=time.monotonic() - started,
        memory_bytes=max(0, peak_memory() - base),
    )


def _merge(store: Store, group: Sequence[PartFacts]) -> None:
    """Write one merged part and its elements. What they replace is read in full first: no damage is merged."""
    from results.merging import merge

    shards = sorted(shard for part in group for shard in part.shards)
    generation = 1 + max(part.generation for part in group)
    name = f"{shards[0]:08d}-{shards[-1]:08d}-{generation}.parquet"
    spill = store.directory / "tmp" / f"{SPILL}{os.getpid()}"
    with storing(spill):
        spill.mkdir(parents=True, exist_ok=True)
    try:
        for folder, columns, order in (
            (store.elements, ELEMENT_COLUMNS, ELEMENT_ORDER),
            (store.parts, COLUMNS, PART_ORDER),
        ):
            sources = [folder / part.path.name for part in group]
            found = [verify(source) for source in sources]
            expected = sum(facts.rows for facts in found)
            summary = _summary(found) if folder == store.parts else ""
            with storing(folder / name), replacing(folder / name) as target:
                merge(sources, target, columns, order, shards, generation, expected, spill, summary)
    finally:
        shutil.rmtree(spill, ignore_errors=True)  # what went wrong first is what to say


def _summary(parts: Sequence[PartFacts]) -> str:
    """The summary of the merged part: those of the parts added, computed from the rows where they have none."""
    from results.summary import added, packed, unpacked
    from results.views import counted

    kept = {part.path: summary for part in parts if (summary := unpacked(part.summary)) is not None}
    rest = [part for part in parts if part.path not in kept]
    whole = added([*kept.values(), *([counted(rest)] if rest else [])])
    return packed(whole, sum(part.rows for part in parts))


def _keep_answers(store: Store) -> bool:
    """Answer what a report of many rows would take most of its time for; False where there is nothing new to keep."""
    if sum(part.rows for part in store.part_facts()) < MANY_ROWS:
        return False
    from results.closer import closer_lines
    from results.kept import keep
    from results.outliers import causes
    from results.quantiles import quantiles
    from results.reading import open as open_results

    return keep(open_results(store.directory), (quantiles, closer_lines, causes))


_ROOT = str(Path(__file__).resolve().parent.parent)


def _python_path() -> list[str]:
    path = os.environ.get("PYTHONPATH")
    return [path] if path else []


def _end_with(parent: int) -> None:
    """Die with the process that started this one."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("its parent has ended")


def _main(arguments: Sequence[str]) -> int:
    directory, final, parent = arguments
    _end_with(int(parent))
    from results.merging import modest

    modest()
    try:
        done = compact_here(directory, final=final == "1")
    except ResultsError as error:
        print(error, file=sys.stderr)
        return _STORAGE
    print(json.dumps(msgspec.to_builtins(done)))
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
