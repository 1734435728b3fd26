"""The supervisor: starts workers, hands out shards, collects rows, turns deaths into rows. Holds no heavy library."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fuzz import forensic, worker
from fuzz.breadcrumb import Place, SharedBreadcrumb
from fuzz.execution import COMPILE
from fuzz.plan import Shard
from fuzz.preload import PRELOAD
from fuzz.trial import Death
from fuzz.worker import Setup, Task

_POLL_SECONDS = 0.2
_START_SECONDS = 180.0
_FORENSIC_SECONDS = 120.0
STRAY_KILLS = 3
"""SIGKILLs we did not send are retried (an operator, another process): at the third on one call, memory is to blame."""
QUARANTINE = 25
"""Deaths of one target within one shard after which its remaining trials there are not run."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class InternalError(Exception):
    """The engine itself failed in a worker; the message holds the worker's traceback."""


class Limits(Struct, frozen=True):
    """Wall-clock limits in seconds."""

    call: float = 60.0
    compile: float = 300.0


class Finished(Struct, frozen=True):
    """A shard's rows in the order of its trials, as lists in the order of results.columns."""

    shard: Shard
    rows: list[list[Any]]
    elements: list[list[Any]]
    seconds_per_trial: float
    """Wall time of a trial, the first (which compiles) left out; 0 when there was only one."""


def limit_threads() -> None:
    """One thread a library, set before any worker imports it: campaigns parallelise over workers."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")


class _Worker:
    """A worker process with its connection, breadcrumb and the shard it is on."""

    def __init__(self, context: Any, setup: Setup) -> None:
        self.crumb = SharedBreadcrumb(Path(setup.crumb), create=True)
        self.connection, theirs = context.Pipe(duplex=True)
        self.process = context.Process(target=worker.main, args=(theirs, setup), daemon=True)
        self.process.start()
        theirs.close()
        self.setup = setup
        self.started = time.monotonic()
        self.ready = False
        self.killed_for = ""
        self.job: _Job | None = None

    def stop(self) -> None:
        """End the process now."""
        with contextlib.suppress(ProcessLookupError, AttributeError):
            self.process.kill()
        self.process.join()
        self.connection.close()
        self.crumb.close()


class _Job:
    """A shard under way: what has arrived and what died."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.position = 0
        self.rows: list[list[Any]] = []
        self.elements: list[list[Any]] = []
        self.deaths: dict[tuple[int, int], Death] = {}
        self.stray: dict[tuple[int, int], int] = {}


class Supervisor:
    """Runs shards on `workers` processes and calls back with finished ones."""

    def __init__(self, directory: Path, setup: Setup, workers: int, limits: Limits, modules: tuple[str, ...]) -> None:
        limit_threads()
        os.environ[PRELOAD] = ",".join(modules)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fuzz.preload"])
        self._directory, self._setup, self._count, self._limits = directory, setup, workers, limits
        self._workers: list[_Worker] = []
        self._born = 0
        self.restarts = 0

    def run(
        self,
        shards: Iterator[Shard],
        finished: Callable[[Finished], None],
        progress: Callable[[int, list[list[Any]]], None],
    ) -> None:
        """Compute every shard. `progress(trials, rows)` is called as rows arrive, `finished` once a shard is complete.

        The workers stay alive for the next call; leaving the context ends them.
        """
        waiting = iter(shards)
        while True:
            self._hand_out(waiting)
            if not any(w.job for w in self._workers):
                return
            self._collect(finished, progress)
            self._enforce_limits()

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *exception: object) -> None:
        for w in self._workers:
            w.stop()
        self._workers.clear()

    def _hand_out(self, waiting: Iterator[Shard]) -> None:
        """Give every idle worker a shard; start workers while there are shards for them."""
        for w in self._workers:
            if w.job is None and (shard := next(waiting, None)) is not None:
                self._assign(w, _Job(shard))
        while len(self._workers) < self._count and (shard := next(waiting, None)) is not None:
            self._assign(self._start(), _Job(shard))

    def _start(self) -> _Worker:
        number = self._born
        self._born += 1
        folder = self._directory / "tmp"
        setup = msgspec.structs.replace(
            self._setup, crumb=str(folder / f"worker-{number}.crumb"), log=str(folder / f"worker-{number}.log")
        )
        w = _Worker(self._context, setup)
        self._workers.append(w)
        return w

    def _assign(self, w: _Worker, job: _Job) -> None:
        w.job = job
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            w.connection.send(Task(job.shard, job.position, dict(job.deaths)))

    def _collect(self, finished: Callable[[Finished], None], progress: Callable[[int, list[list[Any]]], None]) -> None:
        by_connection = {w.connection: w for w in self._workers}
        for ready in multiprocessing.connection.wait(list(by_connection), _POLL_SECONDS):
            w = by_connection[ready]  # type: ignore[index]
            try:
                message = msgspec.msgpack.decode(w.connection.recv_bytes())
            except (EOFError, ConnectionResetError):
                self._bury(w)
                continue
            self._receive(w, message, finished, progress)

    def _receive(
        self,
        w: _Worker,
        message: list[Any],
        finished: Callable[[Finished], None],
        progress: Callable[[int, list[list[Any]]], None],
    ) -> None:
        kind, position, rows, elements, seconds = message
        if kind == worker.READY:
            w.ready = True
            return
        if kind == worker.TROUBLE:
            raise InternalError(rows)
        job = w.job
        assert job is not None
        trials = position - job.position
        job.position = position
        job.rows += rows
        job.elements += elements
        progress(trials, rows)
        if kind == worker.DONE:
            w.job = None
            finished(Finished(job.shard, job.rows, job.elements, seconds))

    def _enforce_limits(self) -> None:
        now = time.monotonic()
        for w in self._workers:
            if w.job is None or w.killed_for:
                continue
            if not w.ready:
                if now - w.started > _START_SECONDS:
                    raise InternalError(f"a worker did not start within {_START_SECONDS:.0f} s: see {w.setup.log}")
                continue
            place = w.crumb.read()
            limit = self._limits.compile if place.stage == COMPILE else self._limits.call
            if place.target >= 0 and now - place.since > limit:
                w.killed_for = f"{place.stage} took longer than {limit:g} s"
                w.process.kill()

    def _bury(self, w: _Worker) -> None:
        """A worker died: find out why, remember it, and let a new one go on behind it."""
        w.process.join()
        place, code = w.crumb.read(), w.process.exitcode
        job, killed_for, log = w.job, w.killed_for, w.setup.log
        w.stop()
        self._workers.remove(w)
        self.restarts += 1
        if job is None:
            return
        if place.position < job.position or not w.ready:
            place = Place(job.position, 0, -1, "", place.purpose, 0.0)
        self._blame(job, place, code, killed_for, log)
        self._assign(self._start(), job)

    def _blame(self, job: _Job, place: Place, code: int | None, killed_for: str, log: str) -> None:
        key = (place.position, place.target)
        died_by = _cause(code)
        stray = code == -signal.SIGKILL and not killed_for
        if stray or place.target < 0:
            job.stray[key] = job.stray.get(key, 0) + 1
            if job.stray[key] < STRAY_KILLS:
                return
            if place.target < 0:
                raise InternalError(f"a worker died {STRAY_KILLS} times outside any call ({died_by}): see {log}")
        if killed_for:
            death = Death("timed_out", killed_for)
        elif stray:
            death = Death("out_of_memory", f"killed by the system {STRAY_KILLS} times during {place.stage}")
        elif code in (-signal.SIGSEGV, -signal.SIGBUS):
            death = self._examine(job, place, died_by)
        else:
            death = Death("crashed", f"{died_by} during {place.stage}")
        job.deaths[key] = death
        self._quarantine(job, place)

    def _examine(self, job: _Job, place: Place, died_by: str) -> Death:
        """Run the fatal call again under observation to tell a bad write from other crashes."""
        piece, index = job.shard.at(place.position)
        receiver, sender = self._context.Pipe(duplex=False)
        folder = self._directory / "tmp"
        setup = msgspec.structs.replace(self._setup, log=str(folder / "forensic.log"))
        process = self._context.Process(
            target=forensic.main, args=(sender, setup, piece.cell, index, place.target, place.purpose), daemon=True
        )
        process.start()
        sender.close()
        answer = ""
        try:
            if receiver.poll(_FORENSIC_SECONDS):
                answer = receiver.recv()
        except EOFError:
            answer = ""
        finally:
            process.kill()
            process.join()
            receiver.close()
        if answer in ("input_modified", "out_of_bounds_write"):
            what = "its input changed" if answer == "input_modified" else "bytes behind a buffer changed"
            return Death(answer, f"{died_by} during {place.stage}; run again under observation, {what}")
        return Death("crashed", f"{died_by} during {place.stage}")

    @staticmethod
    def _quarantine(job: _Job, place: Place) -> None:
        """Stop running a target on a problem where it keeps killing workers.

        A rule of the shard alone, so that the rows do not depend on which worker ran what.
        """
        problem = job.shard.at(place.position)[0].cell.problem
        deaths = [
            position
            for position, target in job.deaths
            if target == place.target and job.shard.at(position)[0].cell.problem == problem
        ]
        if len(deaths) < QUARANTINE:
            return
        death = Death("indeterminate", f"not run: this target ended {QUARANTINE} workers on this problem")
        for position, piece, _ in job.shard.positions(place.position + 1):
            if piece.cell.problem == problem:
                job.deaths.setdefault((position, place.target), death)


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
