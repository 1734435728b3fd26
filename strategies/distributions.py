"""Elementary recipes: each draws its elements directly from the Generator."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from strategies.contract import ContractError, Shape
from strategies.elements import generated, settle, unsigned, working
from strategies.precision import DType, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, at_home, register, require_finite

LARGEST_EXACT_INTEGER = 2**53
"""Beyond it not every integer is a float64."""


@register("normal", example="normal(0,1)")
class Normal(Recipe, frozen=True):
    """fl(fl(sigma*z) + mu), z the Generator's standard normal of the home dtype; sigma = 0 gives mu.

    For 16-bit formats z and fl are those of float32, and the result is rounded.
    """

    mu: float
    sigma: float

    def validate(self) -> None:
        require_finite(self, "mu", "sigma")
        _require_nonnegative(self, "sigma")

    def support(self, home: DType) -> Support:
        return _normal_support(self.mu, self.sigma, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        _fill_normal(stream, out, self.mu, self.sigma)


@register("offset", example="offset(1e4)")
class Offset(Recipe, frozen=True):
    """fl(fl(s*z) + m), z the Generator's standard normal: a mean m far from zero, where subtracting it cancels.

    For 16-bit formats z and fl are those of float32, and the result is rounded.
    """

    m: float
    s: float = 1.0

    def validate(self) -> None:
        require_finite(self, "m", "s")
        _require_nonnegative(self, "s")

    def support(self, home: DType) -> Support:
        return _normal_support(self.m, self.s, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        _fill_normal(stream, out, self.m, self.s)


@register("uniform", example="uniform(-1,1)")
class Uniform(Recipe, frozen=True):
    """fl(a + fl(fl(b-a)*r)), r uniform on the multiples of 2**-24 (float32) or 2**-53 (float64) in [0, 1).

    For 16-bit formats r and fl are those of float32, and the result is rounded: b itself can occur.
    All values lie in [a, b]. Near zero the grid is absolute, not relative: for small magnitudes use loguniform.
    """

    a: float
    b: float

    def validate(self) -> None:
        _require_interval(self, self.a, self.b, "a", "b")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        _check_width(self, self.a, self.b, home)

    def support(self, home: DType) -> Support:
        return at_home(self.a, home), at_home(self.b, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        values = generated(out)
        low, high = (values.dtype.type(at_home(x, out.dtype.name)) for x in (self.a, self.b))
        stream.random(dtype=values.dtype, out=values)
        # r <= 1 - u, so fl(w*r) is at most the predecessor of w = fl(b-a), which is no more than b-a (for subnormal w,
        # which is exact, at most w itself): rounding never carries the sum past b
        values *= high - low
        values += low
        settle(values, out)


@register("loguniform", example="loguniform(1e-3,1e3)")
class LogUniform(Recipe, frozen=True):
    """Every number of the home dtype in [a, b] is equally likely.

    For normal numbers that is uniform in the position L(m * 2**e) = e + (m - 1), 1 <= m < 2: a piecewise-linear log2,
    exact on every machine where a logarithm is not. (Below the smallest normal number the grid is linear.)
    """

    a: float
    b: float

    def validate(self) -> None:
        require_finite(self, "a", "b")
        if not self.a > 0:
            raise ParameterError(f"a of loguniform is {self.a!r}: use a positive number", "a")
        if not self.a < self.b:
            raise ParameterError(f"loguniform needs a < b, got a = {self.a!r} and b = {self.b!r}", "b")

    def support(self, home: DType) -> Support:
        return at_home(self.a, home), at_home(self.b, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        bits = unsigned(out)
        ends = precision(out.dtype.name).round([self.a, self.b]).view(bits.dtype)
        low, high = int(ends[0]), int(ends[1])
        bits[...] = stream.integers(low, high, size=out.shape, dtype=bits.dtype.type, endpoint=True)


@register("constant", example="constant(1)")
class Constant(Recipe, frozen=True):
    """c, rounded to the home dtype, at every element; -0, inf and nan are allowed. No randomness."""

    c: float

    def support(self, home: DType) -> Support:
        c = at_home(self.c, home)
        return (c, c) if c == c else (-math.inf, math.inf)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        out[...] = precision(out.dtype.name).round(self.c)


@register("integers", example="integers(-8,8)")
class Integers(Recipe, frozen=True):
    """Uniform on the integers lo, lo+1, ..., hi, all of them exact at the home dtype."""

    lo: int
    hi: int

    def validate(self) -> None:
        for name, value in (("lo", self.lo), ("hi", self.hi)):
            if abs(value) > LARGEST_EXACT_INTEGER:
                raise ParameterError(f"{name} of integers is {value}: use at most 2**53 in magnitude", name)
        if self.lo > self.hi:
            raise ParameterError(f"integers needs lo <= hi, got lo = {self.lo} and hi = {self.hi}", "hi")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        digits = precision(home).digits
        if max(abs(self.lo), abs(self.hi)) > 2**digits:
            raise ContractError(f"{self} is not exact in {home}: use integers up to 2**{digits} = {2**digits}")

    def support(self, home: DType) -> Support:
        return float(self.lo), float(self.hi)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        kind = np.int32 if max(abs(self.lo), abs(self.hi)) < 2**31 else np.int64
        out[...] = stream.integers(self.lo, self.hi, size=out.shape, dtype=kind, endpoint=True)


@register("ramp", example="ramp(-4,4)")
class Ramp(Recipe, frozen=True):
    """Element i of n (C order) is a + (b-a)*(i/(n-1)) in float64, then rounded; both ends exact. No randomness."""

    a: float
    b: float

    def validate(self) -> None:
        _require_interval(self, self.a, self.b, "a", "b")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        _check_width(self, self.a, self.b, home)

    def support(self, home: DType) -> Support:
        return at_home(self.a, home), at_home(self.b, home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        if out.size == 0:
            return
        grid = np.arange(out.size, dtype=np.float64)
        grid /= max(out.size - 1, 1)
        grid *= self.b - self.a
        grid += self.a
        if out.size > 1:  # a + (b-a) need not be b
            grid[-1] = self.b
        out.reshape(-1)[...] = precision(out.dtype.name).round(grid)


@register("subnormal", example="subnormal()")
class Subnormal(Recipe, frozen=True):
    """Uniform on the subnormal numbers of the home dtype, either sign with probability 1/2; never zero."""

    def support(self, home: DType) -> Support:
        edge = precision(home).smallest_normal
        return -edge, edge

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        bits = unsigned(out)
        kind = bits.dtype.type
        largest = 2 ** (precision(out.dtype.name).digits - 1) - 1
        bits[...] = stream.integers(1, largest, size=out.shape, dtype=kind, endpoint=True)
        negative = stream.integers(0, 1, size=out.shape, dtype=np.bool_, endpoint=True)
        np.negative(out, out=out, where=negative)


def _fill_normal(stream: np.random.Generator, out: Array, mu: float, sigma: float) -> None:
    values, home = generated(out), out.dtype.name
    stream.standard_normal(dtype=values.dtype, out=values)
    if sigma != 1:
        values *= at_home(sigma, home)
    if mu != 0 or sigma == 0:  # sigma = 0 leaves zeros of either sign: adding 0 makes them +0
        values += at_home(mu, home)
    settle(values, out)


def _normal_support(mu: float, sigma: float, home: DType) -> Support:
    return (-math.inf, math.inf) if sigma else (at_home(mu, home),) * 2


def _require_nonnegative(recipe: Recipe, name: str) -> None:
    value = getattr(recipe, name)
    if value < 0:
        raise ParameterError(f"{name} of {recipe.kind} is {value!r}: use a standard deviation >= 0", name)


def _require_interval(recipe: Recipe, a: float, b: float, first: str, second: str) -> None:
    require_finite(recipe, first, second)
    if a > b:
        raise ParameterError(f"{recipe.kind} needs {first} <= {second}, got {a!r} and {b!r}", second)


def _check_width(recipe: Recipe, a: float, b: float, home: DType) -> None:
    drawn_in = working(home).name
    largest = precision(drawn_in).largest
    if b - a > largest:
        raise ContractError(f"the width of {recipe} overflows {drawn_in}: use b - a <= {largest!r}")
