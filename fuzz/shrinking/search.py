"""The state of a search: the best case so far, what was asked, and when it is enough."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct

from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.journal import Journal, digest
from fuzz.shrinking.looking import Looking
from fuzz.shrinking.seen import Guard, Seen
from strategies.precision import precision

EVALUATIONS = 2000
"""Candidates looked at, at most: five times what the searches of benchmarks/shrinking.py need."""
SECONDS = 60.0
"""A search ends after so long, wherever it is; run again, it goes on there."""


class Over(Exception):
    """The search has used up its evaluations or its time."""


class Enough(Exception):
    """A step has used up its share of the search."""


class Limits(Struct, frozen=True):
    """`evaluations` counts those of earlier runs, `seconds` is of this run alone."""

    evaluations: int = EVALUATIONS
    seconds: float = SECONDS


USUAL = Limits()


class Found(NamedTuple):
    """A case that fails as the first one does."""

    specimen: Specimen
    seen: Seen


def guard_of(first: Found) -> Guard:
    """What fails as the first case does."""
    return Guard(first.seen, 2.0 ** -precision(first.specimen.target.dtype).digits)


class Search:
    """Looks at candidates and keeps the best: each case that holds is simpler than the one before."""

    def __init__(
        self,
        looking: Looking,
        first: Found,
        ladder: bool,
        limits: Limits = USUAL,
        journal: Journal | None = None,
        progress: Callable[[Search], None] = lambda search: None,
    ) -> None:
        self.best = first
        self.accepted = [first]
        """Every case that became the best, the first included."""
        self.evaluations = 0
        self.cut_off = False
        """Whether the time ended the search before its end."""
        self._guard, self._looking, self.ladder = guard_of(first), looking, ladder
        self._limits = limits
        self._journal = journal if journal is not None else Journal(None, {})
        self._progress = progress
        self._asked: set[str] = set()
        self._questions, self._step_ends = 0, math.inf
        """Looks, those included whose answer was known."""
        self._deadline = time.monotonic() + limits.seconds

    def look(self, specimen: Specimen) -> Found | None:
        """The candidate, where it fails in the same way. Raises Over where nothing more may be looked at."""
        if self._questions >= self._step_ends:
            raise Enough
        self._questions += 1
        key = digest(specimen)
        if key not in self._asked:
            if self.evaluations >= self._limits.evaluations:
                raise Over
            if key not in self._journal:
                if time.monotonic() > self._deadline:
                    self.cut_off = True
                    raise Over
                self._journal.add(key, self._looking.look(specimen, self.ladder))
                self._progress(self)
            self._asked.add(key)
            self.evaluations += 1
        seen = self._journal[key]
        if not self._guard.holds(seen):
            return None
        assert seen is not None
        return Found(specimen, seen)

    def holds(self, specimen: Specimen) -> bool:
        """Whether the candidate fails in the same way; then it is the best from now on."""
        found = self.look(specimen)
        if found is not None:
            self.keep(found)
        return found is not None

    @contextlib.contextmanager
    def step(self, questions: int) -> Iterator[None]:
        """A part of the search that ends after so many looks, known answers included, wherever it is. Not nested."""
        self._step_ends = self._questions + questions
        try:
            with contextlib.suppress(Enough):
                yield
        finally:
            self._step_ends = math.inf

    def keep(self, found: Found) -> None:
        self.best = found
        self.accepted.append(found)
