"""The rows of a trial on which the engine itself failed: a campaign of days does not end for one of them."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz.errors import InternalError
from fuzz.judging import rows
from fuzz.operators import operator
from fuzz.trial import Cell, TrialRows
from results.columns import COLUMNS
from results.engine_failures import ENGINE_FAILED

SEVERAL = 20
"""Failures of the engine from which on it matters whether most trials are such."""
_AT = {column.name: position for position, column in enumerate(COLUMNS)}


def not_judged(cell: Cell, seed: int, index: int, environment: str, error: Exception) -> TrialRows:
    """One row an output and target, `indeterminate`, which says what the engine failed with.

    Nothing is known of the outputs, whatever was computed before the failure: their size is 0.
    """
    problem = cell.problem
    names = tuple(spec.name for spec in operator(problem.operator).contract.outputs)
    context = rows.Context(problem, seed, environment, (0,) * len(names), names, 0)
    said = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}{_place(error)}"
    reason = f"{ENGINE_FAILED}: {' '.join(said.split())}"
    found = [
        context.row(index, output, target, "truth", target.implementation(problem.operator))
        | {"verdict": "indeterminate", "detail": reason, "error": reason}
        for target in cell.targets
        for output in range(len(names))
    ]
    return TrialRows(found)


def _place(error: Exception) -> str:
    """The line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


class EngineTrials:
    """Trials of a run, and those of them on which the engine failed. It is no use to go on where most are such."""

    def __init__(self) -> None:
        self.trials = self.failed = 0

    def look(self, trials: int, found: Sequence[Sequence[Any]]) -> dict[str, str]:
        """Count the rows of so many trials; what the engine failed with, by trial.

        InternalError where it fails on more than half of SEVERAL trials and more.
        """
        self.trials += trials
        failed = {row[_AT["trial"]]: row[_AT["error"]] for row in found if _failed(row[_AT["error"]])}
        self.failed += len(failed)
        if failed and self.failed >= SEVERAL and 2 * self.failed > self.trials:
            trial, error = next(iter(failed.items()))
            raise InternalError(
                f"the engine failed on {self.failed} of {self.trials} trials, at {trial} with "
                f"{error.removeprefix(ENGINE_FAILED).lstrip(': ')}; finished shards are kept"
            )
        return failed


def _failed(error: str | None) -> bool:
    return error is not None and error.startswith(ENGINE_FAILED)
