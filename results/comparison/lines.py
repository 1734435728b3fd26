"""One line of a comparison: an operator, a dtype, a pair of targets; each problem of a small grid by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, structs

from results.comparison.changes import Change, RateChange, RhoChange
from results.comparison.design import Design, Plans, by_problem, design, of_problem
from results.comparison.detecting import detectable
from results.comparison.pairing import TargetPair
from results.comparison.rate_changes import rate_change
from results.comparison.rho_changes import rho_change
from results.comparison.trials import EVENTS, Trials, equal_outputs
from results.errors import NotPermitted
from results.permitted import require
from results.statistics.drift import LEAST
from results.statistics.multiple import Method, false_discovery
from results.statistics.proportions import rate_interval

METHOD: Method = "bh"
"""Thresholds are nested and targets have the same inputs: the tests of a comparison depend on each other positively."""

FEW_PROBLEMS = LEAST
"""A fixed plan of fewer problems gets a line for each: over so few of them as cells no test finds anything."""


class Line(Struct, frozen=True, kw_only=True):
    """What is compared, how, and the changes found."""

    pair: TargetPair
    problem: str = ""
    """Where each problem has a line of its own: its id."""
    way: str
    of: str
    why: str
    """Why nothing was tested."""
    first_trials: int
    """Trials that ran on this side, compared or not."""
    second_trials: int
    shared: int
    inputs_differ: int
    problems: int
    outputs: int
    """Outputs of shared trials that either side has."""
    equal: int
    """Of these, those that both have, with equal bits."""
    rates: tuple[RateChange, ...]
    rho: RhoChange

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*self.rates, self.rho)


def lines_of(pair: TargetPair, first: Trials, second: Trials, plans: Plans) -> Iterator[Line]:
    """The line of one pair of targets, or one for each problem of a fixed plan that has few and enough trials of each.

    p-values are not adjusted yet: `adjust` does so for all lines together.
    """
    found = design(first, second, plans)
    if found.way == "cells" and plans.plan == "fixed" and (names := _few(found)):
        for name in names:
            one = design(of_problem(first, name), of_problem(second, name), plans)
            yield _line(pair, one, len(of_problem(first, name)), len(of_problem(second, name)), plans, name)
        return
    yield _line(pair, found, len(first), len(second), plans)


def adjust(lines: Sequence[Line]) -> tuple[tuple[Line, ...], int]:
    """The lines with adjusted p-values and detectable rates, and how many tests were made: one family."""
    every = [change.p for line in lines for change in line.changes]
    adjusted = iter(false_discovery(every, METHOD))
    tests = sum(p is not None for p in every)
    done = []
    for line in lines:
        rates = tuple(
            structs.replace(rate, adjusted=next(adjusted), detectable=detectable(rate, line.way, tests))  # type: ignore[arg-type]
            for rate in line.rates
        )
        done.append(structs.replace(line, rates=rates, rho=structs.replace(line.rho, adjusted=next(adjusted))))
    return tuple(done), tests


def _few(found: Design) -> list[str]:
    """The problems of both sides, where they are few and each has enough trials on each side; else nothing."""
    one, other = by_problem(found.first), by_problem(found.second)
    names = sorted(one.keys() & other.keys())
    enough = all(min(len(one[name]), len(other[name])) >= LEAST for name in names)
    return names if enough and len(names) < FEW_PROBLEMS else []


def _line(pair: TargetPair, found: Design, first: int, second: int, plans: Plans, problem: str = "") -> Line:
    outputs, equal = equal_outputs(found.first, found.second) if found.shared else (0, 0)
    return Line(
        pair=pair,
        problem=problem,
        way=found.way,
        of=found.of,
        why=found.why,
        first_trials=first,
        second_trials=second,
        shared=found.shared,
        inputs_differ=found.inputs_differ,
        problems=found.problems,
        outputs=outputs,
        equal=equal,
        rates=_rates(found, plans),
        rho=rho_change(found),
    )


def _rates(found: Design, plans: Plans) -> tuple[RateChange, ...]:
    """The change of every event. Where each finding is a flagged trial and the reverse, that is one test, not two."""
    changes = {event: rate_change(event, found) for event in EVENTS}
    if all(np.array_equal(side.events["finding"], side.events["flagged"]) for side in (found.first, found.second)):
        del changes["finding"]
    return tuple(_with_intervals(change, found, plans) for change in changes.values())


def _with_intervals(change: RateChange, found: Design, plans: Plans) -> RateChange:
    """The exact interval of each side's rate, where the plan has one."""
    try:
        require("rate", plans.plan, problems=found.problems, cells=found.way == "cells")
    except NotPermitted:
        return change
    if plans.decided:
        return change
    first = rate_interval(change.first_k, change.first_n) if change.first_n else None
    second = rate_interval(change.second_k, change.second_n) if change.second_n else None
    return structs.replace(change, first=first, second=second)
