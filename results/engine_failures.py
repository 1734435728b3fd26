"""Trials that have no verdict because ulpfuzz itself failed on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from results.reading import Results

ENGINE_FAILED = "ulpfuzz itself failed here"
"""How the `error` of such a row begins; its verdict is `indeterminate`."""


class EngineFailures(Struct, frozen=True):
    """How many trials, which was the first by name, and what went wrong there."""

    trials: int
    trial: str
    error: str

    def line(self, directory: str) -> str:
        """For the end of a run: what is wrong, and how to see where."""
        reason = self.error.removeprefix(ENGINE_FAILED).lstrip(": ")
        number = "1 trial has" if self.trials == 1 else f"{self.trials:,} trials have"
        return (
            f"{number} no verdict because ulpfuzz itself failed, at {self.trial} with {reason}; "
            f"`ulpfuzz repro {directory} {self.trial} --debug` shows where"
        )


def engine_failures(results: Results) -> EngineFailures | None:
    """None where there are none, as there should be."""
    (row,) = results.records(
        f"""SELECT count(DISTINCT trial) AS trials, min(trial) AS trial, arg_min(error, trial) AS error
            FROM measurements WHERE verdict = 'indeterminate' AND starts_with(error, '{ENGINE_FAILED}')"""
    )
    return EngineFailures(**row) if row["trials"] else None
