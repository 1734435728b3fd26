"""Recipes next to given numbers, counted in ulps: one number, the ends of binades, the named edges of the format."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from strategies.contract import ContractError, Shape
from strategies.elements import fill_ordinals, number_at, ordinal
from strategies.precision import DType, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, register, require_finite
from strategies.thresholds import edges

MOST_ULPS = 2**20
"""Of a neighbourhood: further away is a place of its own."""


@register("near", example="near(1,4)")
class Near(Recipe, frozen=True):
    """Uniform on the 2k+1 numbers of the home dtype within k places of c: both binades where c is a power of two, both
    signs (and +0) where c is 0. Infinities are left out."""

    c: float
    k: int

    def validate(self) -> None:
        require_finite(self, "c")
        _require_places(self, self.k)

    def support(self, home: DType) -> Support:
        low, high = self._ends(home)
        return number_at(low, home), number_at(high, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        low, high = self._ends(out.dtype.name)
        fill_ordinals(out, stream.integers(low, high, size=out.shape, dtype=np.int64, endpoint=True))

    def _ends(self, home: DType) -> tuple[int, int]:
        place, last = ordinal(self.c, home), ordinal(precision(home).largest, home)
        return max(place - self.k, -last), min(place + self.k, last)


@register("binades", example="binades(2)")
class Binades(Recipe, frozen=True):
    """2**e moved by j places, e uniform on the exponents of normal numbers of the home dtype and j on -k, ..., k."""

    k: int

    def validate(self) -> None:
        _require_places(self, self.k)

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        least = 2 ** (precision(home).digits - 1)
        if self.k >= least:
            raise ContractError(f"{self} passes a whole binade of {home}: use k < {least}")

    def support(self, home: DType) -> Support:
        p = precision(home)
        low = ordinal(p.smallest_normal, home) - self.k
        return number_at(low, home), number_at(ordinal(2.0**p.maximum_exponent, home) + self.k, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        p = precision(out.dtype.name)
        binades = p.maximum_exponent - p.minimum_exponent + 1
        places = stream.integers(1, binades, size=out.shape, dtype=np.int64, endpoint=True)
        places *= 2 ** (p.digits - 1)
        places += stream.integers(-self.k, self.k, size=out.shape, dtype=np.int64, endpoint=True)
        fill_ordinals(out, places)


@register("edges", example="edges(1)")
class Edges(Recipe, frozen=True):
    """An edge of the home dtype moved by j places: edge and sign uniform, j on -k, ..., k, without infinities.

    Edges are the last x for which: x*x is 0; x*x is subnormal; x*x is finite; 1/x overflows; 1/x is normal; exp x is
    finite; exp -x is normal; exp -x is not 0; 1 + x is 1; every integer up to x is a number; and the smallest number,
    the largest subnormal number, 1, the largest number. Only those whose neighbourhood lies in [a, b] take part.
    """

    k: int
    a: float = -math.inf
    b: float = math.inf

    def validate(self) -> None:
        _require_places(self, self.k)
        if not self.a < self.b:
            raise ParameterError(f"edges needs a < b, got {self.a!r} and {self.b!r}", "b")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        if not _places(home, self.k, self.a, self.b).size:
            raise ContractError(f"no edge of {home} lies within the interval of {self}: widen it, or use near(c,k)")

    def support(self, home: DType) -> Support:
        places, last = _places(home, self.k, self.a, self.b), ordinal(precision(home).largest, home)
        low, high = int(places.min()) - self.k, int(places.max()) + self.k
        return number_at(max(low, -last), home), number_at(min(high, last), home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        home = out.dtype.name
        table, last = _places(home, self.k, self.a, self.b), ordinal(precision(home).largest, home)
        places = table[stream.integers(0, table.size, size=out.shape, dtype=np.int64)]
        places = places + stream.integers(-self.k, self.k, size=out.shape, dtype=np.int64, endpoint=True)
        fill_ordinals(out, np.clip(places, -last, last))


@functools.lru_cache(maxsize=256)
def _places(home: DType, k: int, a: float, b: float) -> npt.NDArray[np.int64]:
    """Ordinals of the edges, of either sign, whose finite neighbours within k places all lie in [a, b]."""
    last = ordinal(precision(home).largest, home)
    signed = sorted({sign * ordinal(value, home) for _, value in edges(home) for sign in (1, -1)})
    kept = [
        place
        for place in signed
        if number_at(max(place - k, -last), home) >= a and number_at(min(place + k, last), home) <= b
    ]
    return np.array(kept, np.int64)


def _require_places(recipe: Recipe, k: int) -> None:
    if not 0 <= k <= MOST_ULPS:
        raise ParameterError(f"k of {recipe.kind} is {k}: use 0 to {MOST_ULPS} places", "k")
