"""Candidates run by the engine's own supervisor: for failures that end a process or show only when it is observed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.backends import BACKENDS
from fuzz.errors import InternalError
from fuzz.plan import Piece, Shard
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.looking import given
from fuzz.shrinking.seen import Aim, Seen, seen_of
from fuzz.trial import Cell
from fuzz.workers.handover import Finished
from fuzz.workers.job import Job
from fuzz.workers.limits import Limits
from fuzz.workers.supervisor import Supervisor
from fuzz.workers.worker import Setup
from results.columns import COLUMNS
from strategies.contract import ContractError
from strategies.given import STORE, Given

CALL_SECONDS, COMPILE_SECONDS = 10.0, 30.0
"""Limits where the finding is not about time: a candidate that takes longer does not count."""
_SLOW = re.compile(r"(?P<stage>compile|run)(?: in the other precision)? took longer than (?P<seconds>[0-9.e+]+) s")
_NAMES = tuple(column.name for column in COLUMNS)


class Engine:
    """Looks at each candidate as a campaign of one trial does, forensic examination included. Use it as a context.

    `check` is called while it waits, and may raise.
    """

    def __init__(
        self,
        aim: Aim,
        detail: str,
        backend: str,
        extensions: tuple[str, ...],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._aim, self._check = aim, check
        self._folder = tempfile.TemporaryDirectory(prefix="ulpfuzz-")
        path = Path(self._folder.name)
        (path / "tmp").mkdir()
        self._given = path / "given"
        self._setup = Setup("", "", 0, "", (backend,), extensions, str(self._given))
        modules = (BACKENDS[backend].module,) if BACKENDS[backend].module else ()
        self._supervisor = Supervisor(path, self._setup, 1, limits(detail), modules)
        self._number = 0

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: object) -> None:
        self._supervisor.__exit__(*exception)
        self._folder.cleanup()

    def renew(self) -> None:
        """End the worker: the next candidate has a fresh process."""
        self._supervisor.__exit__()

    def look(self, specimen: Specimen, ladder: bool) -> Seen | None:
        try:
            problem = given(specimen)
        except (ContractError, ValueError):
            return None
        for recipe in problem.recipes:
            assert isinstance(recipe, Given)
            STORE.save(self._given, recipe.content, STORE.resolve(recipe.content))
        # the ladder climbs unasked at the index that is the piece's first
        piece = Piece(Cell(problem, (specimen.target,)), 0, 1, 0 if ladder else 1)
        self._number += 1
        done: list[Finished] = []
        try:
            self._supervisor.run(iter([Job(Shard(self._number, (piece,)))]), done.append, _ignore, self._go_on)
        except InternalError:  # the candidate is no problem of this operator, or ended workers between calls
            self.renew()
            return None
        rows = [dict(zip(_NAMES, row, strict=True)) for finished in done for row in finished.rows]
        return seen_of(rows, self._aim.output)

    def _go_on(self) -> bool:
        self._check()
        return False


def limits(detail: str) -> Limits:
    """The campaign's own limit where the finding is that it was exceeded (its row names it)."""
    slow = _SLOW.search(detail)
    if slow is None:
        return Limits(CALL_SECONDS, COMPILE_SECONDS)
    seconds = float(slow["seconds"])
    return Limits(CALL_SECONDS, seconds) if slow["stage"] == "compile" else Limits(seconds, COMPILE_SECONDS)


def _ignore(trials: int, rows: list[list[Any]]) -> None:
    return None
