"""A shard under way: what has arrived, and what died on it so far."""

from __future__ import annotations

from typing import Any

from fuzz.breadcrumb import Place
from fuzz.plan import Shard
from fuzz.rows import trial_name
from fuzz.trial import Death

QUARANTINE = 25
"""Deaths of one target within one shard after which its remaining trials there are not run."""


class Job:
    """The state of one shard between its first trial and its commit. Positions count trials within the shard."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.position = 0
        """The first trial whose rows have not arrived."""
        self.rows: list[list[Any]] = []
        self.elements: list[list[Any]] = []
        self.deaths: dict[tuple[int, int], Death] = {}
        """By (position, target number)."""
        self._unexplained: dict[tuple[int, int], int] = {}

    def receive(self, position: int, rows: list[list[Any]], elements: list[list[Any]]) -> int:
        """Take the rows of the trials before `position`; how many trials are new."""
        new = position - self.position
        self.position = position
        self.rows += rows
        self.elements += elements
        return new

    def unexplained(self, place: Place) -> int:
        """Count a death that may be an accident, such as a kill by the operator; how many there were at this place."""
        key = (place.position, place.target)
        self._unexplained[key] = self._unexplained.get(key, 0) + 1
        return self._unexplained[key]

    def record(self, place: Place, death: Death) -> None:
        """The target is not run again on this trial; and no more on this problem where it keeps killing workers.

        A rule of the shard alone, so that the rows do not depend on which worker ran what.
        """
        self.deaths[place.position, place.target] = death
        problem = self.shard.at(place.position)[0].cell.problem
        here = [
            position
            for position, target in self.deaths
            if target == place.target and self.shard.at(position)[0].cell.problem == problem
        ]
        if len(here) < QUARANTINE:
            return
        not_run = Death("indeterminate", f"not run: this target ended {QUARANTINE} workers on this problem")
        for position, piece, _ in self.shard.positions(place.position + 1):
            if piece.cell.problem == problem:
                self.deaths.setdefault((position, place.target), not_run)

    def name(self, position: int) -> str:
        """Short name of a trial, for messages."""
        piece, index = self.shard.at(min(position, self.shard.trials - 1))
        return trial_name(piece.cell.problem.id, index)
