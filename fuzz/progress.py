"""The display of a running campaign on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, overload

from rich.console import Console, RenderableType
from rich.live import Live

from fuzz.recorder import Recorder
from fuzz.view import plain, view

PLAIN_SECONDS = 5.0
PATIENT_AFTER, PATIENT_SECONDS = 600.0, 60.0
"""After ten minutes nobody waits for the next line: one a minute is enough for a log."""
REFRESHES = 2
"""Views a second: each takes a few ms of the process that also collects the rows."""
_DUMB = ("dumb", "unknown", "")


class Display(Protocol):
    """Shows what a recorder has recorded."""

    def start(self) -> None: ...
    def refresh(self) -> None:
        """Call it often."""

    def stop(self) -> None: ...


class PlainDisplay:
    """A line every few seconds on stderr."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._started = self._printed = time.monotonic()

    def start(self) -> None:
        self._started = self._printed = time.monotonic()

    def refresh(self) -> None:
        now = time.monotonic()
        pause = PLAIN_SECONDS if now - self._started <= PATIENT_AFTER else max(PLAIN_SECONDS, PATIENT_SECONDS)
        if now - self._printed >= pause:
            self._print()

    def stop(self) -> None:
        self._print()

    def _print(self) -> None:
        self._printed = time.monotonic()
        print(plain(self._recorder.snapshot()), file=sys.stderr, flush=True)


class LiveDisplay:
    """A view that stays at the bottom of the terminal, redrawn by a thread of its own; nothing is left of it."""

    def __init__(self, recorder: Recorder, console: Console | None = None) -> None:
        self._recorder = recorder
        self._console = console or Console(stderr=True, markup=False, highlight=False)
        self._live = Live(
            console=self._console,
            refresh_per_second=REFRESHES,
            transient=True,
            vertical_overflow="crop",
            get_renderable=self.render,
        )

    def start(self) -> None:
        self._live.start(refresh=True)

    def refresh(self) -> None:
        """Nothing to do: the thread redraws."""

    def stop(self) -> None:
        self._live.stop()

    def render(self) -> RenderableType:
        return view(self._recorder.snapshot(), self._console.width, self._console.height)


class Progress:
    """Recorder and display of an engine that only says when it starts, advances and stops."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.recorder = Recorder(title="campaign", directory=Path(), plan="fixed", targets=targets)
        self._display = display(self.recorder)

    def start(self, total: int | None, done: int) -> None:
        self.recorder.start(total, done)
        self._display.start()

    def advance(self, trials: int, rows: Sequence[Sequence[Any]]) -> None:
        self.recorder.advance(trials, rows)
        self._display.refresh()

    def stop(self) -> None:
        self._display.stop()


@overload
def display(of: Recorder) -> Display: ...
@overload
def display(of: Sequence[str]) -> Progress: ...
def display(of: Recorder | Sequence[str]) -> Display | Progress:
    """The display that suits stderr, of a recorder; or, of the names of targets, one with a recorder of its own."""
    if not isinstance(of, Recorder):
        return Progress(of)
    moving = sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in _DUMB
    return LiveDisplay(of) if moving else PlainDisplay(of)
