"""What a stream can do, and how often to print where it cannot."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console

from results.layout import TextConsole

PLAIN_SECONDS = 5.0
PATIENT_AFTER, PATIENT_SECONDS = 600.0, 60.0
"""After ten minutes nobody waits for the next line: one a minute is enough for a log."""
PIPED_WIDTH = 110
_DUMB = ("dumb", "unknown", "")


def can_move(stream: TextIO) -> bool:
    """Whether it is a terminal on which the cursor can move: elsewhere plain lines are printed."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in _DUMB


def console() -> Console:
    """A console for results: the terminal's width, or a fixed one when piped."""
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return TextConsole(width=width)
