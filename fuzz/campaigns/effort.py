"""What a run of a campaign took: problems and trials a second, and where the processor time of its workers went."""

from __future__ import annotations

from typing import Any

from fuzz.workers.handover import NOTHING, Finished


class Effort:
    """Sums over the shards of one run. Workers that died took what they knew of their last shard with them.

    `drawn`: each shard has problems of its own, so that nobody need remember which there were.
    """

    def __init__(self, drawn: bool) -> None:
        self._drawn = drawn
        self._seen: set[str] = set()
        self._problems = self._trials = 0
        self._cpu = self._compiling = 0.0

    def add(self, finished: Finished) -> None:
        """A shard is handed over."""
        self._trials += finished.new
        self._cpu += finished.spent.cpu
        self._compiling += finished.spent.compiling
        if finished.spent == NOTHING:
            return  # on the way
        ran = {piece.cell.problem.id for at, piece, _ in finished.shard.positions(0) if at < finished.position}
        if self._drawn:
            self._problems += len(ran)
        else:
            self._seen |= ran
            self._problems = len(self._seen)

    def facts(self) -> dict[str, Any]:
        """For the log."""
        return {
            "problems": self._problems,
            "cpu_seconds": round(self._cpu, 4),
            "compiling_seconds": round(self._compiling, 4),
        }

    def line(self, seconds: float) -> str:
        """One line for a run of so many seconds; empty where nothing was measured."""
        if not self._cpu or seconds <= 0:
            return ""
        problems = "1 problem" if self._problems == 1 else f"{self._problems:,} problems"
        pace = f"{problems} ({self._problems / seconds:.3g}/s), {self._trials:,} trials"
        return (
            f"{pace} ({self._trials / seconds:.3g}/s); {100 * self._compiling / self._cpu:.0f} % of the workers' "
            f"{self._cpu:.3g} s of processor time went into compilation"
        )
