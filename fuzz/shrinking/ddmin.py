"""Delta debugging: a small subset of a list that keeps a property (Zeller and Hildebrandt 2002, ddmin)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

ALONE = 4
"""Up to so many parts each is tried alone. What a single item carries is found with two; of several that are far apart
one part alone seldom holds, and leaving parts out finds them, too."""


def ddmin(items: Sequence[Item], holds: Callable[[list[Item]], bool], least: int = 1) -> list[Item]:
    """A subset of `items`, in their order, of which no single item can be left out while `holds`.

    `items` themselves are taken to hold. First each of a few parts alone is tried, then all but one of them, then parts
    half as long. Subsets of fewer than `least` items are not tried.
    """
    kept, parts = list(items), 2
    while len(kept) > max(least, 1):
        parts = min(parts, len(kept))
        cuts = [len(kept) * number // parts for number in range(parts + 1)]
        pieces = [kept[cuts[i] : cuts[i + 1]] for i in range(parts)]
        tried = pieces if parts <= ALONE else []
        alone = next((piece for piece in tried if len(piece) >= least and holds(piece)), None)
        if alone is not None:
            kept, parts = alone, 2
            continue
        if parts > 2:  # of two parts, one is the other's complement
            rest = next((rest for rest in _without_one(pieces) if len(rest) >= least and holds(rest)), None)
            if rest is not None:
                kept, parts = rest, max(parts - 1, 2)
                continue
        if parts >= len(kept):
            break
        parts = 2 * parts
    return kept


def _without_one(pieces: list[list[Item]]) -> Iterator[list[Item]]:
    return ([item for other in pieces[:n] + pieces[n + 1 :] for item in other] for n in range(len(pieces)))
