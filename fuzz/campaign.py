"""A campaign from spec to rows on disk: create or resume a directory, cut shards, run them, commit each one."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, structs

from fuzz.agenda import SURVEY_CHUNK, Agenda
from fuzz.backends import BACKENDS
from fuzz.directory import CampaignDirectory
from fuzz.environment import environment, environment_id
from fuzz.errors import InternalError, StorageError
from fuzz.extensions import load_extension
from fuzz.job import Job
from fuzz.manifest import Manifest, manifest_of
from fuzz.operators import operator
from fuzz.plan import Piece, Shard
from fuzz.spec import Resolved
from fuzz.supervisor import Finished, Limits, Supervisor
from fuzz.targets import Target, require_installed
from fuzz.trial import Cell
from fuzz.worker import Setup
from results.store import Store
from strategies.given import STORE, Given

SHARD_SECONDS = (1.0, 20.0)
"""Shortest and longest shard aimed at: what a kill costs at most, and what a file is worth at least."""
SHARDS_WANTED = 16
"""A short campaign is cut into at least this many shards, so that workers share it and a kill costs little."""
PILOT_TRIALS = 4
MOST_SHARD_TRIALS = 4096
"""Keeps the rows of a shard, which wait in memory until it is complete, below some 20,000."""


class Progress(Protocol):
    """What the campaign tells a display."""

    def start(self, total: int | None, done: int) -> None: ...
    def advance(self, trials: int, rows: Sequence[Sequence[Any]]) -> None: ...
    def stop(self) -> None: ...


class Settings(Struct, frozen=True):
    """How to run, not what: none of this changes a row."""

    workers: int = 1
    limits: Limits = Limits()
    shard_trials: int | None = None


class Campaign:
    """An open campaign directory with its plan."""

    def __init__(self, directory: CampaignDirectory, manifest: Manifest) -> None:
        self.directory, self.manifest = directory, manifest
        self.store = Store(directory.path)
        self.agenda = Agenda(manifest)

    @classmethod
    def create(cls, resolved: Resolved, path: Path, extensions: Sequence[Path], settings: Settings) -> Campaign:
        """Make the directory and everything that describes the campaign. Nothing is written if the path is refused."""
        directory = CampaignDirectory(path)
        directory.create()
        size = settings.shard_trials or (SURVEY_CHUNK if resolved.spec.plan == "survey" else None)
        with directory.unlocked_on_error():
            campaign = cls(directory, manifest_of(resolved, size))
            directory.add_extensions(extensions)
            with directory.writing():
                _save_given(resolved.cells, path / "given")
            directory.write_manifest(campaign.manifest)
        return campaign

    @classmethod
    def open(cls, path: Path) -> Campaign:
        """An existing campaign, locked for writing; leftovers of a killed run are removed."""
        directory = CampaignDirectory(path)
        manifest = directory.read_manifest()
        directory.lock()
        with directory.unlocked_on_error():
            for extension in directory.extensions():
                load_extension(extension)
            STORE.register(path / "given")
            campaign = cls(directory, manifest)
            campaign.store.clean()
            campaign.store.check()
        return campaign

    def run(self, settings: Settings, progress: Progress) -> int:
        """Compute every shard that is not on disk yet, and leave the directory to others; the worker deaths survived.

        After an InternalError the logs of the workers stay in tmp/.
        """
        with self.directory.unlocked_on_error():
            try:
                restarts = self._run(settings, progress)
            except InternalError:
                raise
            except BaseException:
                with contextlib.suppress(StorageError):  # what went wrong first is what to say
                    self.directory.clear_temporary()
                raise
            self.directory.clear_temporary()
        self.directory.unlock()
        return restarts

    def _run(self, settings: Settings, progress: Progress) -> int:
        self.directory.clear_temporary()
        done = self.store.done()
        progress.start(self.manifest.total, sum(len(self.agenda.range(number)) for number in done))
        try:
            with self._supervisor(settings) as supervisor:
                if self.manifest.shard_trials is None:
                    size = self._measured_shard(supervisor, settings.workers)
                    self.manifest = structs.replace(self.manifest, shard_trials=size)
                    self.directory.write_manifest(self.manifest)
                    self.agenda = Agenda(self.manifest)
                supervisor.run(map(Job, self._shards(done)), self._commit, progress.advance)
                return supervisor.restarts
        finally:
            progress.stop()

    def find(self, name: str) -> tuple[Cell, int]:
        """The cell and index of a trial by its short name, or by its index where there is one problem only."""
        return self.agenda.find(name)

    def _shards(self, finished: Container[int]) -> Iterator[Shard]:
        """What is left to do, each survey problem written down before it runs."""
        for number in self.agenda.numbers(finished):
            shard = self.agenda.shard(number)
            if self.manifest.plan != "fixed":
                problems = [piece.cell.problem.plain() for piece in shard.pieces]
                self.directory.write_json(f"problems/{number:08d}.json", problems)
            yield shard

    def _supervisor(self, settings: Settings) -> Supervisor:
        names = self.manifest.backends
        require_installed([Target(name, "", "float32") for name in names])
        facts = environment()
        identity = environment_id(facts)
        self.directory.add_environment(identity, facts)
        setup = Setup(
            crumb="",
            log="",
            seed=self.manifest.seed,
            environment=identity,
            backends=names,
            extensions=tuple(str(path.absolute()) for path in self.directory.extensions()),
            given=str((self.directory.path / "given").absolute()),
        )
        return Supervisor(self.directory.path, setup, settings.workers, settings.limits, _modules(names))

    def _commit(self, finished: Finished) -> None:
        self.store.commit(finished.shard.number, finished.rows, finished.elements)

    def _measured_shard(self, supervisor: Supervisor, workers: int) -> int:
        """Trials a shard, from the measured cost of a few trials of the most expensive problem."""
        cell = max(
            self.agenda.cells,
            key=lambda cell: operator(cell.problem.operator).contract.cost.operations(dict(cell.problem.dims)),
        )
        seconds: list[float] = []
        trials, total = self.manifest.trials, self.manifest.total
        pilot = Shard(0, (Piece(cell, 0, PILOT_TRIALS if trials is None else min(PILOT_TRIALS, trials)),))
        supervisor.run(iter([Job(pilot)]), lambda f: seconds.append(f.seconds_per_trial), lambda trials, rows: None)
        each = max(seconds[0], 1e-4)
        work = math.inf if total is None else each * total
        if self.manifest.seconds is not None:
            work = min(work, self.manifest.seconds * workers / self.agenda.groups)
        shortest, longest = SHARD_SECONDS
        aim = min(max(work / SHARDS_WANTED / workers, shortest), longest)
        return max(1, min(int(aim / each), MOST_SHARD_TRIALS))


def _modules(names: Sequence[str]) -> tuple[str, ...]:
    """The libraries of these backends, to be imported once for all workers."""
    return tuple(BACKENDS[name].module for name in names if BACKENDS[name].module)


def _save_given(cells: Sequence[Cell], folder: Path) -> None:
    for cell in cells:
        for recipe in cell.problem.recipes:
            if isinstance(recipe, Given):
                STORE.save(folder, recipe.content, STORE.resolve(recipe.content))
