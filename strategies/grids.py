"""Recipes on grids: an interval covered densely, and numbers half way between integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strategies.contract import ContractError, Shape
from strategies.precision import DType, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, at_home, register, require_finite

MOST_HALF = 2**52
"""Beyond it no float64 lies half way between two integers."""


@register("grid", example="grid(-8,8)")
class Grid(Recipe, frozen=True):
    """Element i of n (C order) is uniform on the i-th of n equal parts of [a, b], in float64, then rounded: dense, and
    other numbers at every draw. Elements are independent, but differently distributed."""

    a: float
    b: float

    def validate(self) -> None:
        require_finite(self, "a", "b")
        if self.a > self.b:
            raise ParameterError(f"grid needs a <= b, got a = {self.a!r} and b = {self.b!r}", "b")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        largest = precision("float64").largest
        if self.b - self.a > largest:
            raise ContractError(f"the width of {self} overflows float64: use b - a <= {largest!r}")

    def support(self, home: DType) -> Support:
        return at_home(self.a, home), at_home(self.b, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        if out.size == 0:
            return
        places = np.arange(out.size, dtype=np.float64)
        places += stream.random(size=out.size)
        places /= out.size
        places *= self.b - self.a
        places += self.a
        out.reshape(-1)[...] = precision(out.dtype.name).round(np.clip(places, self.a, self.b))


@register("halves", example="halves(-8,8)")
class Halves(Recipe, frozen=True):
    """Uniform on lo + 1/2, lo + 3/2, ..., hi - 1/2, all of them exact at the home dtype: ties of rounding to
    integers."""

    lo: int
    hi: int

    def validate(self) -> None:
        for name, value in (("lo", self.lo), ("hi", self.hi)):
            if abs(value) > MOST_HALF:
                raise ParameterError(f"{name} of halves is {value}: use at most 2**52 in magnitude", name)
        if self.lo >= self.hi:
            raise ParameterError(f"halves needs lo < hi, got lo = {self.lo} and hi = {self.hi}", "hi")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        digits = precision(home).digits - 1
        if max(abs(self.lo), abs(self.hi)) > 2**digits:
            raise ContractError(f"{self} is not exact in {home}: use integers up to 2**{digits} = {2**digits}")

    def support(self, home: DType) -> Support:
        return self.lo + 0.5, self.hi - 0.5

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        values = stream.integers(self.lo, self.hi, size=out.shape, dtype=np.int64).astype(np.float64)
        values += 0.5
        out[...] = precision(out.dtype.name).round(values)
