"""A shard under way: what has arrived, what died on it so far, and which targets are not run any more."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from fuzz.execution import survived
from fuzz.judging.rows import trial_name
from fuzz.plan import Shard
from fuzz.trial import Death
from fuzz.workers.breadcrumb import Place
from fuzz.workers.handover import Spent
from results.columns import COLUMNS
from strategies.problem import Problem

QUARANTINE_DEATHS = 5
"""Fewer deaths of a target on a problem are scattered crashes, which cost a restart each and are counted one by one."""
_AT = {column.name: position for position, column in enumerate(COLUMNS)}
_DEADLY = frozenset({"crashed", "timed_out", "out_of_memory", "input_modified", "out_of_bounds_write"})


class Quarantine(Struct, frozen=True):
    """A target that is not run on a problem after `position`, within one shard."""

    problem: Problem
    target: int
    position: int
    deaths: int
    trials: int
    """Trials of this problem up to `position`, of which `deaths` ended a worker."""

    @property
    def reason(self) -> str:
        """For the rows of the trials that are not run."""
        return (
            f"not run: quarantined, this target ended a worker in {self.deaths} of the first {self.trials} trials "
            "of this problem in this shard"
        )


class Job:
    """The state of one shard between its first trial and its commit. Positions count trials within the shard.

    A job may start at `position`, behind trials whose `rows` and `elements` (lists in the order of results.columns)
    exist already: what died in them is read off the rows, so that the finished shard equals an undisturbed one.
    """

    def __init__(
        self,
        shard: Shard,
        position: int = 0,
        rows: Sequence[Sequence[Any]] = (),
        elements: Sequence[Sequence[Any]] = (),
    ) -> None:
        self.shard = shard
        self.position = position
        """The first trial whose rows have not arrived."""
        self.kept = position
        """The position up to which rows have been handed over, or were there from the beginning."""
        self.kept_at = 0.0
        """When that was (monotonic s), or when the job began."""
        self.rows = [list(row) for row in rows]
        self.elements = [list(row) for row in elements]
        self.deaths = _deaths(shard, position, self.rows)
        """By (position, target number)."""
        self.killers: dict[int, bytes] = {}
        """By target number: inputs on which it ended a worker during the hunt. It takes no part in it any more."""
        self.hunting = Spent()
        """What the hunt took."""
        self._unexplained: dict[tuple[int, int, str], int] = {}

    @property
    def complete(self) -> bool:
        return self.position >= self.shard.trials

    def receive(self, position: int, rows: list[list[Any]], elements: list[list[Any]]) -> int:
        """Take the rows of the trials before `position`; how many trials are new."""
        new = position - self.position
        self.position = position
        self.rows += rows
        self.elements += elements
        return new

    def found(self, shard: Shard, spent: Spent) -> None:
        """The hunt is over, and gave `shard`."""
        self.shard, self.hunting = shard, spent

    def unexplained(self, place: Place, cause: str) -> int:
        """Count a death that may be an accident, such as a kill by the operator; how many such there were there."""
        key = (place.position, place.target, cause)
        self._unexplained[key] = self._unexplained.get(key, 0) + 1
        return self._unexplained[key]

    def record(self, place: Place, death: Death) -> Quarantine | None:
        """The target is not run again on this trial; the quarantine, where this death is the one that imposes it."""
        before = {(q.problem, q.target) for q in self.quarantines()}
        self.deaths[place.position, place.target] = death
        return next((q for q in self.quarantines() if (q.problem, q.target) not in before), None)

    def not_run(self) -> dict[tuple[int, int], Death]:
        """By (position, target): what is known of the trials from `position` on without running the target."""
        known = {key: death for key, death in self.deaths.items() if key[0] >= self.position}
        for quarantine in self.quarantines():
            death = Death("indeterminate", quarantine.reason)
            for position, piece, _ in self.shard.positions(max(self.position, quarantine.position + 1)):
                if piece.cell.problem == quarantine.problem:
                    known[position, quarantine.target] = death
        return known

    def quarantines(self) -> Iterator[Quarantine]:
        """Targets that ended QUARANTINE_DEATHS workers or more on a problem, in more than half of its trials so far.

        A rule of the deaths in this shard alone, so that the rows do not depend on which worker ran what, nor when.
        """
        died: dict[tuple[Problem, int], list[int]] = {}
        for position, target in sorted(self.deaths):
            died.setdefault((self.shard.at(position)[0].cell.problem, target), []).append(position)
        for (problem, target), deaths in died.items():
            if len(deaths) < QUARANTINE_DEATHS:
                continue
            trials = [position for position, piece, _ in self.shard.positions(0) if piece.cell.problem == problem]
            for count, position in enumerate(deaths, start=1):
                so_far = bisect_right(trials, position)
                if count >= QUARANTINE_DEATHS and count * 2 > so_far:
                    yield Quarantine(problem, target, position, count, so_far)
                    break

    def name(self, position: int) -> str:
        """Short name of a trial, for messages."""
        piece, index = self.shard.at(min(position, self.shard.trials - 1))
        return trial_name(piece.cell.problem.id, index)

    def spelling(self, place: Place) -> str:
        """The target a place names, with its variant; "" between calls."""
        if place.target < 0:
            return ""
        cell = self.shard.at(min(place.position, self.shard.trials - 1))[0].cell
        return cell.spelled(place.target)


def _deaths(shard: Shard, stop: int, rows: Sequence[Sequence[Any]]) -> dict[tuple[int, int], Death]:
    """What ended workers in the trials before `stop`, read off their rows."""
    fatal = [row for row in rows if _ended_a_worker(row)]
    if not fatal:
        return {}
    places = {
        (piece.cell.problem.id, index): (position, piece.cell)
        for position, piece, index in shard.positions(0)
        if position < stop
    }
    found: dict[tuple[int, int], Death] = {}
    for row in fatal:
        position, cell = places[row[_AT["problem_id"]], row[_AT["index"]]]
        spellings = [target.spelling(cell.problem.home) for target in cell.targets]
        number = cell.number(spellings.index(row[_AT["target"]]), row[_AT["variant"]] or "")
        found[position, number] = Death(row[_AT["verdict"]], row[_AT["error"]])
    return found


def _ended_a_worker(row: Sequence[Any]) -> bool:
    error = row[_AT["error"]]
    return (
        row[_AT["against"]] == "truth" and row[_AT["verdict"]] in _DEADLY and error is not None and not survived(error)
    )
