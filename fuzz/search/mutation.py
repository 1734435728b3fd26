"""How individuals change. Each move works on many at once, on the keys of their genes (fuzz.search.keys)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fuzz.search.keys import Keys, keys_of, values_of
from strategies.precision import DType, precision

Mask: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]

NEAR = 16
"""Keys from a landmark, or from another number, within which a gene is put next to it."""


class Ground(Struct):
    """What moves draw on. Everything but `mates` is the same during a search."""

    home: DType
    random: np.random.Generator
    columns: tuple[Places, ...]
    """Genes of each input."""
    lane: Places
    """Lane of every gene; -1 for shared ones."""
    landmarks: tuple[NDArray[np.int64], ...]
    """By input: keys worth being near to."""
    fresh: Keys
    """Individuals as drawn by recipes."""
    mates: Keys
    """Other individuals of the population."""


class Children(Struct):
    """Individuals under change: a line of `genes` each, the genes that may change, and the size of steps."""

    genes: Keys
    allowed: Mask
    reach: NDArray[np.float64]
    """Steps in units in the last place are at most 2^reach."""
    share: NDArray[np.float64]
    """Share of the allowed genes that change."""

    @property
    def count(self) -> int:
        return len(self.genes)

    def some(self, random: np.random.Generator) -> Mask:
        """A random choice of the allowed genes by `share`, at least one where any is allowed."""
        draws = random.random(self.genes.shape)
        draws[~self.allowed] = 2.0
        chosen: Mask = draws < np.maximum(self.share[:, None], draws.min(axis=1, keepdims=True) + 1e-300)
        return chosen & self.allowed

    def one(self, random: np.random.Generator) -> tuple[Places, Places]:
        """Lines and columns of one random allowed gene each; lines without any are left out."""
        draws = random.random(self.genes.shape)
        draws[~self.allowed] = -1.0
        columns = draws.argmax(axis=1)
        lines = np.flatnonzero(self.allowed[np.arange(self.count), columns])
        return lines, columns[lines]


Move: TypeAlias = Callable[[Children, Ground], None]
MOVES: dict[str, Move] = {}


def _move(function: Move) -> Move:
    MOVES[function.__name__.strip("_")] = function
    return function


@_move
def _step(c: Children, g: Ground) -> None:
    """Some units in the last place, log-uniformly many: across binades, too."""
    chosen = c.some(g.random)
    size = np.exp2(g.random.random(c.genes.shape) * c.reach[:, None])
    steps = np.rint(size).astype(np.int64) * _signs(g.random, c.genes.shape)
    c.genes += np.where(chosen, steps, 0)


@_move
def _flip(c: Children, g: Ground) -> None:
    """A bit of the significand."""
    chosen = c.some(g.random)
    bits = g.random.integers(0, precision(g.home).digits - 1, c.genes.shape)
    flipped = np.sign(c.genes) * (np.abs(c.genes) ^ (1 << bits))
    c.genes[chosen] = flipped[chosen]


@_move
def _binade(c: Children, g: Ground) -> None:
    """The exponent of some genes, the significand stays; all by as much half of the time."""
    chosen = c.some(g.random)
    shape = np.where(g.random.random(c.count) < 0.5, c.genes.shape[1], 1)
    most = int(shape.max(initial=1))
    shifts = g.random.geometric(0.5, (c.count, most)) * _signs(g.random, (c.count, most))
    shifts = np.where(shape[:, None] == 1, shifts[:, :1], shifts)
    moved = _shifted(c.genes, np.broadcast_to(shifts, c.genes.shape), g.home)
    c.genes[chosen] = moved[chosen]


@_move
def _scale(c: Children, g: Ground) -> None:
    """All allowed genes of one input by one power of two."""
    chosen = _of_one_input(c, g)
    shifts = g.random.geometric(0.3, (c.count, 1)) * _signs(g.random, (c.count, 1))
    moved = _shifted(c.genes, np.broadcast_to(shifts, c.genes.shape), g.home)
    c.genes[chosen] = moved[chosen]


@_move
def _sign(c: Children, g: Ground) -> None:
    chosen = c.some(g.random)
    c.genes[chosen] *= -1


@_move
def _cross(c: Children, g: Ground) -> None:
    """Some genes of another individual, or a run of neighbouring ones."""
    mates = g.mates[g.random.integers(0, len(g.mates), c.count)]
    chosen = np.where(g.random.random((c.count, 1)) < 0.5, g.random.random(c.genes.shape) < 0.5, _runs(c, g))
    chosen &= c.allowed
    c.genes[chosen] = mates[chosen]


@_move
def _redraw(c: Children, g: Ground) -> None:
    """One input, or a part of it, from a recipe."""
    drawn = g.fresh[g.random.integers(0, len(g.fresh), c.count)]
    chosen = _of_one_input(c, g)
    part = g.random.random((c.count, 1)) < 0.5
    chosen &= ~part | (g.random.random(c.genes.shape) < c.share[:, None])
    c.genes[chosen] = drawn[chosen]


@_move
def _balance(c: Children, g: Ground) -> None:
    """One gene becomes minus the sum of the others of its input and lane, give or take a few keys: cancellation."""
    lines, columns = c.one(g.random)
    values = values_of(c.genes[lines], g.home).astype(np.float64)
    same = np.zeros(values.shape, bool)
    for genes in g.columns:
        same[np.ix_(np.isin(columns, genes), genes)] = True
    same &= g.lane == g.lane[columns][:, None]
    own = values[np.arange(len(lines)), columns]
    with np.errstate(all="ignore"):
        rest = np.where(same, values, 0.0).sum(axis=1) - own
        rounded = precision(g.home).round(-rest)
    c.genes[lines, columns] = keys_of(rounded) + _little(g.random, len(lines))


@_move
def _repeat(c: Children, g: Ground) -> None:
    """One gene becomes another one of the individual, of either sign, give or take a few keys."""
    lines, columns = c.one(g.random)
    others = g.random.integers(0, c.genes.shape[1], len(lines))
    copied = c.genes[lines, others] * _signs(g.random, len(lines))
    c.genes[lines, columns] = copied + _little(g.random, len(lines))


@_move
def _swap(c: Children, g: Ground) -> None:
    """Two genes of one input change places: the order of a sum."""
    lines, first = c.one(g.random)
    second = first.copy()
    for genes in g.columns:
        inside = np.isin(first, genes)
        second[inside] = genes[g.random.integers(0, len(genes), int(inside.sum()))]
    fine = c.allowed[lines, second]
    lines, first, second = lines[fine], first[fine], second[fine]
    c.genes[lines, first], c.genes[lines, second] = c.genes[lines, second], c.genes[lines, first]


@_move
def _landmark(c: Children, g: Ground) -> None:
    """One gene goes near to a point that the contract calls delicate, or to an end of the format."""
    lines, columns = c.one(g.random)
    for genes, points in zip(g.columns, g.landmarks, strict=True):
        inside = np.flatnonzero(np.isin(columns, genes))
        chosen = points[g.random.integers(0, len(points), len(inside))]
        c.genes[lines[inside], columns[inside]] = chosen + _little(g.random, len(inside))


def _signs(random: np.random.Generator, shape: int | tuple[int, ...]) -> NDArray[np.int64]:
    return random.integers(0, 2, shape) * 2 - 1


def _little(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Few keys up or down, none in a third of the cases."""
    sizes = random.integers(0, NEAR + 1, count) * (random.random(count) < 2 / 3)
    return sizes * _signs(random, count)


def _shifted(keys: Keys, shifts: NDArray[np.int64], home: DType) -> Keys:
    """Keys so many binades further from zero. What would leave the format stays."""
    p = precision(home)
    step = 2 ** (p.digits - 1)
    magnitude = np.abs(keys)
    moved = magnitude + shifts * step
    last = (p.maximum_exponent - p.minimum_exponent + 2) * step
    return np.sign(keys) * np.where((moved >= 0) & (moved < last), moved, magnitude)


def _of_one_input(c: Children, g: Ground) -> Mask:
    """The allowed genes of one input, another one for each individual."""
    which = g.random.integers(0, len(g.columns), c.count)
    chosen = np.zeros(c.genes.shape, bool)
    for number, genes in enumerate(g.columns):
        chosen[np.ix_(which == number, genes)] = True
    return chosen & c.allowed


def _runs(c: Children, g: Ground) -> Mask:
    """A run of neighbouring genes of random length in each individual."""
    genes = c.genes.shape[1]
    length = np.rint(genes ** g.random.random((c.count, 1))).astype(np.int64)
    start = g.random.integers(0, genes, (c.count, 1))
    at = np.arange(genes)
    runs: Mask = (at >= start) & (at < start + length)
    return runs
