"""Recipes that tie numbers to each other, so that differences, sums or quotients of them lose digits.

What is tied is relative: a partner of x is fl(x * fl(1 + fl(d*t))), t uniform on [-1, 1), in the home dtype (for 16-bit
formats in float32, then rounded). So d is the relative distance, and below the unit roundoff the partners are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from strategies.contract import ContractError, Shape
from strategies.elements import settle, working
from strategies.modifiers import Modifier
from strategies.precision import DType
from strategies.recipe import Array, ParameterError, Recipe, Support, at_home, register


class _Tied(Modifier, frozen=True):
    """What these recipes have in common: a relative distance."""

    d: float

    def validate(self) -> None:
        if not 0 <= self.d < 1:
            raise ParameterError(f"d of {self.kind} is {self.d!r}: use a relative distance from 0 to below 1", "d")


class _Follows(_Tied, frozen=True):
    joins: ClassVar[int] = 2
    sign: ClassVar[float] = 1.0

    axis: int = 0

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        if shapes:
            first, second = shapes
            if self.axis < 0 or first[self.axis : self.axis + len(second)] != second:
                raise ContractError(
                    f"{self.fills[1]} of shape {second} does not lie along {self.fills[0]} of shape {first} from axis "
                    f"{self.axis} on: swap the inputs of {self}, or change its axis"
                )

    def supports(self, home: DType) -> tuple[Support, ...]:
        second = self.recipe.support(home)
        return _partners(second, self.d, self.sign, home), second

    def support(self, home: DType) -> Support:
        (a, b), (c, d) = self.supports(home)
        return min(a, c), max(b, d)

    def draw(self, stream: np.random.Generator, outs: Sequence[Array]) -> None:
        first, second = outs
        self.recipe.draw(stream, [second])
        behind = first.ndim - self.axis - second.ndim
        laid = second.reshape(second.shape + (1,) * behind)
        _follow(stream, first, np.broadcast_to(laid, first.shape), self.d, self.sign)


@register("cancelling", example="cancelling(normal(0,1),1e-3)")
class Cancelling(_Follows, frozen=True):
    """Two inputs a,b: b is of the inner population, a = -b (1 + d t), t uniform on [-1, 1): their sum cancels.

    The dims of b are dims of a, in order, from `axis` of a on; along the others b is repeated.
    """

    sign: ClassVar[float] = -1.0


@register("alike", example="alike(normal(0,1),1e-3)")
class Alike(_Follows, frozen=True):
    """Two inputs a,b: b is of the inner population, a = b (1 + d t), t uniform on [-1, 1): their difference cancels,
    their quotient is about 1, and an offset of one is an offset of both.

    The dims of b are dims of a, in order, from `axis` of a on; along the others b is repeated.
    """


@register("alternating", example="alternating(normal(0,1),1e-3)")
class Alternating(_Tied, frozen=True):
    """x of the inner population at even places along `axis`; -x (1 + d t), t uniform on [-1, 1), at the odd place that
    follows: sums along the axis cancel pair by pair."""

    axis: int = -1

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        for name, shape in zip(self.fills, shapes, strict=False):
            require_axis(self, self.axis, name, shape)

    def support(self, home: DType) -> Support:
        return _with_partners(self.recipe.support(home), self.d, home)

    def change(self, stream: np.random.Generator, out: Array) -> None:
        if out.ndim:
            _alternate(stream, out, self.axis, self.d)


@register("cancelling_terms", example="cancelling_terms(normal(0,1),1e-3)")
class CancellingTerms(_Tied, frozen=True):
    """Two inputs a,b, whose products are summed along axis i of a and axis j of b. Both are of the inner population,
    but at the odd places of the axis a repeats the place before, b is minus it times (1 + d t): terms cancel in pairs.
    """

    joins: ClassVar[int] = 2

    i: int = -1
    j: int = 0

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        if shapes:
            for name, shape, axis in zip(self.fills, shapes, (self.i, self.j), strict=True):
                require_axis(self, axis, name, shape)
            if shapes[0][self.i] != shapes[1][self.j]:
                raise ContractError(
                    f"{self} sums over axes of unequal sizes of {shapes[0]} and {shapes[1]}: change i, j"
                )

    def supports(self, home: DType) -> tuple[Support, ...]:
        inner = self.recipe.support(home)
        return inner, _with_partners(inner, self.d, home)

    def support(self, home: DType) -> Support:
        return self.supports(home)[1]

    def draw(self, stream: np.random.Generator, outs: Sequence[Array]) -> None:
        first, second = outs
        self.recipe.draw(stream, outs)
        even, odd = _pairs(first, self.i)
        odd[...] = even
        _alternate(stream, second, self.j, self.d)


def require_axis(recipe: Recipe, axis: int, name: str, shape: Shape) -> None:
    """ContractError where input `name` of that shape has no such axis."""
    if not -len(shape) <= axis < len(shape):
        raise ContractError(f"{name} of shape {shape} has no axis {axis}: change the axis of {recipe}")


def _pairs(out: Array, axis: int) -> tuple[Array, Array]:
    """Views of the even places along the axis that have a successor, and of their successors."""
    along = np.moveaxis(out, axis, 0)
    last = along.shape[0] // 2 * 2
    return along[0:last:2], along[1:last:2]


def _alternate(stream: np.random.Generator, out: Array, axis: int, d: float) -> None:
    even, odd = _pairs(out, axis)
    _follow(stream, odd, even, d, -1.0)


def _follow(stream: np.random.Generator, out: Array, led: Array, d: float, sign: float) -> None:
    """out = sign * led * (1 + d t) by the rule of this module, both of one shape."""
    dtype = working(out.dtype.name)
    factor = stream.random(size=out.shape, dtype=dtype)
    factor *= 2  # exact, as is the subtraction
    factor -= 1
    factor *= dtype.type(at_home(d, out.dtype.name))
    factor += 1
    factor *= dtype.type(sign)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # inner populations may be huge, tiny or special
        factor *= led.astype(dtype)
    settle(factor, out)


def _partners(inner: Support, d: float, sign: float, home: DType) -> Support:
    """Where partners of numbers in `inner` lie: multiplication and rounding are monotonic."""
    kind = working(home).type
    reach = kind(at_home(d, home))
    with np.errstate(over="ignore", under="ignore"):
        ends = [
            at_home(float(kind(end) * kind(sign) * factor), home) if math.isfinite(end) else sign * end
            for end in inner
            for factor in (kind(1) - reach, kind(1) + reach)
        ]
    return min(ends), max(ends)


def _with_partners(inner: Support, d: float, home: DType) -> Support:
    low, high = _partners(inner, d, -1.0, home)
    return min(inner[0], low), max(inner[1], high)
