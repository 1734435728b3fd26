"""A campaign from spec to rows on disk: create or resume a directory, cut shards, run them, commit each one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

import fuzz
from fuzz.backends import BACKENDS
from fuzz.directory import FORMAT, CampaignDirectory
from fuzz.environment import environment, environment_id
from fuzz.errors import UserError
from fuzz.extensions import load_extension
from fuzz.operators import operator
from fuzz.plan import Piece, Shard, fixed_shards
from fuzz.spec import Resolved
from fuzz.supervisor import Finished, Limits, Supervisor
from fuzz.targets import Target, parse_target, require_installed
from fuzz.trial import Cell
from fuzz.worker import Setup
from results.columns import SCHEMA_VERSION
from results.store import Store
from strategies.given import STORE, Given
from strategies.precision import narrowest
from strategies.problem import Problem, problem_from_plain

SHARD_SECONDS = (1.0, 20.0)
"""Shortest and longest shard aimed at: what a kill costs at most, and what a file is worth at least."""
SHARDS_WANTED = 16
"""A short campaign is cut into at least this many shards, so that workers share it and a kill costs little."""
PILOT_TRIALS = 4
SURVEY_CHUNK = 20
"""Problems a shard of a survey: at 0.3-1 s of compilation each."""
MOST_SHARD_TRIALS = 4096
"""Keeps the rows of a shard, which wait in memory until it is complete, below some 20,000."""


class Progress(Protocol):
    """What the campaign tells a display."""

    def start(self, total: int, done: int) -> None: ...
    def advance(self, trials: int, rows: Sequence[Sequence[Any]]) -> None: ...
    def note(self, text: str) -> None: ...
    def stop(self) -> None: ...


class Settings(Struct, frozen=True):
    """How to run, not what: none of this changes a row."""

    workers: int = 1
    limits: Limits = Limits()
    shard_trials: int | None = None


class Campaign:
    """An open campaign directory with its plan."""

    def __init__(self, directory: CampaignDirectory, manifest: dict[str, Any]) -> None:
        self.directory, self.manifest = directory, manifest
        self.store = Store(directory.path)

    @classmethod
    def create(cls, resolved: Resolved, path: Path, extensions: Sequence[Path], settings: Settings) -> Campaign:
        """Make the directory and everything that describes the campaign. Nothing is written if the path is refused."""
        directory = CampaignDirectory(path)
        directory.create()
        directory.lock()
        for source in extensions:
            directory.add_extension(source)
        _save_given(resolved.cells, path / "given")
        campaign = cls(directory, _manifest(resolved))
        if resolved.spec.plan == "fixed":
            size = settings.shard_trials or campaign._measured_shard(settings)
            campaign.manifest["shard_trials"] = size
        else:
            campaign.manifest["shard_trials"] = settings.shard_trials or SURVEY_CHUNK
        directory.write_json("campaign.json", campaign.manifest)
        return campaign

    @classmethod
    def open(cls, path: Path) -> Campaign:
        """An existing campaign, locked for writing; leftovers of a killed run are removed."""
        directory = CampaignDirectory(path)
        manifest = directory.read_manifest()
        for extension in directory.extensions():
            load_extension(extension)
        directory.lock()
        campaign = cls(directory, manifest)
        campaign.store.clean()
        campaign.store.check()
        return campaign

    @property
    def total(self) -> int:
        """Trials of the whole plan."""
        if self.manifest["plan"] == "fixed":
            return len(self.manifest["cells"]) * int(self.manifest["trials"])
        return len(self.manifest["survey"]) * int(self.manifest["trials"])

    def run(self, settings: Settings, progress: Progress) -> int:
        """Compute every shard that is not on disk yet; the number of worker deaths survived."""
        self.directory.clear_temporary()
        done = self.store.done()
        shards = [shard for shard in self._sizes() if shard[0] not in done]
        remaining = sum(size for _, size in shards)
        with self._supervisor(settings) as supervisor:
            progress.start(self.total, self.total - remaining)
            try:
                wanted = {number for number, _ in shards}
                supervisor.run(self._shards(wanted), self._commit, progress.advance)
            finally:
                progress.stop()
            restarts = supervisor.restarts
        self.directory.clear_temporary()
        self.directory.unlock()
        return restarts

    def cells(self) -> tuple[Cell, ...]:
        """Cells of a fixed plan."""
        return tuple(_cell_from_plain(plain) for plain in self.manifest["cells"])

    def find(self, name: str) -> tuple[Cell, int]:
        """The cell and index of a trial by its short name, or by its index where there is one problem only."""
        problem, dash, index = name.rpartition("-")
        if not index.isdigit():
            raise UserError(f"cannot read trial {name!r}: write its name from the report, e.g. 1a2b3c4d-17")
        for cell, first, stop in self._ranges():
            if (cell.problem.id.startswith(problem) if dash else self._single()) and first <= int(index) < stop:
                return cell, int(index)
        if not dash and not self._single():
            raise UserError(f"trial {name!r} is ambiguous, this campaign has several problems: write PROBLEM-INDEX")
        raise UserError(f"no trial {name!r} in {self.directory.path}: the report and `trial` column name them")

    def _single(self) -> bool:
        return self.manifest["plan"] == "fixed" and len(self.manifest["cells"]) == 1

    def _ranges(self) -> Iterator[tuple[Cell, int, int]]:
        if self.manifest["plan"] == "fixed":
            for cell in self.cells():
                yield cell, 0, int(self.manifest["trials"])
        else:
            for number, _ in self._sizes():
                for piece in self._survey_shard(number).pieces:
                    yield piece.cell, piece.start, piece.stop

    def _sizes(self) -> list[tuple[int, int]]:
        """Number and trials of every shard, without building any problem."""
        trials, size = int(self.manifest["trials"]), int(self.manifest["shard_trials"])
        groups = self.manifest["cells"] if self.manifest["plan"] == "fixed" else self.manifest["survey"]
        per_group = [min(size, trials - start) for start in range(0, trials, size)]
        return list(enumerate(per_group * len(groups)))

    def _shards(self, wanted: set[int]) -> Iterator[Shard]:
        if self.manifest["plan"] == "fixed":
            shards = fixed_shards(self.cells(), int(self.manifest["trials"]), int(self.manifest["shard_trials"]))
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

        trials, size = int(self.manifest["trials"]), int(self.manifest["shard_trials"])
        chunks = math.ceil(trials / size)
        group = self.manifest["survey"][number // chunks]
        chunk = number % chunks
        targets = _targets_from_plain(group["targets"], group["home"])
        strategy = problems(operator(group["operator"]).contract, home=group["home"])
        drawn: list[Problem] = independent(strategy, _group_seed(self.manifest["seed"], group), chunk, size)
        start = chunk * size
        pieces = tuple(
            Piece(Cell(problem, targets, _pairs(group)), start + i, start + i + 1, first=start + i)
            for i, problem in enumerate(drawn[: trials - start])
        )
        return Shard(number, pieces)

    def _supervisor(self, settings: Settings) -> Supervisor:
        groups = [*self.manifest["cells"], *self.manifest["survey"]]
        names = sorted({_backend_of(spelling) for group in groups for spelling in group["targets"]})
        require_installed([Target(name, "", "float32") for name in names])
        facts = environment()
        identity = environment_id(facts)
        self.directory.add_environment(identity, facts)
        setup = Setup(
            crumb="",
            log="",
            seed=int(self.manifest["seed"]),
            environment=identity,
            backends=tuple(names),
            extensions=tuple(str(path) for path in self.directory.extensions()),
            given=str(self.directory.path / "given"),
        )
        modules = tuple(BACKENDS[name].module for name in names if BACKENDS[name].module)
        return Supervisor(self.directory.path, setup, settings.workers, settings.limits, modules)

    def _commit(self, finished: Finished) -> None:
        self.store.commit(finished.shard.number, finished.rows, finished.elements)

    def _measured_shard(self, settings: Settings) -> int:
        """Trials a shard, from the measured cost of a few trials of the most expensive problem."""
        cell = max(
            self.cells(),
            key=lambda cell: operator(cell.problem.operator).contract.cost.operations(dict(cell.problem.dims)),
        )
        seconds: list[float] = []
        with self._supervisor(settings) as supervisor:
            pilot = Shard(0, (Piece(cell, 0, min(PILOT_TRIALS, int(self.manifest["trials"]))),))
            supervisor.run(iter([pilot]), lambda f: seconds.append(f.seconds_per_trial), lambda trials, rows: None)
        each = max(seconds[0], 1e-4)
        shortest, longest = SHARD_SECONDS
        aim = min(max(each * self.total / SHARDS_WANTED / settings.workers, shortest), longest)
        return max(1, min(int(aim / each), MOST_SHARD_TRIALS))


def _manifest(resolved: Resolved) -> dict[str, Any]:
    spec = resolved.spec
    survey = []
    if spec.plan == "survey":
        for targets in resolved.targets:
            home = narrowest(tuple(target.dtype for target in targets))
            names = [target.spelling(home) for target in targets]
            pairs = [[_spelled(side, names, home) for side in pair] for pair in spec.pairs]
            survey += [{"operator": p.operator, "home": home, "targets": names, "pairs": pairs} for p in spec.problems]
    cells = [_cell_to_plain(cell) for cell in resolved.cells]
    first = (cells or survey)[0]
    published = spec.published
    event = (
        {
            "pair": first["pairs"][list(spec.pairs).index(published.pair)] if published.pair else None,
            "above": published.above,
        }
        if published
        else None
    )
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "version": fuzz.__version__,
        "title": spec.title,
        "plan": spec.plan,
        "seed": spec.seed,
        "trials": spec.trials,
        "targets": sorted({name for group in cells or survey for name in group["targets"]}),
        "pairs": first["pairs"],
        "published": published.rate if published else None,
        "published_event": event,
        "skipped": list(resolved.skipped),
        "cells": cells,
        "survey": survey,
    }


def _cell_to_plain(cell: Cell) -> dict[str, Any]:
    names = [target.spelling(cell.problem.home) for target in cell.targets]
    return {
        "problem_id": cell.problem.id,
        "problem": cell.problem.plain(),
        "targets": names,
        "pairs": [[names[a], names[b]] for a, b in cell.pairs],
    }


def _cell_from_plain(plain: dict[str, Any]) -> Cell:
    problem = problem_from_plain(plain["problem"], operator(plain["problem"]["operator"]).contract)
    return Cell(problem, _targets_from_plain(plain["targets"], problem.home), _pairs(plain))


def _targets_from_plain(names: Sequence[str], home: str) -> tuple[Target, ...]:
    return tuple(parse_target(name, home) for name in names)


def _pairs(plain: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    names = list(plain["targets"])
    return tuple((names.index(a), names.index(b)) for a, b in plain["pairs"])


def _spelled(side: str, names: Sequence[str], home: str) -> str:
    spelling = parse_target(side, home).spelling(home)
    return spelling if spelling in names else next(n for n in names if n.startswith(side.partition(":")[0] + ":"))


def _backend_of(spelling: str) -> str:
    return spelling.partition(":")[0]


def _group_seed(seed: int, group: dict[str, Any]) -> int:
    """A stream of problems of its own for each operator and dtype."""
    from strategies.canonical import identity

    return int(identity({"seed": seed, "operator": group["operator"], "home": group["home"]}), 16)


def _save_given(cells: Sequence[Cell], folder: Path) -> None:
    for cell in cells:
        for recipe in cell.problem.recipes:
            if isinstance(recipe, Given):
                STORE.save(folder, recipe.content, STORE.resolve(recipe.content))
