"""Keeps the snapshot of a running campaign up to date. The engine tells it what happens; it tells the log."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from fuzz.campaigns import duration
from fuzz.campaigns.counting import Counts
from fuzz.campaigns.manifest import Manifest
from fuzz.campaigns.snapshot import MOST_FINDINGS, Snapshot, WorkerState

SNAPSHOT_SECONDS = (1.0, 10.0)
"""Between two snapshots in the log: shorter at the start of a run, when somebody waits for the first."""
MOST_SHARE = 1e-3
"""Of the time may go into them; where one takes longer than 10 ms, they become rarer."""
SPEED_SECONDS = 60.0
"""The speed shown is the mean over so long."""
REPLACED = ("worker_died", "timed_out", "killed_for_memory", "recycled")
"""Kinds of events with which a worker was replaced."""
QUARANTINED = "quarantined"


class EventLog(Protocol):
    """Where events go."""

    def write(self, event: str, elapsed: float, facts: Mapping[str, Any]) -> None: ...


class Recorder:
    """What a run of a campaign says about itself: counts, speed, workers, events.

    `seconds`: time allowed to all runs of the campaign together. `before`: running time of the runs before this one.
    Only `snapshot` may be called from another thread.
    """

    def __init__(
        self,
        *,
        title: str,
        directory: Path | None,
        plan: str,
        targets: Iterable[str],
        one_rate: bool = False,
        budget: str = "",
        seconds: float | None = None,
        open_end: bool = False,
        before: float = 0.0,
        log: EventLog | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title, self._directory, self._plan, self._budget = title, directory, plan, budget
        self._one_rate, self._seconds, self._open_end, self._before = one_rate, seconds, open_end, before
        self._log, self._clock = log, clock
        self._counts = Counts(targets)
        self._total: int | None = None
        self._done = 0
        self._started = clock()
        self._pace = Pace()
        self._workers: tuple[WorkerState, ...] = ()
        self._restarts: dict[str, int] = {}
        self._quarantined = 0
        self._due, (self._pause, _) = 0.0, SNAPSHOT_SECONDS
        self._ended = ""
        self._elapsed_at_end: float | None = None

    @classmethod
    def of(cls, manifest: Manifest, directory: Path, *, before: float = 0.0, log: EventLog | None = None) -> Recorder:
        """The recorder of a campaign."""
        operators = sorted({name for cell in manifest.cells for name in [str(cell.problem["operator"])]})
        operators = operators or sorted({group.operator for group in manifest.survey})
        usual = ", ".join(operators) if len(operators) <= 3 else f"{len(operators)} operators"
        return cls(
            title=manifest.title or usual,
            directory=directory,
            plan=manifest.plan,
            targets=manifest.targets,
            one_rate=len(manifest.groups) == 1 and (manifest.plan == "fixed" or manifest.trials_per_problem == 1),
            budget=budget_text(manifest),
            seconds=manifest.seconds,
            open_end=manifest.until is not None,
            before=before,
            log=log,
        )

    def preload(self) -> None:
        """Count what the campaign has on disk already. Call it before the first row arrives."""
        if self._directory is not None:
            self._counts.load(self._directory)

    def start(self, total: int | None, done: int, facts: Mapping[str, Any] | None = None) -> None:
        """A run begins: `done` of `total` trials are on disk (None: the plan has no end). `facts` go to the log."""
        self._total, self._done, self._started = total, done, self._clock()
        self._write("start", {"total": total, "done": done, "budget": self._budget, **(facts or {})})
        self._pause, _ = SNAPSHOT_SECONDS
        self._due = self._clock() + self._pause

    def advance(self, trials: int, rows: Sequence[Sequence[Any]]) -> None:
        """So many more trials are done; their rows are lists in the order of COLUMNS."""
        self._done += trials
        self._counts.add(rows)
        self._pace.see(self._clock(), self._done)

    def health(self, workers: Iterable[Any]) -> None:
        """How the workers are: objects with the attributes of WorkerState."""
        self._workers = tuple(msgspec.convert(worker, WorkerState, from_attributes=True) for worker in workers)

    def event(self, kind: str, facts: Mapping[str, Any]) -> None:
        """Something happened that belongs into the log."""
        if kind in REPLACED:
            self._restarts[kind] = self._restarts.get(kind, 0) + 1
        elif kind == QUARANTINED:
            self._quarantined += 1
        self._write(kind, facts)

    def tick(self) -> None:
        """Log a snapshot when one is due. Call it often, also while no rows arrive."""
        now = self._clock()
        if self._log is not None and now >= self._due:
            began = time.perf_counter()
            self._write("snapshot", msgspec.to_builtins(self.snapshot()))
            cost = time.perf_counter() - began
            self._pause = min(2 * self._pause, SNAPSHOT_SECONDS[1])
            self._due = now + max(self._pause, cost / MOST_SHARE)

    def stop(self, reason: str = "") -> None:
        """The run ends, and why: "decided", "interrupted", "8 h are over", an error. Empty: all trials or "stopped"."""
        whole = self._total is not None and self._done >= self._total
        reason = reason or ("done" if whole else "stopped")
        self._ended, self._elapsed_at_end = reason, self.elapsed()
        self._write("snapshot", msgspec.to_builtins(self.snapshot()))
        self._write("stop", {"reason": reason, "done": self._done})

    def elapsed(self) -> float:
        """Running time of all runs of the campaign so far, in seconds."""
        ended = self._elapsed_at_end
        return self._before + self._clock() - self._started if ended is None else ended

    def snapshot(self) -> Snapshot:
        """The campaign now."""
        findings = self._counts.findings()
        now = self._clock()
        return Snapshot(
            title=self._title,
            directory=str(self._directory or ""),
            plan=self._plan,
            total=self._total,
            done=self._done,
            elapsed=self.elapsed(),
            speed=self._pace.speed(now),
            eta=self._eta(now),
            budget=self._budget,
            one_rate=self._one_rate,
            targets=self._counts.targets(),
            findings=tuple(findings[:MOST_FINDINGS]),
            findings_total=len(findings),
            workers=self._workers,
            restarts=tuple(sorted(self._restarts.items())),
            quarantined=self._quarantined,
            free_bytes=_free(self._directory),
            ended=self._ended,
        )

    def _eta(self, now: float) -> float | None:
        """By the pace since the first rows: a minute is too short where problems of different cost take turns."""
        allowed = None if self._seconds is None else max(0.0, self._seconds - self.elapsed())
        pace = self._pace.overall(now)
        if self._total is None or self._open_end or not pace:
            return allowed
        left = max(0, self._total - self._done) / pace
        return left if allowed is None else min(left, allowed)

    def _write(self, event: str, facts: Mapping[str, Any]) -> None:
        if self._log is not None:
            self._log.write(event, self.elapsed(), facts)


class Pace:
    """Trials a second. The time before the first rows, in which workers start, does not count."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None
        self._recent: deque[tuple[float, int]] = deque()
        self._done = 0

    def see(self, now: float, done: int) -> None:
        """`done` trials are done at `now`."""
        self._done = done
        if self._first is None:
            self._first = now, done
        if not self._recent or now - self._recent[-1][0] >= 1:
            self._recent.append((now, done))
            while len(self._recent) > 1 and now - self._recent[1][0] > SPEED_SECONDS:
                self._recent.popleft()

    def speed(self, now: float) -> float | None:
        """Over the last minute; None before it can be told."""
        seen = list(self._recent)  # in one step: the display asks from a thread of its own
        old = [at for at in seen if now - at[0] > SPEED_SECONDS]
        return self._since(old[-1] if old else seen[0] if seen else None, now)

    def overall(self, now: float) -> float | None:
        return self._since(self._first, now)

    def _since(self, seen: tuple[float, int] | None, now: float) -> float | None:
        if seen is None or now - seen[0] <= 0 or (self._first is not None and self._done == self._first[1]):
            return None
        return (self._done - seen[1]) / (now - seen[0])


def budget_text(manifest: Manifest) -> str:
    """What ends a campaign besides its number of trials."""
    time_allowed = None if manifest.seconds is None else duration.text(manifest.seconds)
    if manifest.until is None:
        return f"for {time_allowed}" if time_allowed else ""
    most = f", {time_allowed} at most" if time_allowed else ""
    return f"until decided at {manifest.until.threshold:.3g}{most}"


def _free(directory: Path | None) -> int | None:
    if directory is None:
        return None
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None
