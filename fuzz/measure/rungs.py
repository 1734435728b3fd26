"""How many elements have a relative error above 1e-1, 1e-2, ... 1e-12."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from results.columns import RUNGS

Array = NDArray[Any]

_ASCENDING = tuple((k, 10.0**-k) for k in reversed(RUNGS))
SPARSE = 16
"""Picking elements out of an array pays where at most one in so many is kept; more often taken, it costs ten passes."""


def count_above(relative: Array, largest: float, mask: Array) -> tuple[int, ...]:
    """Elements above 1e-1 .. 1e-12; rungs above the maximum are 0 without looking.

    From the smallest rung up: once few elements are left, the larger rungs look at these only.
    """
    counts = dict.fromkeys(RUNGS, 0)
    left = relative
    for k, rung in _ASCENDING:
        if not largest > rung:
            break
        above = np.greater(left, rung, out=mask[: left.size])
        counts[k] = int(np.count_nonzero(above))
        if counts[k] * SPARSE < left.size:
            left = left[above]
    return tuple(counts.values())
