"""What a search says while it runs."""

from __future__ import annotations

import sys
import time

from fuzz.shrinking.search import Search
from fuzz.terminal import can_move
from results.visible import visible

TERMINAL_SECONDS, PLAIN_SECONDS = 0.2, 10.0
"""Between two lines: on a terminal one replaces the other, elsewhere they stay."""


class Progress:
    """A line about the search on stderr now and then. Use it as a context: at its end nothing is left of a line."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._moves = can_move(sys.stderr)
        self._pause = TERMINAL_SECONDS if self._moves else PLAIN_SECONDS
        self._last = time.monotonic()
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._width:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)

    def show(self, search: Search) -> None:
        if time.monotonic() - self._last < self._pause:
            return
        self._last = time.monotonic()
        elements = sum(values.size for values in search.best.specimen.arrays.values())
        line = f"shrinking {visible(self._subject)}: {search.evaluations:,} looked at, {elements:,} elements left"
        if self._moves:
            print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(line)
        else:
            print(line, file=sys.stderr, flush=True)
