"""The supervisor: starts workers, hands out shards, collects rows, turns deaths into rows. Holds no heavy library."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fuzz import forensic, worker
from fuzz.breadcrumb import Place
from fuzz.directory import CampaignDirectory
from fuzz.errors import InternalError
from fuzz.execution import COMPILE, LADDER
from fuzz.job import Job
from fuzz.plan import Shard
from fuzz.preload import PRELOAD
from fuzz.threads import limit_threads
from fuzz.trial import Death
from fuzz.worker import Setup
from fuzz.worker_process import FORKSERVER_GONE, WorkerProcess

_POLL_SECONDS = 0.2
_START_SECONDS = 180.0
_DYING_SECONDS = 10.0
"""From the closing of a worker's connection to the end of its process."""
KILLS_BETWEEN_CALLS = 20
"""SIGKILLs from outside, or lost fork servers, between two calls at one trial before the campaign gives up: no target
can be to blame for them, and an operator may send several before a new worker gets anywhere."""
ACCIDENTS = 3
"""Deaths that nothing here explains (a SIGKILL we did not send, a death between calls) are retried; the third at one
place is no accident."""


class Limits(Struct, frozen=True):
    """Wall-clock limits in seconds."""

    call: float = 60.0
    compile: float = 300.0


class Finished(Struct, frozen=True):
    """A shard's rows in the order of its trials, as lists in the order of results.columns.

    `position` trials are in it, those the job began with included; all trials of the shard where it is `complete`.
    """

    shard: Shard
    rows: list[list[Any]]
    elements: list[list[Any]]
    seconds_per_trial: float
    """Wall time of a trial, the first (which compiles) left out; 0 when there was only one."""
    position: int
    complete: bool


OnFinished: TypeAlias = Callable[[Finished], None]
OnRows: TypeAlias = Callable[[int, list[list[Any]]], None]
"""(trials, rows) as they arrive."""
Stop: TypeAlias = Callable[[], bool]


def never() -> bool:
    """Do not stop."""
    return False


class Supervisor:
    """Runs shards on `workers` processes and calls back with finished ones. Use it as a context."""

    def __init__(self, directory: Path, setup: Setup, workers: int, limits: Limits, modules: tuple[str, ...]) -> None:
        limit_threads()
        os.environ[PRELOAD] = ",".join(modules)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fuzz.preload"])
        self._directory = CampaignDirectory(directory)
        self._setup, self._count, self._limits = setup, workers, limits
        self._workers: list[WorkerProcess] = []
        self._born = 0
        self._stopping = False
        self._finished: OnFinished
        self._progress: OnRows
        self.restarts = 0

    def run(self, jobs: Iterator[Job], finished: OnFinished, progress: OnRows, stop: Stop = never) -> None:
        """Compute every job; `jobs` may be endless, and is asked for one when a worker is free.

        `progress` is called as rows arrive, `finished` once a shard is complete. When `stop` returns True (it is asked
        several times a second), no further job is taken, each worker finishes the trial it is on, `finished` is called
        for the shards that have new rows, complete or not, and this returns.

        The workers stay alive for the next call; leaving the context ends them. Raises InternalError when the engine
        itself fails in a worker, and what the callbacks raise.
        """
        self._finished, self._progress, self._stopping = finished, progress, False
        while True:
            if not self._stopping and stop():
                self._stop()
            if not self._stopping:
                self._hand_out(jobs)
            if not any(w.job for w in self._workers):
                return
            self._collect()
            self._enforce_limits()

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *exception: object) -> None:
        for w in self._workers:
            w.kill()
        for w in self._workers:
            w.end()
        self._workers.clear()

    def _hand_out(self, waiting: Iterator[Job]) -> None:
        """Give every idle worker a job; start workers while there are jobs for them."""
        for w in self._workers:
            if w.job is None and (job := next(waiting, None)) is not None:
                w.assign(job)
        while len(self._workers) < self._count and (job := next(waiting, None)) is not None:
            self._start().assign(job)

    def _stop(self) -> None:
        """Ask every worker to hand over after its present trial; end those that have not begun."""
        self._stopping = True
        for w in [w for w in self._workers if w.job]:
            if w.ready:
                w.crumb.ask_to_stop()
            else:
                w.end()
                self._workers.remove(w)
                self._release(w)

    def _release(self, w: WorkerProcess, seconds: float = 0.0) -> None:
        """Take the job from a worker that is done with it, and hand over its rows if any are new."""
        job, w.job = w.job, None
        assert job is not None
        if job.complete or job.position > job.kept:
            job.kept = job.position
            rows, elements = job.rows.copy(), job.elements.copy()
            self._finished(Finished(job.shard, rows, elements, seconds, job.position, job.complete))

    def _start(self) -> WorkerProcess:
        name = f"worker-{self._born}"
        self._born += 1
        with self._directory.writing():
            w = WorkerProcess(self._context, self._named(name))
        self._workers.append(w)
        return w

    def _named(self, name: str) -> Setup:
        folder = self._directory.path.absolute() / "tmp"
        crumb, log = str(folder / f"{name}.crumb"), str(folder / f"{name}.log")
        return msgspec.structs.replace(self._setup, crumb=crumb, log=log)

    def _collect(self) -> None:
        by_connection: dict[Any, WorkerProcess] = {w.connection: w for w in self._workers}
        for ready in multiprocessing.connection.wait(list(by_connection), _POLL_SECONDS):
            w = by_connection[ready]
            try:
                message = msgspec.msgpack.decode(w.connection.recv_bytes())
            except (EOFError, OSError):  # closed, also in the middle of a message
                self._bury(w)
                continue
            self._receive(w, message)

    def _receive(self, w: WorkerProcess, message: list[Any]) -> None:
        kind, position, rows, elements, seconds = message
        if kind == worker.READY:
            w.ready = True
            return
        if kind == worker.TROUBLE:
            raise _trouble(w, str(rows))
        job = w.job
        assert job is not None
        self._progress(job.receive(position, rows, elements), rows)
        if kind == worker.DONE:
            self._release(w, seconds)

    def _enforce_limits(self) -> None:
        for w in self._workers:
            w.cut_log()
            seconds = w.call_seconds()
            if w.job is None or w.killed_for:
                continue
            if not w.ready:
                if seconds > _START_SECONDS:
                    raise InternalError(f"a worker did not start within {_START_SECONDS:.0f} s: see {w.setup.log}")
                continue
            place = w.crumb.read()
            limit = self._limits.compile if place.stage == COMPILE else self._limits.call
            if place.target >= 0 and seconds > limit:
                w.kill(f"{_doing(place)} took longer than {limit:g} s")

    def _bury(self, w: WorkerProcess) -> None:
        """A worker died: find out why, remember it, and let a new one go on behind it."""
        place, job = w.crumb.read(), w.job
        code = w.end(patience=_DYING_SECONDS)
        self._workers.remove(w)
        self.restarts += 1
        if job is None:
            return
        if self._stopping:  # no call is to blame yet: the trial is run again when the campaign goes on
            self._release(w)
            return
        if place.position < job.position or not w.ready:
            place = Place(job.position, 0, -1, "", place.purpose, 0.0)
        self._blame(job, place, code, w)
        self._start().assign(job)

    def _blame(self, job: Job, place: Place, code: int | None, w: WorkerProcess) -> None:
        """Decide what the death says about the target, if anything."""
        died_by = _cause(code)
        between_calls = place.target < 0
        unknown = code in (-signal.SIGKILL, FORKSERVER_GONE) and not w.killed_for
        most = KILLS_BETWEEN_CALLS if unknown and between_calls else ACCIDENTS
        if (unknown or between_calls) and job.unexplained(place) < most:
            return
        if between_calls:
            raise InternalError(
                f"a worker died {most} times outside any call ({died_by}), at trial {job.name(place.position)}: "
                f"see {w.setup.log}; finished shards are kept"
            )
        if w.killed_for:
            death = Death("timed_out", w.killed_for)
        elif code == -signal.SIGKILL:
            death = Death("out_of_memory", f"killed by the system {ACCIDENTS} times during {_doing(place)}")
        elif code in (-signal.SIGSEGV, -signal.SIGBUS):
            death = self._examined(job, place, died_by)
        else:
            death = Death("crashed", f"{died_by} during {_doing(place)}")
        job.record(place, death)

    def _examined(self, job: Job, place: Place, died_by: str) -> Death:
        """Run the fatal call again under observation to tell a bad write from other crashes."""
        piece, index = job.shard.at(place.position)
        seen = forensic.ask(self._context, self._named("forensic"), piece.cell, index, place)
        if seen in forensic.SEEN:
            return Death(seen, f"{died_by} during {_doing(place)}; run again under observation, {forensic.SEEN[seen]}")
        return Death("crashed", f"{died_by} during {_doing(place)}")


def _trouble(w: WorkerProcess, trace: str) -> InternalError:
    lines = trace.strip().splitlines()
    if lines:  # what the engine says of itself needs no name of a class
        lines[-1] = lines[-1].removeprefix(f"{InternalError.__module__}.{InternalError.__qualname__}: ")
    job = w.job
    where = f" at trial {job.name(w.crumb.read().position)}" if job is not None else ""
    error = InternalError(
        f"the engine failed in a worker{where}: {lines[-1] if lines else 'no message'}; "
        f"the traceback is in {w.setup.log}; finished shards are kept"
    )
    error.add_note(trace)
    return error


def _doing(place: Place) -> str:
    """The stage, and whether it was not at the target's own precision."""
    return f"{place.stage} in the other precision" if place.purpose == LADDER else place.stage


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
