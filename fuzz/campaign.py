"""A campaign from spec to rows on disk: create or resume a directory, cut shards, run them, commit each one."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, structs

from fuzz.backends import BACKENDS
from fuzz.directory import CampaignDirectory
from fuzz.environment import environment, environment_id
from fuzz.errors import InternalError, StorageError, UserError
from fuzz.extensions import load_extension
from fuzz.manifest import Manifest, SurveyRecord, manifest_of
from fuzz.operators import operator
from fuzz.plan import Piece, Shard, fixed_shards
from fuzz.rows import trial_name
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
SURVEY_CHUNK = 20
"""Problems a shard of a survey: at 0.3-1 s of compilation each."""
MOST_SHARD_TRIALS = 4096
"""Keeps the rows of a shard, which wait in memory until it is complete, below some 20,000."""

_TRIAL = re.compile(r"(?:(?P<problem>[0-9a-f]+)-)?(?P<index>[0-9]+)")


class Progress(Protocol):
    """What the campaign tells a display."""

    def start(self, total: int, done: int) -> None: ...
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
        progress.start(self.manifest.total, sum(size for number, size in self._sizes() if number in done))
        try:
            with self._supervisor(settings) as supervisor:
                if self.manifest.shard_trials is None:
                    size = self._measured_shard(supervisor, settings.workers)
                    self.manifest = structs.replace(self.manifest, shard_trials=size)
                    self.directory.write_manifest(self.manifest)
                wanted = {number for number, _ in self._sizes() if number not in done}
                supervisor.run(self._shards(wanted), self._commit, progress.advance)
                return supervisor.restarts
        finally:
            progress.stop()

    def find(self, name: str) -> tuple[Cell, int]:
        """The cell and index of a trial by its short name, or by its index where there is one problem only."""
        match = _TRIAL.fullmatch(name)
        if match is None:
            raise UserError(f"cannot read trial {name!r}: write its name from the report, e.g. 1a2b3c4d-17")
        index, problem = int(match["index"]), match["problem"] or ""
        cells = [cell for cell in self._cells_at(index) if cell.problem.id.startswith(problem)]
        if not cells:
            raise UserError(f"no trial {name!r} in {self.directory.path}: the report and `trial` column name them")
        if len(cells) > 1:
            names = " or ".join(trial_name(cell.problem.id, index) for cell in cells[:3])
            raise UserError(f"trial {name!r} is ambiguous, this campaign has several problems: write {names}")
        return cells[0], index

    def _cells_at(self, index: int) -> Iterator[Cell]:
        """The cell of every group that has a trial of this index."""
        if index >= self.manifest.trials:
            return
        if self.manifest.plan == "fixed":
            yield from self._cells()
            return
        size = self._shard_trials()
        chunks = math.ceil(self.manifest.trials / size)
        for group in range(len(self.manifest.survey)):
            yield self._survey_shard(group * chunks + index // size).at(index % size)[0].cell

    def _cells(self) -> tuple[Cell, ...]:
        return tuple(record.cell() for record in self.manifest.cells)

    def _shard_trials(self) -> int:
        return self.manifest.shard_trials or SURVEY_CHUNK

    def _sizes(self) -> list[tuple[int, int]]:
        """Number and trials of every shard, without building any problem."""
        trials, size = self.manifest.trials, self._shard_trials()
        per_group = [min(size, trials - start) for start in range(0, trials, size)]
        return list(enumerate(per_group * len(self.manifest.groups)))

    def _shards(self, wanted: set[int]) -> Iterator[Shard]:
        if self.manifest.plan == "fixed":
            shards = fixed_shards(self._cells(), self.manifest.trials, self._shard_trials())
            yield from (shard for shard in shards if shard.number in wanted)
            return
        for number in sorted(wanted):
            shard = self._survey_shard(number)
            problems = [piece.cell.problem.plain() for piece in shard.pieces]
            self.directory.write_json(f"problems/{number:08d}.json", problems)
            yield shard

    def _survey_shard(self, number: int) -> Shard:
        """Problems of one chunk: a pure function of seed, group and chunk number. Index = number in the stream."""
        from strategies.generation import problems
        from strategies.iid import independent

        trials, size = self.manifest.trials, self._shard_trials()
        group_number, chunk = divmod(number, math.ceil(trials / size))
        group: SurveyRecord = self.manifest.survey[group_number]
        targets, pairs = group.parsed_targets(), group.pair_positions()
        strategy = problems(operator(group.operator).contract, home=group.home)
        drawn = independent(strategy, group.seed(self.manifest.seed), chunk, size)
        start = chunk * size
        pieces = tuple(
            Piece(Cell(problem, targets, pairs), start + i, start + i + 1, first=start + i)
            for i, problem in enumerate(drawn[: trials - start])
        )
        return Shard(number, pieces)

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
            self._cells(),
            key=lambda cell: operator(cell.problem.operator).contract.cost.operations(dict(cell.problem.dims)),
        )
        seconds: list[float] = []
        pilot = Shard(0, (Piece(cell, 0, min(PILOT_TRIALS, self.manifest.trials)),))
        supervisor.run(iter([pilot]), lambda f: seconds.append(f.seconds_per_trial), lambda trials, rows: None)
        each = max(seconds[0], 1e-4)
        shortest, longest = SHARD_SECONDS
        aim = min(max(each * self.manifest.total / SHARDS_WANTED / workers, shortest), longest)
        return max(1, min(int(aim / each), MOST_SHARD_TRIALS))


def _modules(names: Sequence[str]) -> tuple[str, ...]:
    """The libraries of these backends, to be imported once for all workers."""
    return tuple(BACKENDS[name].module for name in names if BACKENDS[name].module)


def _save_given(cells: Sequence[Cell], folder: Path) -> None:
    for cell in cells:
        for recipe in cell.problem.recipes:
            if isinstance(recipe, Given):
                STORE.save(folder, recipe.content, STORE.resolve(recipe.content))
