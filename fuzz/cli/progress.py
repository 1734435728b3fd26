"""The display of a running campaign on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from rich.console import Console, RenderableType
from rich.live import Live

from fuzz.campaigns.recorder import Recorder
from fuzz.cli.view import plain, view
from fuzz.terminal import PATIENT_AFTER, PATIENT_SECONDS, PLAIN_SECONDS, can_move
from results.layout import TextConsole

REFRESHES = 2
"""Views a second: each takes a few ms of the process that also collects the rows."""


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
        self._console = console or TextConsole(stderr=True, highlight=False)
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


def display(recorder: Recorder) -> Display:
    """The display that suits stderr."""
    return LiveDisplay(recorder) if can_move(sys.stderr) else PlainDisplay(recorder)
