"""Progress of a campaign: a live line with rates and outlier counts on a terminal, plain lines when piped."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.constrain import Constrain
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from results.columns import COLUMNS

_AT = {column.name: position for position, column in enumerate(COLUMNS)}
_TARGET, _AGAINST, _FLAGGED = _AT["target"], _AT["against"], _AT["flagged"]
_TENTH, _HUNDREDTH = _AT["above_1e01"], _AT["above_1e02"]
PLAIN_SECONDS = 5.0
_MARGIN = 4
"""Columns left free at the right, where the terminal echoes ^C: a full line would wrap and leave a piece behind."""


class Tally:
    """Live counts per target against the truth: outliers above 1e-1 and 1e-2, flagged trials."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.counts = {target: [0, 0, 0] for target in targets}

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            if row[_AGAINST] != "truth":
                continue
            count = self.counts.setdefault(row[_TARGET], [0, 0, 0])
            count[0] += bool(row[_TENTH])
            count[1] += bool(row[_HUNDREDTH])
            count[2] += bool(row[_FLAGGED])


class Speed:
    """Trials a second and time left, over the part of the campaign this process ran, its start left out."""

    def __init__(self) -> None:
        self.total = self.done = 0
        self._started = time.monotonic()
        self._first: tuple[int, float] | None = None

    def start(self, total: int, done: int) -> None:
        self.total, self.done, self._started = total, done, time.monotonic()

    def advance(self, trials: int) -> None:
        self.done += trials
        if self._first is None:
            self._first = self.done, time.monotonic()

    def text(self) -> str:
        if self.done >= self.total:
            return f"done in {duration(time.monotonic() - self._started)}"
        if self._first is None:
            return "starting workers"
        done, since = self._first
        elapsed = time.monotonic() - since
        if self.done == done or elapsed <= 0:
            return "measuring speed"
        rate = (self.done - done) / elapsed
        left = duration((self.total - self.done) / rate)
        return f"{rate:,.0f} trials/s, {left} left" if rate >= 10 else f"{rate:.2g} trials/s, {left} left"


class PlainProgress:
    """A line every few seconds on stderr."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._tally, self._speed = Tally(targets), Speed()
        self._printed = 0.0

    def start(self, total: int, done: int) -> None:
        self._speed.start(total, done)
        self._printed = time.monotonic()

    def advance(self, trials: int, rows: Sequence[Sequence[Any]]) -> None:
        self._speed.advance(trials)
        self._tally.add(rows)
        if time.monotonic() - self._printed >= PLAIN_SECONDS:
            self._print()

    def stop(self) -> None:
        self._print()

    def _print(self) -> None:
        self._printed = time.monotonic()
        counts = "; ".join(
            f"{target} {tenth}>1e-1 {hundredth}>1e-2 {flagged} flagged"
            for target, (tenth, hundredth, flagged) in self._tally.counts.items()
        )
        line = f"{self._speed.done}/{self._speed.total} trials, {self._speed.text()}; {counts}"
        print(line, file=sys.stderr, flush=True)


class LiveProgress:
    """A bar and a small table that stay at the bottom of the terminal."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._tally, self._speed = Tally(targets), Speed()
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.completed}/{task.total} trials"),
            BarColumn(bar_width=None),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
        )
        self._task = self._bar.add_task("starting workers", total=None)
        self._live = Live(console=self._console, refresh_per_second=4, transient=True, get_renderable=self._render)

    def start(self, total: int, done: int) -> None:
        self._speed.start(total, done)
        self._bar.update(self._task, total=total, completed=done)
        self._live.start()

    def advance(self, trials: int, rows: Sequence[Sequence[Any]]) -> None:
        self._speed.advance(trials)
        self._tally.add(rows)

    def stop(self) -> None:
        self._live.stop()

    def _render(self) -> Group:
        self._bar.update(self._task, completed=self._speed.done, description=self._speed.text())
        table = Table(box=None, pad_edge=False)
        for heading in ("target", "> 1e-1", "> 1e-2", "flagged"):
            table.add_column(heading, justify="left" if heading == "target" else "right")
        for target, counts in self._tally.counts.items():
            table.add_row(Text(target), *map(str, counts))
        return Group(table, Constrain(self._bar, self._console.width - _MARGIN))


def display(targets: Sequence[str]) -> PlainProgress | LiveProgress:
    """The display that suits stderr."""
    return LiveProgress(targets) if sys.stderr.isatty() else PlainProgress(targets)


def duration(seconds: float) -> str:
    """For people: 45 s, 3 min 05 s, 2 h 10 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
