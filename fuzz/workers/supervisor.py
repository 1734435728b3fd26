"""The supervisor: starts workers, hands out shards, collects rows, turns deaths into rows. Holds no heavy library."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from fuzz.campaigns.directory import CampaignDirectory
from fuzz.errors import InternalError
from fuzz.search.record import kept
from fuzz.threads import limit_threads
from fuzz.trial import Death
from fuzz.workers import worker
from fuzz.workers.blame import EXAMINED, cause, doing, excess, trouble, verdict_of
from fuzz.workers.breadcrumb import Place
from fuzz.workers.forensic import Examination
from fuzz.workers.handover import NOTHING, OnFinished, OnFound, OnRows, Spent, Stop, never, not_hunting
from fuzz.workers.handover import Finished as Finished
from fuzz.workers.health import OnEvent, Replaced, WorkerHealth, ignore
from fuzz.workers.job import Job
from fuzz.workers.limits import Limits as Limits
from fuzz.workers.not_judged import EngineTrials
from fuzz.workers.preload import PRELOAD
from fuzz.workers.worker import Setup
from fuzz.workers.worker_process import WorkerProcess

_decode = msgspec.msgpack.Decoder(tuple[str, int, Any, list[Any], Spent]).decode
_POLL_SECONDS = 0.2
_START_SECONDS = 180.0
_DYING_SECONDS = 10.0
"""From the closing of a worker's connection to the end of its process."""
_LONGEST_MESSAGE = 1 << 30
"""Bytes; more than any worker sends, so that garbage written into its connection does not have us wait for it."""
_GROWTH = 1.5
"""A worker that has less than this multiple of its memory at birth is not recycled: the next would be no smaller."""


class Supervisor:
    """Runs shards on `workers` processes and calls back with finished ones. Use it as a context, from one thread.

    `on_event` hears of everything that happens to a worker: see fuzz.workers.health.
    """

    def __init__(
        self,
        directory: Path,
        setup: Setup,
        workers: int,
        limits: Limits,
        modules: tuple[str, ...],
        on_event: OnEvent = ignore,
    ) -> None:
        limit_threads()
        os.environ[PRELOAD] = ",".join(modules)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fuzz.workers.preload"])
        self._directory = CampaignDirectory(directory)
        self._setup, self._count, self._limits = setup, workers, limits
        self._memory = limits.resolved(workers)
        self._event = on_event
        self._workers: list[WorkerProcess] = []
        self._examinations: list[Examination] = []
        self._born = 0
        self._stopping = False
        self._finished: OnFinished
        self._progress: OnRows
        self._found: OnFound
        self.replaced = Replaced()
        self._engine = EngineTrials()

    @property
    def restarts(self) -> int:
        """Workers that ended before their time and were replaced."""
        return self.replaced.deaths

    def run(
        self,
        jobs: Iterator[Job],
        finished: OnFinished,
        progress: OnRows,
        stop: Stop = never,
        found: OnFound = not_hunting,
    ) -> None:
        """Compute every job; `jobs` may be endless, and is asked for one when a worker is free.

        `progress` is called as rows arrive, `finished` once a shard is complete, and before that every `limits.shard`
        seconds. When `stop` returns True (it is asked several times a second), no further job is taken, each worker
        finishes the trial it is on, `finished` is called for the shards that have new rows, complete or not, and this
        returns.

        `found` is called with what the hunt of a shard gave, where it has one: it writes that down and returns the
        shard that is run then. A hunt that has to stop leaves nothing.

        The workers stay alive for the next call; leaving the context ends them. Raises InternalError when the engine
        itself fails in a worker, and what the callbacks raise.
        """
        self._finished, self._progress, self._found, self._stopping = finished, progress, found, False
        while True:
            if not self._stopping and stop():
                self._stop()
            if not self._stopping:
                self._hand_out(jobs)
            if not self._examinations and not any(w.job for w in self._workers):
                return
            self._collect()
            self._look_after()

    def health(self) -> tuple[WorkerHealth, ...]:
        """How every worker is now. Ask from a callback of `run`, or between two runs."""
        return tuple(self._health(w) for w in self._workers)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *exception: object) -> None:
        for w in self._workers:
            w.kill()
        for w in self._workers:
            w.end()
        for examination in self._examinations:
            examination.end()
        self._workers.clear()
        self._examinations.clear()

    def _hand_out(self, waiting: Iterator[Job]) -> None:
        """Give every idle worker a job; start workers while there are jobs for them."""
        for w in self._workers:
            if w.job is None and (job := next(waiting, None)) is not None:
                self._assign(w, job)
        while len(self._workers) + len(self._examinations) < self._count and (job := next(waiting, None)) is not None:
            self._assign(self._start(), job)

    def _assign(self, w: WorkerProcess, job: Job) -> None:
        job.kept_at = job.kept_at or time.monotonic()
        w.assign(job)

    def _start(self) -> WorkerProcess:
        name = f"worker-{self._born}"
        self._born += 1
        with self._directory.writing():
            w = WorkerProcess(self._context, self._named(name), name)
        self._workers.append(w)
        self._event("worker_started", {"worker": name, "pid": w.process.pid})
        return w

    def _named(self, name: str) -> Setup:
        folder = self._directory.path.absolute() / "tmp"
        crumb, log = str(folder / f"{name}.crumb"), str(folder / f"{name}.log")
        return structs.replace(self._setup, crumb=crumb, log=log)

    def _remove(self, w: WorkerProcess, patience: float = 0.0) -> int | None:
        """End a worker; its exit code."""
        code = w.end(patience)
        self._workers.remove(w)
        return code

    def _stop(self) -> None:
        """Ask every worker to hand over after its present trial; end those that have not begun."""
        self._stopping = True
        for w in [w for w in self._workers if w.job]:
            if w.ready:
                w.crumb.ask_to_stop()
            else:
                self._remove(w)
                self._release(w)
        while self._examinations:
            examination = self._examinations.pop()
            examination.end()
            self._hand_over(examination.job)

    def _release(self, w: WorkerProcess, spent: Spent = NOTHING) -> None:
        """Take the job from a worker that is done with it, and hand over its rows."""
        job, w.job = w.job, None
        assert job is not None
        self._hand_over(job, spent)

    def _hand_over(self, job: Job, spent: Spent = NOTHING) -> None:
        """Call `finished` if rows are new."""
        job.kept_at = time.monotonic()
        if job.complete or job.position > job.kept:
            new, job.kept = job.position - job.kept, job.position
            rows, elements = job.rows.copy(), job.elements.copy()
            self._finished(Finished(job.shard, rows, elements, spent, job.position, new, job.complete))

    def _collect(self) -> None:
        waited: list[Any] = [end for w in self._workers for end in (w.connection, w.process.sentinel)]
        waited += [end for examination in self._examinations for end in examination.ends]
        ready = set(multiprocessing.connection.wait(waited, _POLL_SECONDS))
        for w in list(self._workers):
            if w.connection in ready:
                try:
                    message = _decode(w.connection.recv_bytes(_LONGEST_MESSAGE))
                except (EOFError, OSError):  # closed, also in the middle of a message
                    self._bury(w)
                except msgspec.DecodeError as error:
                    raise InternalError(
                        f"a worker sent what is no message ({error}): a kernel wrote into its connection; "
                        "finished shards are kept"
                    ) from error
                else:
                    self._receive(w, message)
            elif w.process.sentinel in ready:  # dead, and a process that it left behind holds the connection open
                self._bury(w)
        for e in list(self._examinations):
            if not ready.isdisjoint(e.ends) or e.overdue():
                self._examinations.remove(e)
                self._go_on(e.job, e.place, e.verdict(), e.facts)

    def _receive(self, w: WorkerProcess, message: tuple[str, int, Any, list[Any], Spent]) -> None:
        kind, position, rows, elements, spent = message
        if kind == worker.READY:
            w.ready, w.born_mib = True, w.rss_mib
            return
        if kind == worker.TROUBLE:
            raise trouble(w, str(rows))
        job = w.job
        assert job is not None
        if kind == worker.FOUND:
            job.found(self._found(job.shard.number, rows), spent)
            if self._stopping:
                self._release(w)
            else:
                w.assign(job)
            return
        new = job.receive(position, rows, elements)
        self._progress(new, rows)
        for trial, error in self._engine.look(new, rows).items():
            self._event("engine_failed", {"worker": w.name, "trial": trial, "error": error})
        if kind == worker.DONE:
            w.shards += job.complete
            self._release(w, Spent(spent.each, spent.cpu + job.hunting.cpu, spent.compiling + job.hunting.compiling))
            job.hunting = NOTHING
            self._recycle(w)

    def _recycle(self, w: WorkerProcess) -> None:
        """End an idle worker that has done much or grown: it is replaced when there is a job for a new one."""
        used = w.rss_mib
        grown = used > max(self._memory.recycle_memory, _GROWTH * w.born_mib)
        if w.shards >= self._limits.recycle_shards or grown:
            self._remove(w)
            self.replaced.recycled += 1
            self._event("recycled", {"worker": w.name, "shards": w.shards, "rss_mib": round(used)})

    def _look_after(self) -> None:
        """Enforce the limits; hand over what long shards have."""
        for w in self._workers:
            w.cut_log()
            seconds = w.call_seconds()
            if w.job is None or w.killed_for:
                continue
            if not w.ready and seconds > _START_SECONDS:
                raise InternalError(f"a worker did not start within {_START_SECONDS:.0f} s: see {w.setup.log}")
            place = w.crumb.read()
            if found := excess(place, seconds, w.rss_mib, self._limits, self._memory.memory):
                w.kill_for(found.death, place)
                self._event(found.event, _where(w, w.job, place) | found.facts)
            if time.monotonic() - w.job.kept_at > self._limits.shard and not w.job.complete:
                self._hand_over(w.job)

    def _bury(self, w: WorkerProcess) -> None:
        """A worker died: find out why, remember it, and let a new one go on behind it."""
        job, seen = w.job, w.crumb.read()
        code = self._remove(w, patience=_DYING_SECONDS)
        verdict = w.killed_for.verdict if w.killed_for else "died"
        setattr(self.replaced, verdict, getattr(self.replaced, verdict) + 1)
        place = seen
        if job is not None and (seen.position < job.position or not w.ready):
            place = Place(job.position, 0, -1, "", seen.purpose, 0.0)
        facts = _where(w, job, place)
        self._event("worker_died", facts | {"cause": verdict if w.killed_for else cause(code)})
        if job is None:
            return
        if self._stopping:  # the trial is run again, and its target blamed, when the shard goes on
            self._release(w)
            return
        late = w.killed_at is not None and w.killed_at != seen
        death = verdict_of(w, job, place, code, late)
        if death is not None and job.shard.hunt is not None:
            job.killers[place.target] = kept(Path(w.setup.crumb))
            self._assign(self._start(), job)
        elif death is not None and death.verdict == "crashed" and code in EXAMINED:
            setup = self._named(f"{w.name}-examined")
            self._examinations.append(Examination(self._context, setup, job, place, death, facts))
        else:
            self._go_on(job, place, death, facts)

    def _go_on(self, job: Job, place: Place, death: Death | None, facts: dict[str, Any]) -> None:
        """Let a new worker go on behind what died, or at the same place where nothing is to blame."""
        if death is not None and (quarantine := job.record(place, death)) is not None:
            known = {"deaths": quarantine.deaths, "trials": quarantine.trials, "problem": quarantine.problem.id}
            self._event("quarantined", facts | known)
        self._assign(self._start(), job)

    def _health(self, w: WorkerProcess) -> WorkerHealth:
        state = "starting" if not w.ready else "running" if w.job else "idle"
        where = _where(w, w.job, w.crumb.read())
        return WorkerHealth(
            name=w.name,
            pid=w.process.pid or 0,
            rss_mib=w.rss_mib,
            state=state,
            trial=where["trial"],
            target=where["target"],
            stage=where["stage"],
            call_seconds=w.call_seconds(),
            shards=w.shards,
        )


def _where(w: WorkerProcess, job: Job | None, place: Place) -> dict[str, Any]:
    """Facts of an event: what a worker is doing, "" where it is doing nothing."""
    facts: dict[str, Any] = {"worker": w.name, "pid": w.process.pid, "trial": "", "target": "", "stage": ""}
    if job is not None:
        facts |= {"trial": job.name(place.position), "target": job.spelling(place), "stage": doing(place)}
    return facts
