"""Arguments in another order: a function that agrees with another once two of its inputs are swapped."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fuzz.backends.base import Array
from fuzz.checking.called import FOREIGN, Called

MOST = 4
"""Inputs that are tried in every order."""
CLOSE = 1e-3
"""Relative distance (2-norm) up to which two results are taken for the same function's."""


def swapped(reference: Called, others: Sequence[Called], inputs: Mapping[str, Array]) -> list[str]:
    """A note for each of `others` that is far from `reference`, and close to it with its inputs in another order.

    Functions that take their inputs by name cannot take them for each other.
    """
    if not 2 <= len(inputs) <= MOST:
        return []
    return [note for other in others if not other.by_name for note in _note(reference, other, inputs)]


def misplaced(name: str, places: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """A note for inputs that go by position to one parameter of a function and have the name of another."""
    wrong = [f"{one} as {place}" for one, place in zip(inputs, places, strict=False) if one != place and one in places]
    if not wrong:
        return []
    return [
        f"{name}({', '.join(places)}) was given input {', '.join(wrong)}: where a name fits no parameter, all inputs "
        "go by position; give them the names of the parameters"
    ]


def _note(reference: Called, other: Called, inputs: Mapping[str, Array]) -> Iterator[str]:
    arrays, names = list(inputs.values()), list(inputs)
    try:
        wanted = reference([array.copy() for array in arrays])
        if _close(other([array.copy() for array in arrays]), wanted):
            return
        for order in _orders(arrays):
            if _close(other([arrays[number].copy() for number in order]), wanted):
                given = ", ".join(names[number] for number in order)
                yield (
                    f"{other.name} agrees with {reference.name} when it is called with ({given}) instead of "
                    f"({', '.join(names)}): does it take its arguments in another order?"
                )
                return
    except FOREIGN:  # what it cannot do here, it says where it is called for the check
        return


def _orders(arrays: Sequence[Array]) -> Iterator[tuple[int, ...]]:
    """Other orders in which every place gets an array of its shape."""
    places = range(len(arrays))
    for order in itertools.permutations(places):
        if order != tuple(places) and all(arrays[order[at]].shape == arrays[at].shape for at in places):
            yield order


def _close(found: Sequence[Array], wanted: Sequence[Array]) -> bool:
    if [a.shape for a in found] != [a.shape for a in wanted]:
        return False
    for a, b in zip(found, wanted, strict=True):
        one, other = a.astype(np.float64), b.astype(np.float64)
        if not np.linalg.norm(one - other) <= CLOSE * np.linalg.norm(other):
            return False
    return True
