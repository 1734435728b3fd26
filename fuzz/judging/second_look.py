"""Before a variant is blamed: is the target the same when called again, and is its right side right by more than luck?

A kernel that changes from call to call changes under every variant, too. And an unstable formula makes any other order
of operations visible, its errors being small for some inputs and large for others: what separates it from a defect of
a variant is that the call that was right here is not right for inputs nearby.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.backends.base import Array
from fuzz.execution import Outcome, Ran
from fuzz.judging.variation import Opinion, Side, State
from fuzz.measure import Measurement
from fuzz.thresholds import FLAG
from fuzz.workbench import Rung

NEIGHBOURS = 16
"""Sets of inputs nearby. Of an unstable formula that is right on 7 of 10, one defect in 300 escapes so many."""
NEAR = 2.0**-8
"""Small enough to leave the kind of data as it is, and far above the last bit that an intermediate may lose."""
NONDETERMINISTIC = "nondeterministic"

Call = Callable[[], Outcome]
Compare = Callable[[Array, Array], Measurement]
"""Figures of one output against another one of the same call."""
Judge = Callable[[int, Array], Side]
"""What the figures of an output say against the truth that the rung holds now."""


def changes(call: Call, output: int, before: Array, compare: Compare) -> str:
    """How much the output differs from `before` when called again; empty where by no more than rounding."""
    outcome = call()
    if not isinstance(outcome, Ran):
        return ""
    found = compare(outcome.values[output], before)
    if found.nonfinite_mismatch:
        return f"{found.nonfinite_mismatch} of {found.size} elements are NaN or infinite in one of two calls only"
    return f"{found.rho.largest:.3g} times what two roundings allow" if found.rho.largest > FLAG else ""


def strays(call: Call, output: int, rung: Rung, side: Judge, random: np.random.Generator) -> str:
    """How the output of a call is off for inputs nearby, in words; empty where it is not.

    The truth is computed for each of them; afterwards inputs and truth of the rung are those of before.
    """
    kept = [values.copy() for values in rung.inputs()]
    try:
        for _ in range(NEIGHBOURS):
            for values, original in zip(rung.inputs(), kept, strict=True):
                np.copyto(values, nearby(original, random))
            rung.refresh()
            outcome = call()
            if isinstance(outcome, Ran) and (found := side(output, outcome.values[output])).state is State.BAD:
                return found.why
    finally:
        for values, original in zip(rung.inputs(), kept, strict=True):
            np.copyto(values, original)
        rung.refresh()
    return ""


def nearby(values: Array, random: np.random.Generator) -> Array:
    """Numbers smaller in size by a share of up to NEAR, each by one of its own: they stay inside domains around 0."""
    factors = (1.0 - random.uniform(0.0, NEAR, values.shape)).astype(values.dtype)
    with np.errstate(all="ignore"):
        found: Array = values * factors
    return found


def not_to_blame(how: str) -> Opinion:
    """The opinion where the target itself changes from call to call."""
    return Opinion(NONDETERMINISTIC, how, suspect=True)


def unsettled(why: str) -> Opinion:
    """The opinion where the formula loses its digits whichever way it is called."""
    return Opinion("indeterminate", f"for inputs nearby the other one {why}, too: the target is unstable here")
