"""How large errors are on either side, in units of what rounding excuses, tested as the design allows."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from results.comparison.changes import Errors, RhoChange
from results.comparison.design import Design, by_problem
from results.comparison.trials import Trials
from results.statistics.drift import LEAST, PairedDrift, drift, paired_drift
from results.statistics.samples import Floats

TAIL = 0.99
"""Quantile of rho that is shown beside the median."""


def rho_change(found: Design) -> RhoChange:
    """Compare the largest rho of each trial; trials without a finite one are counted and left out.

    Problems as cells are compared by their medians.
    """
    seen = RhoChange(first=_errors(found.first.rho), second=_errors(found.second.rho))
    if found.way == "refused":
        return structs.replace(seen, why=found.why)
    first, second = _finite(found)
    if min(len(first), len(second)) < LEAST:
        return structs.replace(seen, why=f"fewer than {LEAST} trials with a rho on a side")
    if found.way == "samples":
        return _of_samples(seen, first.rho, second.rho)
    if found.way == "pairs":
        return _of_pairs(seen, paired_drift(first.rho, second.rho), "Wilcoxon's signed-rank test")
    one, other = _medians(first), _medians(second)
    names = sorted(one.keys() & other.keys())
    if len(names) < LEAST:
        return structs.replace(seen, why=f"fewer than {LEAST} problems, whose medians would be compared")
    medians = [one[name] for name in names], [other[name] for name in names]
    return _of_pairs(seen, paired_drift(*medians), "Wilcoxon's signed-rank test of the problems' medians")


def _finite(found: Design) -> tuple[Trials, Trials]:
    one, other = np.isfinite(found.first.rho), np.isfinite(found.second.rho)
    if found.way == "pairs":
        one = other = one & other
    return found.first.at(one), found.second.at(other)


def _medians(trials: Trials) -> dict[str, float]:
    return {name: float(np.median(trials.rho[places])) for name, places in by_problem(trials).items()}


def _errors(rho: Floats) -> Errors:
    finite = rho[np.isfinite(rho)]
    unknown = len(rho) - len(finite)
    if not len(finite):
        return Errors(0, None, None, None, unknown)
    median, tail = (float(value) for value in np.quantile(finite, (0.5, TAIL)))
    return Errors(len(finite), median, tail, float(finite.max()), unknown)


def _of_samples(seen: RhoChange, first: Floats, second: Floats) -> RhoChange:
    """A shift says which side has the larger errors; where only the shape differs, the tails do."""
    found = drift(first, second)
    if found.shift_p <= found.shape_p:
        worse = found.superiority > 0.5
    else:
        worse = bool(np.quantile(second, TAIL) > np.quantile(first, TAIL))
    name = "Mann-Whitney and Kolmogorov-Smirnov tests"
    return structs.replace(seen, test=name, p=found.p, worse=worse, superiority=found.superiority)


def _of_pairs(seen: RhoChange, found: PairedDrift, name: str) -> RhoChange:
    seen = structs.replace(seen, changed=found.changed, rose=found.rose)
    if not found.changed:
        return structs.replace(seen, why="no value changed")
    return structs.replace(seen, test=name, p=found.p, worse=2 * found.rose > found.changed)
