"""The numbered shards of a campaign: which trials each holds, as a pure function of what campaign.json says."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import TypeAlias

from fuzz.campaigns.drawing import DRAWN, EVALUATIONS, SEARCH, drawn
from fuzz.campaigns.manifest import Manifest
from fuzz.errors import UserError
from fuzz.judging.rows import trial_name
from fuzz.plan import Hunt, Piece, Shard
from fuzz.targets import Target
from fuzz.trial import Cell
from strategies.canonical import identity
from strategies.choices import POPULATION
from strategies.problem import Problem

Written: TypeAlias = Callable[[int], Sequence[Problem] | None]
"""The problems of a shard as they were written down; None where they were not."""

_TRIAL = re.compile(r"(?:(?P<problem>[0-9a-f]+)-)?(?P<index>[0-9]+)")


class Agenda:
    """Shards go round the groups (problems of a fixed plan, operators of a drawn one): shard k is block k // G of group
    k % G, so that a campaign stopped at any time has treated all groups alike. Campaigns of schema version 1 ran one
    group after the other, as exhaustive plans do: what counts there is that a problem is finished.

    A plan without a number of trials is open-ended: its shards never run out.
    """

    def __init__(self, manifest: Manifest, written: Written = lambda number: None) -> None:
        self._manifest, self._written = manifest, written
        self.size = manifest.shard_trials or (DRAWN[manifest.plan].chunk if manifest.plan in DRAWN else 1)
        """Trials a shard; the last of a group may have fewer."""
        self.groups = len(manifest.groups)
        self.blocks = None if manifest.trials is None else math.ceil(manifest.trials / self.size)
        """Shards a group; None: no end."""

    def numbers(self, finished: Container[int] = ()) -> Iterator[int]:
        """Shards that are not `finished`, in the order in which they are due."""
        every = itertools.count() if self.blocks is None else range(self.groups * self.blocks)
        return (number for number in every if number not in finished)

    def place(self, number: int) -> tuple[int, int]:
        """Group and block of a shard."""
        if self._manifest.rotating:
            block, group = divmod(number, self.groups)
        else:
            assert self.blocks is not None  # an open end came later than rotation
            group, block = divmod(number, self.blocks)
        return group, block

    def number(self, group: int, block: int) -> int:
        """Inverse of `place`."""
        if self._manifest.rotating:
            return block * self.groups + group
        assert self.blocks is not None
        return group * self.blocks + block

    def range(self, number: int) -> range:
        """Indices of the trials of a shard, within its group."""
        _, block = self.place(number)
        start, trials = block * self.size, self._manifest.trials
        return range(start, start + self.size if trials is None else min(start + self.size, trials))

    def shard(self, number: int) -> Shard:
        group, _ = self.place(number)
        indices = self.range(number)
        if self._manifest.plan not in DRAWN:
            return Shard(number, (Piece(self.cells[group], indices.start, indices.stop),))
        if (hunt := self._hunt(number)) is not None:
            return Shard(number, (Piece(self._drawn_cells(number)[0], indices.start, indices.stop),), hunt)
        return self._pieces(number, self._drawn_cells(number))

    def filled(self, number: int, problems: Sequence[Problem]) -> Shard:
        """The shard after its hunt, which gave `problems`."""
        targets, pairs = self._targets(number)
        return self._pieces(number, [self._cell(problem, targets, pairs) for problem in problems])

    def _pieces(self, number: int, cells: Sequence[Cell]) -> Shard:
        alone = DRAWN[self._manifest.plan].alone
        first: dict[Problem, int] = {}
        pieces = []
        for index, cell in zip(self.range(number), itertools.cycle(cells), strict=False):
            seen = first.setdefault(cell.problem, index)
            pieces.append(Piece(cell, index, index + 1, first=index if alone else seen))
        return Shard(number, tuple(pieces))

    def find(self, name: str, where: str = "this campaign") -> tuple[Cell, int]:
        """The cell and index of a trial by its short name, or by its index where there is one problem only."""
        match = _TRIAL.fullmatch(name)
        if match is None:
            raise UserError(f"cannot read trial {name!r}: write its name from the report, e.g. 1a2b3c4d-17")
        index, problem = int(match["index"]), match["problem"] or ""
        cells = [cell for cell in self._cells_at(index) if cell.problem.id.startswith(problem)]
        if not cells:
            raise UserError(f"no trial {name!r} in {where}: the report and the `trial` column name them")
        if len(cells) > 1:
            names = " or ".join(trial_name(cell.problem.id, index) for cell in cells[:3])
            raise UserError(f"trial {name!r} is ambiguous, this campaign has several problems: write {names}")
        return cells[0], index

    def _cells_at(self, index: int) -> Iterator[Cell]:
        """The cell of every group that has a trial of this index."""
        if self._manifest.trials is not None and index >= self._manifest.trials:
            return
        if self._manifest.plan not in DRAWN:
            yield from self.cells
            return
        block, offset = divmod(index, self.size)
        for group in range(self.groups):
            number = self.number(group, block)
            if self._hunt(number) is None:
                yield self._drawn_cells(number)[offset]

    @functools.cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The problems of a fixed or exhaustive plan."""
        return tuple(record.cell(self._manifest.variants) for record in self._manifest.cells)

    def _drawn_cells(self, number: int) -> list[Cell]:
        """The cell of each trial of a shard of a drawn plan: a pure function of seed, operator, dtype and number."""
        group, block = self.place(number)
        record, plan = self._manifest.survey[group], self._manifest.plan
        problems = self._written(number)
        if problems is None or len(problems) != len(self.range(number)):
            self._require_population()
            seed = record.seed(self._manifest.seed)
            problems = drawn(plan, record.operator, record.home, seed, block, self.size)[: len(self.range(number))]
        targets, pairs = self._targets(number)
        return [self._cell(problem, targets, pairs) for problem in problems]

    def _cell(self, problem: Problem, targets: tuple[Target, ...], pairs: tuple[tuple[int, int], ...]) -> Cell:
        return Cell(problem, targets, pairs, self._manifest.variants)

    def _require_population(self) -> None:
        """Problems of another population must not be added to a campaign. UserError where they would be."""
        if self._manifest.population != POPULATION:
            raise UserError(
                f"this campaign draws from the population {self._manifest.population or 'problems-1'}, this ulpfuzz "
                f"from {POPULATION}: go on with the version that began it, or start a new campaign; "
                "what it has stays valid"
            )

    def _targets(self, number: int) -> tuple[tuple[Target, ...], tuple[tuple[int, int], ...]]:
        """Targets and pairs of a shard of a drawn plan."""
        record = self._manifest.survey[self.place(number)[0]]
        return record.parsed_targets(), record.pair_positions()

    def _hunt(self, number: int) -> Hunt | None:
        """What has to be done before the problems of a shard are known."""
        if self._manifest.plan != SEARCH or self._written(number) is not None:
            return None
        group, block = self.place(number)
        seed = self._manifest.survey[group].seed(self._manifest.seed)
        return Hunt(int(identity({"seed": seed, "island": block}), 16), self._manifest.evaluations or EVALUATIONS)
