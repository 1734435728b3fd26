"""Lines for people outside a report: what is in them is shown, never obeyed by the terminal."""

from __future__ import annotations

import sys

from results.visible import visible


def say(line: object) -> None:
    """A line of the answer, on standard output."""
    print(visible(str(line)), flush=True)


def tell(line: object) -> None:
    """A line about the run, on the standard error stream."""
    print(visible(str(line)), file=sys.stderr, flush=True)
