"""Look at a candidate in this process: a cheap examination first, then the whole trial pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from msgspec import structs

from fuzz.backends.base import Unsupported
from fuzz.reproduction.specimen import OF_PROCESS, Examiner, Specimen, kinds_of
from fuzz.shrinking.seen import Aim, Seen, seen_of
from fuzz.trial import Cell, Session, run_trial
from strategies.contract import ContractError
from strategies.given import STORE
from strategies.problem import Problem

_UNSEEN = frozenset({"schedule_variant"})
"""Verdicts that only the pipeline sees: the result is compared with another target's."""


class Looking(Protocol):
    """Whoever runs candidates. None: it cannot be run, or does not fail in any way that matters."""

    def look(self, specimen: Specimen, ladder: bool) -> Seen | None: ...


class Looker:
    """Looks in this process, which a kernel may end. Not for verdicts of what ends processes: see `Engine`."""

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._kinds = kinds_of(aim.verdict)
        assert self._kinds[0] not in OF_PROCESS, aim.verdict
        self._examiner = Examiner()
        self._session = Session("")
        self._session.workbench = self._examiner.workbench

    def look(self, specimen: Specimen, ladder: bool) -> Seen | None:
        try:
            position = self._position(specimen)
            if position is None:
                return None
            rows = run_trial(Cell(given(specimen), (specimen.target,)), 0, 0, self._session, ladder=ladder).rows
        except (ContractError, ValueError, TypeError, IndexError, ArithmeticError):  # no problem of this operator
            return None
        return seen_of(rows, self._aim.output, position)

    def explain(self, specimen: Specimen) -> tuple[str, ...]:
        """What the options of its target amount to, a line each."""
        bench = self._examiner.workbench.bench(specimen.problem)
        try:
            return bench.explain(specimen.target)
        except (Unsupported, RuntimeError):
            return ()

    def _position(self, specimen: Specimen) -> int | None:
        """Where it fails, -1 where that cannot be told; None where it does not."""
        if self._aim.verdict in _UNSEEN:
            return -1
        bench = self._examiner.bench(specimen)
        names = [spec.name for spec in bench.contract.outputs]
        output = names.index(self._aim.output) if self._aim.output else None
        failing = self._examiner.examine(specimen, self._kinds, output)
        return None if failing is None else failing.position


def given(specimen: Specimen) -> Problem:
    """The specimen as a problem whose inputs are its arrays."""
    recipes = tuple(STORE.add(np.asarray(values), name) for name, values in specimen.arrays.items())
    return structs.replace(specimen.problem, recipes=recipes, home=specimen.target.dtype)


def contents(specimen: Specimen) -> Mapping[str, np.ndarray]:
    """The arrays of `given` by content."""
    return {recipe.content: STORE.resolve(recipe.content) for recipe in given(specimen).recipes}  # type: ignore[attr-defined]
