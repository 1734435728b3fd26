"""The simplest parameters that keep a property, found by Hypothesis' shrinker over a flat vector of indices.

`hypothesis.find` shrinks what it finds in its database under the *secondary* key of a test; under the primary key it
would only replay it. So a vector that is known to have the property is stored there, and nothing is generated.
"""

from __future__ import annotations

import contextlib
import unittest
from collections.abc import Callable

import hypothesis
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.strategies import integers, tuples

from strategies.iid import HypothesisChanged, same_order

Indices = tuple[int, ...]

_KEY = b"ulpfuzz"
_SECONDARY = _KEY + b".secondary"


def simplified(start: Indices, holds: Callable[[Indices], bool]) -> Indices:
    """A vector, element by element between 0 and `start`, that holds and that Hypothesis makes no simpler.

    0 is the simplest value of every element; earlier elements weigh more. `start` is taken to hold. A pure function of
    `start` and of what `holds` answers; `holds` is never asked twice for one vector. HypothesisChanged where the
    installed version does not begin with `start`.
    """
    free = [number for number, index in enumerate(start) if index]
    if not free:
        return start
    asked: dict[Indices, bool] = {start: True}
    first: list[Indices] = []

    def whole(drawn: Indices) -> Indices:
        vector = list(start)
        for number, index in zip(free, drawn, strict=True):
            vector[number] = index
        return tuple(vector)

    def property_(drawn: Indices) -> bool:
        vector = whole(drawn)
        first.append(vector)
        if vector not in asked:
            asked[vector] = holds(vector)
        return asked[vector]

    database = InMemoryExampleDatabase()
    database.save(_SECONDARY, choices_to_bytes(tuple(start[number] for number in free)))
    settings = hypothesis.settings(
        database=database,
        deadline=None,
        max_examples=1_000_000,  # of the phases below, only shrinking costs any
        phases=[hypothesis.Phase.reuse, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    drawn = tuples(*(integers(0, start[number]) for number in free))
    found: Indices | None = None
    with contextlib.suppress(hypothesis.errors.NoSuchExample, unittest.SkipTest), same_order():
        found = hypothesis.find(drawn, property_, settings=settings, database_key=_KEY)
    if found is None or not first or first[0] != start:
        raise HypothesisChanged(
            f"Hypothesis {hypothesis.__version__} does not shrink what is stored under a secondary key: install a "
            "version that ulpfuzz was verified with (see constraints.txt)"
        )
    return whole(found)
