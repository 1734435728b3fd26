"""Running a campaign: shards to workers, rows to disk, until the plan, the time, a decision or the user ends it."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Protocol

from msgspec import Struct

import fuzz
from fuzz.backends import BACKENDS
from fuzz.campaigns.budget import Clock, Stop
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.deciding import Deciding
from fuzz.campaigns.drawing import DRAWN
from fuzz.campaigns.effort import Effort
from fuzz.campaigns.environment import environment, environment_id
from fuzz.campaigns.log import Log, elapsed
from fuzz.campaigns.recorder import Recorder
from fuzz.campaigns.written import problems_from_plain, write_problems
from fuzz.errors import InternalError, StorageError
from fuzz.interrupts import gentle_interrupts
from fuzz.operators import operator
from fuzz.plan import Piece, Shard
from fuzz.targets import Target, require_installed
from fuzz.workers.health import OnEvent, ignore
from fuzz.workers.job import Job
from fuzz.workers.local import LocalRunner
from fuzz.workers.supervisor import Finished, Limits, Supervisor
from fuzz.workers.worker import Setup
from results.compaction import Compacted, Compaction, compact, due
from results.errors import StoreError

SHARD_SECONDS = (1.0, 20.0)
"""Shortest and longest shard aimed at: what a kill costs at most, and what a file is worth at least."""
SHARDS_WANTED = 16
"""A short campaign is cut into at least this many shards, so that workers share it and a kill costs little."""
PILOT_TRIALS = 4
LOOK_SECONDS = 0.5
"""Between two looks at the workers, the log and the display."""
MOST_PARTS = 64
"""Shards after which it is asked whether their parts should be merged."""
MOST_SHARD_TRIALS = 4096
"""Keeps the rows of a shard, which wait in memory until it is complete, below some 20,000."""


class Display(Protocol):
    """Shows a recorder's snapshots while a run goes on."""

    def start(self) -> None: ...
    def refresh(self) -> None: ...
    def stop(self) -> None: ...


class Settings(Struct, frozen=True):
    """How to run, not what: none of this changes a row."""

    workers: int = 1
    limits: Limits = Limits()
    shard_trials: int | None = None
    in_process: bool = False
    """Trials run in this process: for functions that no other can have."""


class Outcome(Struct, frozen=True):
    """How a run ended."""

    reason: str
    """Why before the plan's end: time, decision or interrupt; empty where the plan is done."""
    interrupted: bool
    restarts: int
    """Workers that died and were replaced."""
    effort: str
    """What it took, in one line; empty where nothing ran."""


class Run:
    """One run of a campaign. Further runs go on where it stopped."""

    def __init__(self, campaign: Campaign, settings: Settings, display: Callable[[Recorder], Display]) -> None:
        self._campaign, self._settings = campaign, settings
        self._directory, self._store = campaign.directory, campaign.store
        path = campaign.directory.path
        before = elapsed(path)
        self._recorder = Recorder.of(campaign.manifest, path, before=before, log=Log(path))
        self._display = display(self._recorder)
        self._deciding = Deciding(campaign.manifest, campaign.agenda)
        self._clock = Clock(before)
        self._stop = Stop(self._clock, campaign.manifest.seconds, lambda: self._deciding.settled)
        self._effort = Effort(campaign.manifest.plan in DRAWN)
        self._compaction: Compaction | None = None
        self._parts_since = MOST_PARTS
        """Shards committed since parts were merged; those of earlier runs are looked at once."""
        self._next_look = 0.0

    def execute(self) -> Outcome:
        """Compute what is not on disk yet, and leave the directory to others.

        After an InternalError the logs of the workers stay in tmp/.
        """
        with self._directory.unlocked_on_error():
            try:
                restarts = self._execute()
            except InternalError:
                raise
            except BaseException:
                with contextlib.suppress(StorageError):  # what went wrong first is what to say
                    self._directory.clear_temporary()
                raise
            self._directory.clear_temporary()
        self._directory.unlock()
        effort = self._effort.line(self._clock.running())
        return Outcome(self._stop.reason, bool(self._stop.interrupted), restarts, effort)

    def _execute(self) -> int:
        self._directory.clear_temporary()
        done, partial = self._store.done(), self._store.partial()
        agenda = self._campaign.agenda
        if done or partial:
            self._recorder.preload()
        there = sum(len(agenda.range(number)) for number in done) + sum(partial.values())
        facts = {"version": fuzz.__version__, "workers": self._settings.workers, "pid": os.getpid()}
        self._recorder.start(self._campaign.manifest.total, there, facts)
        self._display.start()
        reason = "stopped by an error"
        try:
            restarts = self._compute(done, partial)
            reason = self._stop.reason or "done"
            return restarts
        except BaseException as error:
            self._recorder.event("error", {"what": " ".join(str(error).split()) or type(error).__name__})
            raise
        finally:
            self._recorder.event("effort", self._effort.facts())
            self._recorder.stop(reason)
            self._display.stop()

    def _compute(self, done: Set[int], partial: Mapping[int, int]) -> int:
        supervisor = runner_of(self._campaign, self._settings, self._recorder.event)
        with supervisor, gentle_interrupts(self._stop), contextlib.ExitStack() as compactions:
            if self._campaign.manifest.shard_trials is None:
                self._measure_shards(supervisor)
            self._deciding = Deciding(self._campaign.manifest, self._campaign.agenda)
            if done:
                self._deciding.load(self._directory.path, done)

            def stop() -> bool:
                self._look_after(supervisor, compactions)
                if self._stop.interrupted and not self._stop.reason:
                    print("stopping after the present trials; once more: now", file=sys.stderr, flush=True)
                return self._stop()

            supervisor.run(self._jobs(done, partial), self._commit, self._advance, stop, self._found)
        if len(self._store.part_facts()) > MOST_PARTS and not self._stop.interrupted:
            with self._merging():
                self._merged(compact(self._directory.path, final=True, tick=self._directory.heartbeat))
        return supervisor.restarts

    def _advance(self, trials: int, rows: list[list[Any]]) -> None:
        self._clock.begin()
        self._recorder.advance(trials, rows)

    @contextlib.contextmanager
    def _merging(self) -> Iterator[None]:
        """Small parts are as good as large ones: a merge that fails is noted and tried again later."""
        try:
            yield
        except StoreError as error:
            self._recorder.event("not_compacted", {"why": str(error)})

    def _merged(self, done: Compacted) -> None:
        self._recorder.event("compacted", {"what": done.line()})

    def _look_after(self, supervisor: Supervisor | LocalRunner, compactions: contextlib.ExitStack) -> None:
        """What is due from time to time: sign of life, log, display, merging of small parts."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOK_SECONDS
        self._recorder.health(supervisor.health())
        self._recorder.tick()
        self._display.refresh()
        self._directory.heartbeat()
        if self._compaction is not None:
            with self._merging():
                if (merged := self._compaction.poll()) is None:
                    return
                self._merged(merged)
            self._compaction = None
        if self._compaction is None and self._parts_since >= MOST_PARTS and due(self._store):
            self._compaction = compactions.enter_context(Compaction(self._directory.path))
            self._parts_since = 0

    def _jobs(self, done: Set[int], partial: Mapping[int, int]) -> Iterator[Job]:
        """What is left to do, each drawn problem written down before it runs."""
        agenda = self._campaign.agenda
        for number in self._deciding.unsettled(agenda.numbers(done)):
            shard = agenda.shard(number)
            if self._campaign.manifest.plan in DRAWN and shard.hunt is None:
                write_problems(self._directory, number, [piece.cell.problem for piece in shard.pieces])
            rows, elements = self._store.read(number) if number in partial else ([], [])
            yield Job(shard, partial.get(number, 0), rows, elements)

    def _found(self, number: int, plain: list[Any]) -> Shard:
        """Write down what a hunt gave: from then on the shard is like any other."""
        write_problems(self._directory, number, problems_from_plain(plain))
        return self._campaign.agenda.shard(number)

    def _commit(self, finished: Finished) -> None:
        done = None if finished.complete else finished.position
        self._store.commit(finished.shard.number, finished.rows, finished.elements, done)
        self._parts_since += 1
        self._effort.add(finished)
        self._recorder.event("shard", {"shard": finished.shard.number, "trials": finished.position})
        if finished.complete:
            self._deciding.add(finished.shard.number, finished.rows)

    def _measure_shards(self, supervisor: Supervisor | LocalRunner) -> None:
        """Choose the trials of a shard by the measured cost of a few trials of the most expensive problem."""
        manifest, agenda, workers = self._campaign.manifest, self._campaign.agenda, self._settings.workers
        cell = max(
            agenda.cells,
            key=lambda cell: operator(cell.problem.operator).contract.cost.operations(dict(cell.problem.dims)),
        )
        seconds: list[float] = []
        trials, total = manifest.trials, manifest.total
        pilot = Shard(0, (Piece(cell, 0, PILOT_TRIALS if trials is None else min(PILOT_TRIALS, trials)),))
        supervisor.run(iter([Job(pilot)]), lambda f: seconds.append(f.spent.each), lambda trials, rows: None)
        each = max(seconds[0], 1e-4)
        work = math.inf if total is None else each * total
        if manifest.seconds is not None:
            work = min(work, manifest.seconds * workers / agenda.groups)
        shortest, longest = SHARD_SECONDS
        aim = min(max(work / SHARDS_WANTED / workers, shortest), longest)
        self._campaign.cut(max(1, min(int(aim / each), MOST_SHARD_TRIALS)))


def runner_of(campaign: Campaign, settings: Settings, on_event: OnEvent = ignore) -> Supervisor | LocalRunner:
    """What computes a campaign's trials: workers, or this process."""
    if not settings.in_process:
        return supervisor_of(campaign, settings, on_event)
    return LocalRunner(campaign.manifest.seed, _environment(campaign))


def _environment(campaign: Campaign) -> str:
    """The environment that trials run in here, written down; its id."""
    facts = environment()
    identity = environment_id(facts)
    campaign.directory.add_environment(identity, facts)
    return identity


def supervisor_of(campaign: Campaign, settings: Settings, on_event: OnEvent = ignore) -> Supervisor:
    """The supervisor for a campaign's workers; the environment they run in is written down."""
    directory, names = campaign.directory, campaign.manifest.backends
    require_installed([Target(name, "", "float32") for name in names])
    identity = _environment(campaign)
    setup = Setup(
        crumb="",
        log="",
        seed=campaign.manifest.seed,
        environment=identity,
        backends=names,
        extensions=tuple(str(file.absolute()) for file in directory.extensions()),
        given=str((directory.path / "given").absolute()),
    )
    return Supervisor(directory.path, setup, settings.workers, settings.limits, _modules(names), on_event)


def _modules(names: Sequence[str]) -> tuple[str, ...]:
    """The libraries of these backends, to be imported once for all workers."""
    return tuple(BACKENDS[name].module for name in names if BACKENDS[name].module)
