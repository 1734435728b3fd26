"""What can be asked of a running supervisor: how its workers are, and how often they had to be replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

OnEvent: TypeAlias = Callable[[str, dict[str, Any]], None]
"""(kind, facts): worker_started, worker_died, recycled, timed_out, killed_for_memory, quarantined."""


def ignore(kind: str, facts: dict[str, Any]) -> None:
    """Tell nobody."""


class WorkerHealth(Struct, frozen=True):
    """One worker at one moment."""

    name: str
    pid: int
    rss_mib: float
    state: str
    """starting, idle or running."""
    trial: str
    """Name of the trial it is on, "" without one; likewise target and stage, "" between calls."""
    target: str
    stage: str
    call_seconds: float
    """How long the present call has run, or what lies between two calls, or the start."""
    shards: int
    """Shards it has finished."""


class Replaced(Struct):
    """Workers replaced, by cause."""

    died: int = 0
    timed_out: int = 0
    out_of_memory: int = 0
    recycled: int = 0

    @property
    def deaths(self) -> int:
        """Of which a call is to blame, or an accident: all but the recycled."""
        return self.died + self.timed_out + self.out_of_memory
