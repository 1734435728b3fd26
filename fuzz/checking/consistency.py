"""Does a function contradict itself? Its results in two precisions compared, and whose may stand for the truth.

Where nobody names the truth, float64 results of one of the functions stand for it. A function whose float32 results
differ from its own float64 results by more than rounding is not fit for that: it is inaccurate in one precision at
least, and a rival that is right would be accused.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from fuzz.backends.base import Array
from fuzz.checking.called import FOREIGN, Called
from fuzz.checking.known import Known
from fuzz.measure import BoundYardstick
from fuzz.oracle.bound import bound
from fuzz.oracle.opaque import Opaque, program_of
from fuzz.thresholds import FLAG
from strategies.precision import PRECISIONS


def own_rho(plain: Called, wide: Called, axes: Sequence[Sequence[int]], inputs: Mapping[str, Array]) -> float | None:
    """Largest error of the narrower results against the function's own float64 results, in bounds.

    Infinite where NaN or infinities differ; None where the function has one precision only, or returns another dtype.
    """
    arrays = list(inputs.values())
    if any(array.dtype.name not in PRECISIONS for array in arrays):
        return None
    narrow = "float32" if any(array.dtype.name == "float64" for array in arrays) else arrays[0].dtype.name
    with np.errstate(all="ignore"):
        arrays = [array.astype(PRECISIONS[narrow].numpy) for array in arrays]
    try:
        outputs = plain([array.copy() for array in arrays])
        if any(value.dtype.name != narrow for value in outputs):
            return None
        program = program_of(
            Opaque(wide.name, wide, axes, wide.shaken),
            {name: array.shape for name, array in zip(inputs, arrays, strict=True)},
            [value.shape for value in outputs],
        )
        truth = bound(program, narrow)(arrays)
    except FOREIGN:  # it has one precision only
        return None
    largest = 0.0
    for number, value in enumerate(outputs):
        yardstick = BoundYardstick(value.size, narrow, np.dtype(np.float64))
        yardstick.refresh(truth.outputs[number], functools.partial(truth.overflow, number))
        figures = yardstick.bound_figures(value)
        largest = max(largest, math.inf if figures.nonfinite_mismatch else figures.rho.largest)
    return largest


def elected(known: Sequence[Known]) -> Known:
    """The first function that does not contradict itself, nor varies from call to call; the first where all do."""
    steady = [one for one in known if one.mark != "nondeterministic"] or list(known)
    return next((one for one in steady if one.own_rho is not None and one.own_rho <= FLAG), steady[0])


def of_contradictions(known: Sequence[Known], reference: Known) -> list[str]:
    """Why another function than the first is taken to be right."""
    first = known[0]
    if first is reference:
        return []
    why = (
        "varies from call to call"
        if first.mark == "nondeterministic"
        else "has one precision only"
        if first.own_rho is None
        else f"contradicts itself: its float32 and float64 results are {first.own_rho:.2g} bounds apart"
    )
    return [f"{first.name} {why}: float64 results of {reference.name}, which does not, stand for the truth"]
