"""The display of a running campaign on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, overload

from rich.console import Console, RenderableType
from rich.live import Live

from fuzz.log import Log, elapsed
from fuzz.manifest import Manifest
from fuzz.recorder import Recorder
from fuzz.terminal import PATIENT_AFTER, PATIENT_SECONDS, PLAIN_SECONDS, can_move
from fuzz.view import plain, view

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
    """Recorder and display together: what the engine of a run tells, in the order in which it does.

    start, then advance, health and event in any order and poll at least once a second, then stop.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._display = display(recorder)

    def start(self, total: int | None, done: int, facts: Mapping[str, Any] | None = None) -> None:
        """`done` of `total` trials are on disk; `facts` (versions, settings) go to the log."""
        if done:
            self.recorder.preload()
        self.recorder.start(total, done, facts)
        self._display.start()

    def advance(self, trials: int, rows: Sequence[Sequence[Any]]) -> None:
        self.recorder.advance(trials, rows)
        self.poll()

    def health(self, workers: Iterable[Any]) -> None:
        """WorkerHealth of every worker, about once a second."""
        self.recorder.health(workers)
        self.poll()

    def event(self, kind: str, facts: Mapping[str, Any]) -> None:
        self.recorder.event(kind, facts)

    def poll(self) -> None:
        """Print and log what is due."""
        self.recorder.tick()
        self._display.refresh()

    def stop(self, reason: str = "") -> None:
        """The run ends, and why: see Recorder.stop."""
        self.recorder.stop(reason)
        self._display.stop()


def progress_of(manifest: Manifest, directory: Path) -> Progress:
    """The progress of a run of the campaign in `directory`, with its log."""
    return Progress(Recorder.of(manifest, directory, before=elapsed(directory), log=Log(directory)))


@overload
def display(of: Recorder) -> Display: ...
@overload
def display(of: Sequence[str]) -> Progress: ...
def display(of: Recorder | Sequence[str]) -> Display | Progress:
    """The display that suits stderr, of a recorder; or, of the names of targets, progress without a log."""
    if not isinstance(of, Recorder):
        return Progress(Recorder(title="campaign", directory=None, plan="fixed", targets=of))
    return LiveDisplay(of) if can_move(sys.stderr) else PlainDisplay(of)
