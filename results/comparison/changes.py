"""Rates and errors of two sets of trials, tested as their design allows. One change is one test of the family."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from results.comparison.design import Design, by_problem
from results.comparison.trials import Trials
from results.statistics.drift import LEAST, Drift, PairedDrift, drift, paired_drift
from results.statistics.paired import compare_trials, compare_values
from results.statistics.proportions import SIGNIFICANCE, Interval, compare_with_published
from results.statistics.samples import Floats

TAIL = 0.99
"""Quantile of rho that is shown beside the median."""


class Change(Struct, frozen=True, kw_only=True):
    """One quantity on both sides, and whether it differs."""

    test: str = ""
    """Name of the test; empty where none was made."""
    why: str = ""
    """Why none was made."""
    p: float | None = None
    adjusted: float | None = None
    """p adjusted for all tests of the comparison."""
    worse: bool = False
    """Of the observed values: larger on the second side."""

    @property
    def differs(self) -> bool:
        """Whether the difference holds after adjusting for all tests."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANCE


class RateChange(Change, frozen=True, kw_only=True):
    """How often an event happens."""

    event: str
    first_k: int
    first_n: int
    second_k: int
    second_n: int
    first: Interval | None = None
    """None where the plan allows no rate, or there is no trial."""
    second: Interval | None = None
    only_first: int | None = None
    """Of shared trials, those in which it happens on this side only; None for two samples."""
    only_second: int | None = None
    ratio: float | None = None
    """Rate of the second over that of the first; None where that is 0."""
    ratio_low: float | None = None
    """95 % interval of two samples; None in pairs and cells."""
    ratio_high: float | None = None
    detectable: float | None = None
    """Smallest larger rate of the second side that would have been called different with probability 0.8."""


class Errors(Struct, frozen=True):
    """The distribution of rho over trials."""

    trials: int
    median: float | None
    tail: float | None
    """99th percentile."""
    largest: float | None
    unknown: int
    """Trials without a finite rho, which are not counted."""


class RhoChange(Change, frozen=True, kw_only=True):
    """How large the errors are."""

    first: Errors
    second: Errors
    superiority: float | None = None
    """Two samples: probability that a trial of the second has the larger rho; 0.5 for no difference."""
    changed: int | None = None
    """Pairs: trials (cells: problems) whose rho differs."""
    rose: int | None = None
    """Of these, those in which it is larger on the second side."""


def rate_change(event: str, found: Design) -> RateChange:
    """Compare how often an event happens, over the trials in which it can be told (pairs: on both sides)."""
    first, second = _told(event, found)
    k1, n1, k2, n2 = int(_marks(event, first).sum()), len(first), int(_marks(event, second).sum()), len(second)
    counts = {"event": event, "first_k": k1, "first_n": n1, "second_k": k2, "second_n": n2}
    ratio = (k2 / n2) / (k1 / n1) if n1 and n2 and k1 else None
    worse = bool(n1 and n2 and k2 / n2 > k1 / n1)
    if found.way == "refused":
        return RateChange(**counts, ratio=ratio, worse=worse, why=found.why)
    if not n1 or not n2:
        return RateChange(**counts, why="no trial has an output to measure")
    if not k1 and not k2:
        only = {"only_first": 0, "only_second": 0} if found.way == "pairs" else {}
        return RateChange(**counts, **only, why="it happened on neither side")
    if found.way == "pairs":
        return _paired_rates(counts, _marks(event, first), _marks(event, second), ratio, worse)
    if found.way == "cells":
        return _cell_rates(counts, event, first, second, ratio, worse)
    if k1 == n1 and k2 == n2:
        return RateChange(**counts, ratio=ratio, why="it happened in every trial of both sides")
    tested = compare_with_published(k2, n2, k1, n1)
    return RateChange(
        **counts,
        test=tested.test,
        p=tested.p,
        worse=worse,
        ratio=tested.ratio,
        ratio_low=tested.ratio_low,
        ratio_high=tested.ratio_high,
    )


def rho_change(found: Design) -> RhoChange:
    """Compare the largest rho of each trial; trials without a finite one are counted and left out."""
    first, second = found.first, found.second
    sides = {"first": _errors(first.rho), "second": _errors(second.rho)}
    if found.way == "pairs":
        both = np.isfinite(first.rho) & np.isfinite(second.rho)
        first, second = first.at(both), second.at(both)
    else:
        first, second = first.at(np.isfinite(first.rho)), second.at(np.isfinite(second.rho))
    if found.way == "refused":
        return RhoChange(**sides, why=found.why)
    if min(len(first), len(second)) < LEAST:
        return RhoChange(**sides, why=f"fewer than {LEAST} trials with a rho on a side")
    if found.way == "samples":
        return _from_drift(sides, drift(first.rho, second.rho), first.rho, second.rho)
    if found.way == "pairs":
        return _from_pairs(sides, paired_drift(first.rho, second.rho), "Wilcoxon's signed-rank test")
    one, other = _medians(first), _medians(second)
    names = sorted(one.keys() & other.keys())
    if len(names) < LEAST:
        return RhoChange(**sides, why=f"fewer than {LEAST} problems, whose medians would be compared")
    medians = [one[name] for name in names], [other[name] for name in names]
    return _from_pairs(sides, paired_drift(*medians), "Wilcoxon's signed-rank test of the problems' medians")


def _told(event: str, found: Design) -> tuple[Trials, Trials]:
    one, other = found.first.known(event), found.second.known(event)
    if found.way == "pairs":
        one = other = one & other
    return found.first.at(one), found.second.at(other)


def _marks(event: str, trials: Trials) -> Floats:
    return trials.events[event].astype(np.float64)


def _paired_rates(
    counts: dict[str, object], first: Floats, second: Floats, ratio: float | None, worse: bool
) -> RateChange:
    only_first, only_second = int((first > second).sum()), int((second > first).sum())
    tested = compare_trials(only_first, only_second, len(first))
    none = only_first + only_second == 0
    return RateChange(
        **counts,  # type: ignore[arg-type]
        test="" if none else tested.test,
        why="the two sides never disagree" if none else "",
        p=None if none else tested.p,
        worse=worse,
        ratio=ratio,
        only_first=only_first,
        only_second=only_second,
    )


def _cell_rates(
    counts: dict[str, object], event: str, first: Trials, second: Trials, ratio: float | None, worse: bool
) -> RateChange:
    """Each problem counts once, with its rate on each side."""
    one, other = _rates(event, first), _rates(event, second)
    names = sorted(one.keys() & other.keys())
    told = {**counts, "ratio": ratio}
    if not names:
        return RateChange(**told, why="no problem has an output to measure on both sides")  # type: ignore[arg-type]
    tested = compare_values([one[name] for name in names], [other[name] for name in names])
    if tested.differing < 2:
        why = "the two sides differ in fewer than two problems"
        return RateChange(**told, worse=worse, why=why)  # type: ignore[arg-type]
    return RateChange(**told, test=tested.test, p=tested.p, worse=tested.difference < 0)  # type: ignore[arg-type]


def _rates(event: str, trials: Trials) -> dict[str, float]:
    marks = _marks(event, trials)
    return {name: float(marks[places].mean()) for name, places in by_problem(trials).items()}


def _medians(trials: Trials) -> dict[str, float]:
    return {name: float(np.median(trials.rho[places])) for name, places in by_problem(trials).items()}


def _errors(rho: Floats) -> Errors:
    finite = rho[np.isfinite(rho)]
    unknown = len(rho) - len(finite)
    if not len(finite):
        return Errors(0, None, None, None, unknown)
    median, tail = (float(value) for value in np.quantile(finite, (0.5, TAIL)))
    return Errors(len(finite), median, tail, float(finite.max()), unknown)


def _from_drift(sides: dict[str, Errors], found: Drift, first: Floats, second: Floats) -> RhoChange:
    """A shift says which side has the larger errors; where only the shape differs, the tails do."""
    if found.shift_p <= found.shape_p:
        worse = found.superiority > 0.5
    else:
        worse = bool(np.quantile(second, TAIL) > np.quantile(first, TAIL))
    name = "Mann-Whitney and Kolmogorov-Smirnov tests"
    return RhoChange(**sides, test=name, p=found.p, worse=worse, superiority=found.superiority)


def _from_pairs(sides: dict[str, Errors], found: PairedDrift, name: str) -> RhoChange:
    if not found.changed:
        return RhoChange(**sides, changed=0, rose=0, why="no value changed")
    worse = 2 * found.rose > found.changed
    return RhoChange(**sides, test=name, p=found.p, worse=worse, changed=found.changed, rose=found.rose)
