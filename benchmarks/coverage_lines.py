"""Lines of the table of coverage.py, and the simulations that make them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BEYOND = 3.0
"""Standard errors of the simulation that a figure may lie outside its bound."""

Simulation = Callable[[int, np.random.Generator], Iterator["Line"]]
SIMULATIONS: dict[str, Simulation] = {}


@dataclass(frozen=True)
class Line:
    """One simulated figure and the bounds it has to keep; a contrast, what one should not do, has none."""

    function: str
    case: str
    measure: str
    figure: float
    repetitions: int
    low: float = 0.0
    high: float = 1.0
    scatter: float | None = None
    """Standard deviation in one repetition; None for a share."""
    contrast: bool = False

    def standard_error(self, share: float) -> float:
        one = math.sqrt(share * (1 - share)) if self.scatter is None else self.scatter
        return one / math.sqrt(self.repetitions)

    @property
    def kept(self) -> bool:
        below = self.low - BEYOND * self.standard_error(self.low)
        above = self.high + BEYOND * self.standard_error(self.high)
        return self.contrast or below <= self.figure <= above

    @property
    def bound(self) -> str:
        if self.contrast:
            return ""
        ends = [f">= {self.low:.3g}"] if self.low > 0 else []
        return ", ".join([*ends, f"<= {self.high:.3g}"] if self.high < 1 else ends)


def simulation(run: Simulation) -> Simulation:
    """Register a simulation; its name seeds its generator."""
    SIMULATIONS[run.__name__] = run
    return run


def lines(name: str, repetitions: int) -> list[Line]:
    """The lines of one simulation, always the same for the same number of repetitions."""
    generator = np.random.default_rng([2026, zlib.crc32(name.encode())])
    return list(SIMULATIONS[name](repetitions, generator))


def covered(low: float | None, value: float, high: float | None) -> bool:
    """Whether an interval holds the true value; a missing one does not."""
    return low is not None and high is not None and low <= value <= high


def share(
    function: str,
    case: str,
    measure: str,
    hits: npt.ArrayLike,
    low: float = 0.0,
    high: float = 1.0,
    *,
    contrast: bool = False,
) -> Line:
    """The share of repetitions with the property."""
    found = np.asarray(hits, bool)
    return Line(function, case, measure, float(found.mean()), len(found), low, high, contrast=contrast)
