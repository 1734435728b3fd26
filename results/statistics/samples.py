"""Checks of the lists of numbers that the statistics are given: what is no number must not become a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = Sequence[float] | npt.NDArray[Any]
Counts: TypeAlias = Sequence[int] | npt.NDArray[Any]


def sample(values: Values, what: str, least: int = 1) -> Floats:
    """The values as a vector of finite float64; ValueError where there are fewer than `least` or one is not finite."""
    numbers = np.asarray(values, np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{what}: needs a list of numbers, got an array of shape {numbers.shape}")
    if len(numbers) < least:
        raise ValueError(f"{what}: needs at least {least} values, got {len(numbers)}")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ValueError(
            f"{what}: {len(wrong)} of {len(numbers)} values are not finite, the first is {numbers[wrong[0]]} at index "
            f"{wrong[0]}: leave them out and say how many, or count them as events"
        )
    return numbers


def cell_counts(events: Counts, trials: Counts | int, what: str, least: int = 1) -> tuple[Floats, Floats]:
    """Events and trials of every cell as vectors; ValueError unless whole, 0 <= events <= trials and trials > 0.

    `trials` may be one number, that of every cell.
    """
    k = sample(events, what, least)
    n = np.full(len(k), trials, np.float64) if np.ndim(trials) == 0 else sample(np.asarray(trials), what, least)
    if len(k) != len(n):
        raise ValueError(f"{what}: {len(k)} counts of events, but {len(n)} of trials")
    wrong = np.flatnonzero(~((k >= 0) & (k <= n) & (n > 0) & (k % 1 == 0) & (n % 1 == 0)))
    if len(wrong):
        at = wrong[0]
        raise ValueError(
            f"{what}: {k[at]:g} events in {n[at]:g} trials at index {at}: needs whole numbers, "
            "0 <= events <= trials and at least one trial"
        )
    return k, n
