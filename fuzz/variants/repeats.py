"""The same call again: nothing changes but time."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import Array
from fuzz.variants.base import Around, Family, Wrapped
from fuzz.variants.values import whole


def _calls(text: str) -> str:
    return whole(text, "number of calls")


class _Repeated:
    """Calls, and gives the outputs furthest from those of the first call."""

    def __init__(self, around: Around, calls: int) -> None:
        self._plain, self._calls = around.plain, calls
        self._differing = 0

    def call(self) -> tuple[Array, ...]:
        first = tuple(np.array(values) for values in self._plain())
        furthest, distance, self._differing = first, 0.0, 0
        for _ in range(self._calls - 1):
            values = self._plain()
            if all(map(_same, values, first)):
                continue
            self._differing += 1
            gap = max(_distance(one, other) for one, other in zip(values, first, strict=True))
            if gap > distance or furthest is first:
                furthest, distance = tuple(np.array(one) for one in values), gap
        return furthest

    def told(self) -> str:
        if not self._differing:
            return ""
        return f"{self._differing} of {self._calls - 1} calls differ in their bits from the first"


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _distance(one: Array, other: Array) -> float:
    """The largest difference; infinite where one side is no number, or of another kind."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return np.inf
    with np.errstate(all="ignore"):
        gap = np.abs(one.astype(np.float64) - other.astype(np.float64))
    gap[(one == other) | (np.isnan(one) & np.isnan(other))] = 0.0
    return float(np.where(np.isnan(gap), np.inf, gap).max(initial=0.0))


def _repeat(around: Around, value: str) -> Wrapped:
    repeated = _Repeated(around, int(value))
    return Wrapped(repeated.call, repeated.told)


REPEAT = Family(
    "repeat",
    "so many calls on the same data in the same process; the one furthest from the first counts",
    "nondeterministic",
    ("8",),
    _calls,
    _repeat,
)
FAMILIES = (REPEAT,)
