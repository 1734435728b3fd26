"""The loops that are compared, each in a process of its own that runs a block of trials when asked.

A process each, because the script must not profit from what a worker does to its process (the memory allocator is set
up for large arrays there), and because one at a time keeps them from disturbing each other.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psutil
import scenario
from msgspec import Struct

from fuzz.plan import Piece, Shard
from fuzz.trial import Cell, Session, TrialRows, run_trial
from fuzz.workers import worker
from fuzz.workers.breadcrumb import SharedBreadcrumb
from fuzz.workers.job import Job
from fuzz.workers.supervisor import Finished, Limits, Supervisor
from results.store import Store

WARM_UP_TRIALS = 30
"""Not measured: compilation, the trials whose elements are all kept, caches."""


class Block(Struct, frozen=True):
    """What a block of trials took, all processes of the contender together."""

    cpu: float
    wall: float
    faults: int
    """Pages the system had to provide (minor faults)."""


class Contender(Protocol):
    """A loop over trials. `run` may be called again and again; `cpu` is the CPU time in seconds so far."""

    def run(self, trials: int) -> None: ...
    def cpu(self) -> float: ...
    def finish(self) -> dict[str, Any]: ...


class Script:
    """The user's script. `tuned` gives it the worker's memory allocator, which it would not have."""

    def __init__(self, tuned: bool = False) -> None:
        from script_loop import ScriptLoop

        self.loop = ScriptLoop()
        self.run = self.loop.run
        self.cpu = time.process_time
        if tuned:
            block = np.ones(4_000_000)
            del block

    def finish(self) -> dict[str, Any]:
        return {"first failing rung": dict(sorted(self.loop.failed.items()))}


class InProcess:
    """`run_trial` in this process and its rows encoded, as a worker does, without sending them."""

    def __init__(self, backends: tuple[str, ...] = scenario.TWO) -> None:
        self._folder = tempfile.TemporaryDirectory()
        setup = scenario.setup(Path(self._folder.name), backends)
        worker.settle_in(setup)
        self.cell = scenario.cell(backends)
        self.crumb = SharedBreadcrumb(Path(setup.crumb), create=True)
        self.session = Session(setup.environment, self.crumb)
        self.next = 0
        self.cpu = time.process_time
        self.message = b""

    def run(self, trials: int) -> None:
        """So many trials, packed into one message."""
        done = []
        for position, index in enumerate(range(self.next, self.next + trials)):
            self.crumb.enter(position)
            done.append(run_trial(self.cell, scenario.SEED, index, self.session, ladder=index == 0))
        self.message = self.encode(done)
        self.next += trials

    def encode(self, done: list[TrialRows]) -> bytes:
        """The message of a worker."""
        rows = [worker._plain(row, worker._NAMES) for trial in done for row in trial.rows]
        elements = [worker._plain(row, worker._ELEMENT_NAMES) for trial in done for row in trial.elements]
        return worker._encode([worker.ROWS, len(done), rows, elements, 0.0])

    def finish(self) -> dict[str, Any]:
        return {}


class Supervised:
    """The engine as a campaign runs it: supervisor here, worker processes, rows through the pipe, a shard committed."""

    def __init__(self, backends: tuple[str, ...] = scenario.TWO, workers: int = 1) -> None:
        self.cell, self.workers = scenario.cell(backends), workers
        self._stack = contextlib.ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        setup = scenario.setup(self.folder, backends)
        modules = tuple(name for name in backends if name != "numpy")
        supervisor = Supervisor(self.folder, setup, workers, Limits(), modules)
        self.supervisor = self._stack.enter_context(supervisor)
        self.store = Store(self.folder)
        self.store.commit(1, [])  # what the first file costs once, the import of the compressor among it
        self.rows: list[list[Any]] = []
        self.elements: list[list[Any]] = []
        self.next = 0

    def run(self, trials: int) -> None:
        each = -(-trials // self.workers)
        shards = shards_of(self.cell, self.next, trials, each)
        self.next += trials
        self.supervisor.run(map(Job, shards), self._keep, lambda trials, rows: None)

    def _keep(self, finished: Finished) -> None:
        self.rows += finished.rows
        self.elements += finished.elements

    def pids(self) -> list[int]:
        """The worker processes."""
        return [w.process.pid for w in self.supervisor._workers if w.process.pid]

    def cpu(self) -> float:
        return time.process_time() + sum(_cpu_of(pid) for pid in self.pids())

    def finish(self) -> dict[str, Any]:
        """Commit all rows as one shard; `writing` is its CPU time in seconds a trial, without that of imports."""
        self.store.commit(1, self.rows[:1])
        start = time.process_time()
        self.store.commit(0, self.rows, self.elements)
        facts: dict[str, Any] = {"writing": (time.process_time() - start) / self.next}
        facts["bytes a trial"] = sum(p.stat().st_size for p in self.folder.rglob("*0.parquet")) / self.next
        facts["memory"] = [memory(pid) for pid in self.pids()]
        self._stack.close()
        return facts


def shards_of(cell: Cell, first: int, trials: int, each: int) -> list[Shard]:
    """Trials first .. first+trials-1 in shards of `each`."""
    starts = range(first, first + trials, each)
    return [Shard(n, (Piece(cell, start, min(start + each, first + trials)),)) for n, start in enumerate(starts)]


def memory(pid: int) -> dict[str, float]:
    """Peak resident and present private memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return {"peak": peak / 1024, "private": psutil.Process(pid).memory_full_info().uss / 2**20}


def _cpu_of(pid: int) -> float:
    """CPU seconds of another process, to the nanosecond: Linux encodes its clock as in clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


class Remote:
    """A contender in another process."""

    def __init__(self, make: Callable[[], Contender]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make))
        self._process.start()
        theirs.close()
        self.run(WARM_UP_TRIALS)

    def run(self, trials: int) -> Block:
        """Run a block and wait for it."""
        self._connection.send(trials)
        block: Block = self._answer(Block)
        return block

    def finish(self) -> dict[str, Any]:
        """End the process; what the contender has to say."""
        self._connection.send(None)
        facts: dict[str, Any] = self._answer(dict)
        self._process.join()
        return facts

    def _answer(self, kind: type[Any]) -> Any:
        answer = self._connection.recv()
        if not isinstance(answer, kind):
            raise SystemExit(f"a contender failed:\n{answer}")
        return answer


@contextlib.contextmanager
def remotes(makers: dict[str, Callable[[], Contender]]) -> Iterator[dict[str, Remote]]:
    """Contenders by name, warmed up one after the other."""
    started = {name: Remote(make) for name, make in makers.items()}
    try:
        yield started
    finally:
        for remote in started.values():
            remote._connection.close()


def _serve(connection: Connection, make: Callable[[], Contender]) -> None:
    try:
        contender = make()
        while (trials := connection.recv()) is not None:
            cpu, wall, faults = contender.cpu(), time.perf_counter(), _faults()
            contender.run(trials)
            connection.send(Block(contender.cpu() - cpu, time.perf_counter() - wall, _faults() - faults))
        connection.send(contender.finish())
    except EOFError:
        pass
    except BaseException as error:
        import traceback

        connection.send(traceback.format_exc())
        raise SystemExit(1) from error


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
