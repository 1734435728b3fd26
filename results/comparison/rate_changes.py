"""How often an event happens on either side, tested as the design allows."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from results.comparison.changes import RateChange
from results.comparison.design import Design, by_problem
from results.comparison.trials import Trials
from results.statistics.paired import compare_trials, compare_values
from results.statistics.proportions import compare_with_published
from results.statistics.samples import Floats


def rate_change(event: str, found: Design) -> RateChange:
    """Compare how often an event happens, over the trials in which it can be told (pairs: on both sides).

    An event that neither side has, or sides that never disagree, is no test: no outcome could have been called
    different, and counting it would cost the other tests their power (Tarone, Biometrics 46 (1990) 515-522).
    """
    first, second = _told(event, found)
    one, other = _marks(event, first), _marks(event, second)
    seen = _seen(event, one, other)
    if found.way == "refused":
        return structs.replace(seen, why=found.why)
    if not len(one) or not len(other):
        return structs.replace(seen, why="no trial has an output to measure")
    if found.way == "pairs":
        return _of_pairs(seen, one, other)
    if not one.any() and not other.any():
        return structs.replace(seen, why="it happened on neither side")
    if one.all() and other.all():
        return structs.replace(seen, why="it happened in every trial of both sides")
    if found.way == "cells":
        return _of_cells(seen, event, first, second)
    tested = compare_with_published(seen.second_k, seen.second_n, seen.first_k, seen.first_n)
    ends = {"ratio_low": tested.ratio_low, "ratio_high": tested.ratio_high}
    return structs.replace(seen, test=tested.test, p=tested.p, **ends)


def _seen(event: str, one: Floats, other: Floats) -> RateChange:
    """The counts, untested."""
    k1, n1, k2, n2 = int(one.sum()), len(one), int(other.sum()), len(other)
    return RateChange(
        event=event,
        first_k=k1,
        first_n=n1,
        second_k=k2,
        second_n=n2,
        ratio=(k2 / n2) / (k1 / n1) if k1 and n2 else None,
        worse=bool(n1 and n2 and k2 * n1 > k1 * n2),
    )


def _told(event: str, found: Design) -> tuple[Trials, Trials]:
    one, other = found.first.known(event), found.second.known(event)
    if found.way == "pairs":
        one = other = one & other
    return found.first.at(one), found.second.at(other)


def _of_pairs(seen: RateChange, one: Floats, other: Floats) -> RateChange:
    only_first, only_second = int((one > other).sum()), int((other > one).sum())
    seen = structs.replace(seen, only_first=only_first, only_second=only_second)
    if not only_first and not only_second:
        return structs.replace(seen, why="the two sides never disagree")
    tested = compare_trials(only_first, only_second, len(one))
    return structs.replace(seen, test=tested.test, p=tested.p)


def _of_cells(seen: RateChange, event: str, first: Trials, second: Trials) -> RateChange:
    """Each problem counts once, with its rate on each side."""
    one, other = _rates(event, first), _rates(event, second)
    names = sorted(one.keys() & other.keys())
    if not names:
        return structs.replace(seen, why="no problem has an output to measure on both sides")
    tested = compare_values([one[name] for name in names], [other[name] for name in names])
    if tested.differing < 2:
        return structs.replace(seen, why="the two sides differ in fewer than two problems")
    return structs.replace(seen, test=tested.test, p=tested.p, worse=tested.difference < 0)


def _rates(event: str, trials: Trials) -> dict[str, float]:
    marks = _marks(event, trials)
    return {name: float(marks[places].mean()) for name, places in by_problem(trials).items()}


def _marks(event: str, trials: Trials) -> Floats:
    return trials.events[event].astype(np.float64)
