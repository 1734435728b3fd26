"""Recipes made from another recipe: the elements are drawn by it first, then changed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import structs

from strategies.contract import Shape
from strategies.precision import DType
from strategies.recipe import Array, Probability, Recipe, Support, register

SPECIAL_VALUES = (0.0, -0.0, math.inf, -math.inf, math.nan)
"""What special() puts in, each equally likely."""


class Modifier(Recipe, frozen=True):
    """Draws `recipe` into all its inputs, then changes each."""

    recipe: Recipe

    def at(self, index: int, home: DType, shapes: Sequence[Shape]) -> Recipe:
        inner = self.recipe.at(index, home, shapes)
        return self if inner is self.recipe else structs.replace(self, recipe=inner)

    def draw(self, stream: np.random.Generator, outs: Sequence[Array]) -> None:
        self.recipe.draw(stream, outs)
        for out in outs:
            self.change(stream, out)

    def change(self, stream: np.random.Generator, out: Array) -> None:
        """Turn elements of the inner population into elements of this one, in place."""
        raise NotImplementedError


@register("abs", example="abs(normal(1,1))")
class Abs(Modifier, frozen=True):
    """|x|, x of the inner population."""

    def support(self, home: DType) -> Support:
        low, high = self.recipe.support(home)
        return max(low, -high, 0.0), max(-low, high)

    def change(self, stream: np.random.Generator, out: Array) -> None:
        np.abs(out, out=out)


@register("signed", example="signed(loguniform(1e-3,1e3))")
class Signed(Modifier, frozen=True):
    """x or -x with probability 1/2 each, x of the inner population."""

    def support(self, home: DType) -> Support:
        low, high = self.recipe.support(home)
        return min(low, -high), max(-low, high)

    def change(self, stream: np.random.Generator, out: Array) -> None:
        negative = stream.integers(0, 1, size=out.shape, dtype=np.bool_, endpoint=True)
        np.negative(out, out=out, where=negative)


@register("sparse", example="sparse(normal(0,1),0.9)")
class Sparse(Modifier, frozen=True):
    """+0 with probability p, otherwise x of the inner population."""

    p: Probability

    def support(self, home: DType) -> Support:
        low, high = self.recipe.support(home)
        return min(low, 0.0), max(high, 0.0)

    def change(self, stream: np.random.Generator, out: Array) -> None:
        out[_chosen(stream, out, self.p)] = 0


@register("special", example="special(normal(0,1),0.01)")
class Special(Modifier, frozen=True):
    """With probability p one of +0, -0, +inf, -inf, NaN (1/5 each), otherwise x of the inner population."""

    p: Probability

    def support(self, home: DType) -> Support:
        return -math.inf, math.inf

    def change(self, stream: np.random.Generator, out: Array) -> None:
        where = _chosen(stream, out, self.p)
        which = stream.integers(0, len(SPECIAL_VALUES), size=int(np.count_nonzero(where)), dtype=np.uint8)
        out[where] = np.array(SPECIAL_VALUES, out.dtype)[which]


def _chosen(stream: np.random.Generator, out: Array, p: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Each element with probability p (to 2**-53, so that a small p is not rounded away)."""
    return stream.random(size=out.shape) < p
