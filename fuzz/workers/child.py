"""A fresh process of this interpreter that sends what it finds."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import signal
from collections.abc import Callable
from typing import Any

from fuzz.workers.worker_process import start


class Child:
    """A fresh process of this interpreter that sends what it finds; ended with the block."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe(duplex=False)
        self.process = start(context, target, theirs, *arguments)
        theirs.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.join()
        self._ours.close()

    def receive(self, seconds: float) -> Any:
        """The next message; TimeoutError or EOFError where there is none."""
        if not self._ours.poll(None if math.isinf(seconds) else seconds):
            raise TimeoutError
        return self._ours.recv()

    def cause(self) -> str:
        """What ended it."""
        self.process.join()
        code = self.process.exitcode
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return signal.Signals(-code).name
        return f"exit code {code}"
