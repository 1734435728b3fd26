"""Before a variant is blamed: is the target the same when called again, and does it keep its own last bits in check?

A kernel that changes from call to call changes under every variant, too. And an unstable formula makes any other order
of operations visible: what separates it from a variant's own defect is that one unit in the last place of the inputs
moves its results as much.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.backends.base import Array
from fuzz.execution import Outcome, Ran
from fuzz.judging.variation import Opinion
from fuzz.measure import Measurement
from fuzz.thresholds import FLAG
from fuzz.workbench import Rung

CONTROLS = 3
"""Sets of inputs with other last bits."""
NONDETERMINISTIC = "nondeterministic"

Call = Callable[[], Outcome]
Compare = Callable[[Array, Array], Measurement]
"""Figures of one output against another one of the same call."""


def changes(call: Call, output: int, before: Array, compare: Compare) -> str:
    """How much the output differs from `before` when called again; empty where by no more than rounding."""
    outcome = call()
    if not isinstance(outcome, Ran):
        return ""
    found = compare(outcome.values[output], before)
    if found.nonfinite_mismatch:
        return f"{found.nonfinite_mismatch} of {found.size} elements are NaN or infinite in one of two calls only"
    return f"{found.rho.largest:.3g} times what two roundings allow" if found.rho.largest > FLAG else ""


def wavers(call: Call, output: int, before: Array, compare: Compare, rung: Rung, random: np.random.Generator) -> float:
    """The largest rho of two roundings by which inputs with other last bits move the output of a healthy call.

    A unit in the last place is two roundings of an input, which the bound excuses one of: up to FLAG is in order.
    """
    largest = 0.0
    kept = [values.copy() for values in rung.inputs()]
    try:
        for _ in range(CONTROLS):
            for values, original in zip(rung.inputs(), kept, strict=True):
                np.copyto(values, stirred(original, random))
            outcome = call()
            if isinstance(outcome, Ran):
                largest = max(largest, compare(outcome.values[output], before).rho.largest)
    finally:
        for values, original in zip(rung.inputs(), kept, strict=True):
            np.copyto(values, original)
    return largest


def stirred(values: Array, random: np.random.Generator) -> Array:
    """Finite nonzero numbers moved by -1, 0 or 1 unit in the last place; the others as they are."""
    bits = values.view(np.dtype(f"u{values.dtype.itemsize}"))
    steps = random.integers(-1, 2, values.shape)
    moved = (bits + steps.astype(bits.dtype)).view(values.dtype)
    stays = (values == 0) | ~np.isfinite(values) | ~np.isfinite(moved)
    found: Array = np.where(stays, values, moved)
    return found


def not_to_blame(how: str) -> Opinion:
    """The opinion where the target itself changes from call to call."""
    return Opinion(NONDETERMINISTIC, how, suspect=True)


def unsettled(rho: float) -> Opinion:
    """The opinion where the formula loses its digits whichever way it is called."""
    return Opinion(
        "indeterminate",
        f"other last bits of the inputs alone move the result by {rho:.3g} times what two roundings allow: the target "
        "is unstable here, so its results depend on everything",
    )
