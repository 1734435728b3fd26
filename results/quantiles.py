"""Exact quantiles of errors over outputs, by target."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from results.kept import kept
from results.spreads import ALONE, FIGURES, Interval, interval

if TYPE_CHECKING:
    from results.reading import Results

LEVELS: tuple[float, ...] = (0.5, 0.9, 0.99, 0.999)

FEW = 32
"""To keep one number in so many costs DuckDB about as much as another interval to compare all numbers with."""

Key: TypeAlias = tuple[str, str]
"""Target and figure."""
Place: TypeAlias = tuple[int, int]
"""A bucket, and how many smaller ones of its numbers there are."""


class Quantiles(Struct, frozen=True):
    """Of one target: at each of LEVELS the smallest value that so large a share of the outputs does not exceed."""

    target: str
    relative: tuple[float, ...]
    """Of the largest relative error of an output; empty where nothing was measured."""
    rho: tuple[float, ...]
    """Of the largest rho of an output."""


@kept(list[Quantiles])
def quantiles(results: Results) -> list[Quantiles]:
    """Of each target with an output, in alphabetical order. NaN counts as larger than everything.

    The summary says in which bucket each lies, so that of most rows no number is kept.
    """
    spreads: dict[Key, list[tuple[int, int]]] = {}
    for row in results.tallied("SELECT * FROM spreads ORDER BY target, figure, bucket"):
        spreads.setdefault((row["target"], row["figure"]), []).append((row["bucket"], row["n"]))
    places = {key: _places(lines) for key, lines in spreads.items()}
    numbers = _numbers(results, spreads, places)
    return [
        Quantiles(target, **{figure: _values(places, numbers, target, figure) for figure in FIGURES})
        for target in dict.fromkeys(target for target, _ in spreads)
    ]


def _places(lines: Sequence[tuple[int, int]]) -> list[Place]:
    """Where the quantiles of numbers lie, given how many are in each bucket, the smallest first."""
    total = sum(n for _, n in lines)
    found = []
    for level in LEVELS:
        left = max(1, math.ceil(Fraction(str(level)) * total))
        for bucket, n in lines:
            if left <= n:
                found.append((bucket, left - 1))
                break
            left -= n
    return found


def _numbers(
    results: Results, spreads: dict[Key, list[tuple[int, int]]], places: dict[Key, list[Place]]
) -> dict[Key, Any]:
    """All numbers in the buckets that are asked for, by target and figure, and others."""
    import numpy as np

    found: dict[Key, Any] = {}
    for figure, column in FIGURES.items():  # one query each: most rows are then left out by a comparison of numbers
        asked = {bucket for key, own in places.items() if key[1] == figure for bucket, _ in own} - set(ALONE)
        if not asked:
            continue
        held: Counter[int] = Counter()
        for key, lines in spreads.items():
            if key[1] == figure:
                held.update(dict(lines))
        within = _inside(column, _joined(asked, held))
        table = results.table(f"SELECT target, list({column}) AS numbers FROM trials WHERE {within} GROUP BY target")
        for target, numbers in zip(table.column("target").to_pylist(), table.column("numbers"), strict=True):
            found[target, figure] = np.from_dlpack(numbers.values)
    return found


def _joined(asked: Iterable[int], held: Counter[int]) -> list[Interval]:
    """Few intervals that hold the buckets asked for, in order; those that few numbers lie between are joined.

    `held` says how many numbers are in each bucket.
    """
    few = held.total() / FEW
    buckets = sorted(asked)
    found = [interval(buckets[0])]
    for before, bucket in itertools.pairwise(buckets):
        low, high = interval(bucket)
        if sum(n for other, n in held.items() if before < other < bucket) <= few:
            found[-1] = found[-1][0], high
        else:
            found.append((low, high))
    return found


def _inside(column: str, intervals: Sequence[Interval]) -> str:
    """In SQL, whether a number is in one of them."""
    ends = [[f"'{end!r}'::DOUBLE" for end in one] for one in intervals]  # 0.25 would be a decimal number
    either = " OR ".join(f"{column} >= {low} AND {column} < {high}" for low, high in ends)
    return f"({either})"


def _values(places: dict[Key, list[Place]], numbers: dict[Key, Any], target: str, figure: str) -> tuple[float, ...]:
    found = []
    for bucket, smaller in places.get((target, figure), ()):
        if bucket in ALONE:
            found.append(ALONE[bucket])
            continue
        several, (low, high) = numbers[target, figure], interval(bucket)
        own = several[(several >= low) & (several < high)]
        own.partition(smaller)
        found.append(float(own[smaller]))
    return tuple(found)
