"""The numbered shards of a campaign: which trials each holds, as a pure function of what campaign.json says."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Container, Iterator

from fuzz.errors import UserError
from fuzz.manifest import Manifest
from fuzz.operators import operator
from fuzz.plan import Piece, Shard
from fuzz.rows import trial_name
from fuzz.trial import Cell
from strategies.problem import Problem

SURVEY_CHUNK = 20
"""Problems a shard of a survey: at 0.3-1 s of compilation each."""

_TRIAL = re.compile(r"(?:(?P<problem>[0-9a-f]+)-)?(?P<index>[0-9]+)")


class Agenda:
    """Shards go round the groups (problems of a fixed plan, operators of a survey): shard k is block k // G of group
    k % G, so that a campaign stopped at any time has treated all groups alike. Campaigns of schema version 1 ran one
    group after the other, as exhaustive plans do: what counts there is that a problem is finished.

    A plan without a number of trials is open-ended: its shards never run out.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self.size = manifest.shard_trials or SURVEY_CHUNK
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
        if self._manifest.plan != "survey":
            return Shard(number, (Piece(self.cells[group], indices.start, indices.stop),))
        return Shard(number, tuple(Piece(self._problem(group, i), i, i + 1, first=i) for i in indices))

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
        if self._manifest.plan != "survey":
            yield from self.cells
            return
        for group in range(self.groups):
            yield self._problem(group, index)

    @functools.cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The problems of a fixed or exhaustive plan."""
        return tuple(record.cell() for record in self._manifest.cells)

    def _problem(self, group: int, index: int) -> Cell:
        """Problem `index` of a survey's stream: a pure function of the campaign seed, operator, dtype and index."""
        block, offset = divmod(index, self.size)
        record = self._manifest.survey[group]
        seed = record.seed(self._manifest.seed)
        problem = _drawn(record.operator, record.home, seed, block, self.size)[offset]
        return Cell(problem, record.parsed_targets(), record.pair_positions())


@functools.lru_cache(maxsize=4)
def _drawn(name: str, home: str, seed: int, block: int, size: int) -> tuple[Problem, ...]:
    """Problems block*size, ... of the stream of an operator and dtype."""
    from strategies.generation import problems
    from strategies.iid import independent

    return tuple(independent(problems(operator(name).contract, home=home), seed, block, size))
