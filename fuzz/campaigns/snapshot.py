"""What a running campaign looks like at one moment: one value, shown on the terminal, logged, and read by `watch`."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from results.visible import shortened, visible

_LONGEST = 120
"""Characters of a name; of longer ones the start is shown."""


class TargetCounts(Struct, frozen=True):
    """Trials of one target against the truth. A trial counts once, whatever its number of outputs."""

    target: str
    trials: int = 0
    """Run; those the target does not support, or was not run on, are left out."""
    measured: int = 0
    """With an output to measure: what the next three are counts of."""
    above_1e01: int = 0
    above_1e02: int = 0
    flagged: int = 0
    failures: tuple[tuple[str, int], ...] = ()
    """Trials without any output, by verdict."""


class FindingCount(Struct, frozen=True):
    """Trials of one operator in which one target has one verdict that is a finding."""

    operator: str
    target: str
    verdict: str
    trials: int
    trial: str
    """Name of one with the largest rho."""
    worst_rho: float | None = None
    """None where there is no output to measure, or rho is not finite."""


class WorkerState(Struct, frozen=True):
    """What one worker process is doing; the fields of fuzz.workers.health.WorkerHealth."""

    name: str
    pid: int
    rss_mib: float
    state: str
    """starting, idle or running."""
    trial: str = ""
    target: str = ""
    stage: str = ""
    call_seconds: float = 0.0
    """How long it has been at that."""
    shards: int = 0


class Snapshot(Struct, frozen=True, kw_only=True):
    """A campaign at one moment."""

    title: str
    directory: str
    plan: str
    total: int | None
    """Trials of the plan; None where time or a decision ends it."""
    done: int
    elapsed: float | None
    """Seconds of running time, over all runs of the campaign; None where nobody has kept it."""
    speed: float | None
    """Trials a second over the last minute; None before the first ones have arrived."""
    eta: float | None
    """Seconds left by the present pace or the time allowed; None where the end is not known."""
    budget: str
    """What ends the campaign besides its number of trials: "for 8 h 00 min", "until decided at 0.0076"; or empty."""
    one_rate: bool
    """Whether the trials of a target are draws of one thing, so that its counts are a rate with an interval."""
    targets: tuple[TargetCounts, ...]
    findings: tuple[FindingCount, ...]
    """The most severe first, not more than MOST_FINDINGS."""
    findings_total: int
    workers: tuple[WorkerState, ...]
    restarts: tuple[tuple[str, int], ...]
    """Workers that were replaced, by the kind of event."""
    quarantined: int
    """Targets that are not run any more on some problem."""
    free_bytes: int | None
    """Room left on the disk of the campaign; None where it cannot be asked."""
    ended: str = ""
    """Why the run ended; empty while it goes on."""


MOST_FINDINGS = 20


def legible(snapshot: Snapshot) -> Snapshot:
    """The snapshot with names that a terminal shows and does not obey."""
    return msgspec.convert(_legible(msgspec.to_builtins(snapshot)), Snapshot)


def _legible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(shortened(value, _LONGEST))
    if isinstance(value, dict):
        return {key: _legible(item) for key, item in value.items()}
    return [_legible(item) for item in value] if isinstance(value, list | tuple) else value
