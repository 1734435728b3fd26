"""Ctrl-C and SIGTERM: noticed first, obeyed where it does no harm.

A KeyboardInterrupt raised wherever the interpreter happens to be may be lost (in a callback of the garbage collector),
or tear what starts a process.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Protocol


class Interruptible(Protocol):
    """Whoever stops by itself once `interrupted` is set."""

    interrupted: str


class Interrupt:
    """Whether there was a signal. Long work calls `check` now and then."""

    def __init__(self) -> None:
        self.interrupted = ""

    def check(self) -> None:
        """Raises KeyboardInterrupt where there was one."""
        if self.interrupted:
            raise KeyboardInterrupt


@contextlib.contextmanager
def gentle_interrupts(stop: Interruptible) -> Iterator[None]:
    """The first SIGINT or SIGTERM in the block sets `stop.interrupted`, the second raises KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, _: object) -> None:
        if stop.interrupted:
            raise KeyboardInterrupt
        stop.interrupted = "interrupted" if number == signal.SIGINT else "terminated"

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
