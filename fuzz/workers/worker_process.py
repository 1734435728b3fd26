"""The supervisor's handle on a worker: process, connection, breadcrumb, and how long its present call has run."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import multiprocessing.process
import os
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from fuzz.errors import InternalError
from fuzz.trial import Death
from fuzz.workers import worker
from fuzz.workers.breadcrumb import Place, SharedBreadcrumb
from fuzz.workers.job import Job
from fuzz.workers.limits import resident
from fuzz.workers.worker import Setup, Task

LONGEST_STEP = 0.5
"""Seconds that count at most between two looks at a worker: the rest is time in which this process did not run."""
LOG_BYTES = 16_000_000
"""A worker's log is cut when it exceeds this: a kernel that prints at every call must not fill the disk."""
FORKSERVER_GONE = 255
"""What multiprocessing reports where it lost the process that knows a worker's exit code; also a real exit code."""

ATTEMPTS = 10
_RETRY_SECONDS = 0.2
_SAFE_PATH = "PYTHONSAFEPATH"


class Watch:
    """A clock that stands still while the process does: after Ctrl-Z a call is not late."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last = time.monotonic()

    def look(self) -> float:
        now = time.monotonic()
        self.seconds += min(now - self._last, LONGEST_STEP)
        self._last = now
        return self.seconds


class WorkerProcess:
    """A worker, the shard it is on, and why it was killed if it was."""

    def __init__(self, context: Any, setup: Setup, name: str) -> None:
        self.setup, self.name = setup, name
        self.crumb = SharedBreadcrumb(Path(setup.crumb), create=True)
        self.connection, theirs = context.Pipe(duplex=True)
        self.process = start(context, worker.main, theirs, setup)
        theirs.close()
        self.ready = False
        self.killed_for: Death | None = None
        """The row of the target if its call is to blame."""
        self.killed_at: Place | None = None
        self.job: Job | None = None
        self.shards = 0
        """Shards it has finished."""
        self.born_mib = 0.0
        """Its memory once the libraries were loaded."""
        self._watch = Watch()
        self._began, self._call_began = 0.0, 0.0

    def assign(self, job: Job) -> None:
        self.job = job
        self.crumb.ask_to_stop(False)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died: reading the connection will tell
            self.connection.send(Task(job.shard, job.position, job.not_run(), job.killers))

    def call_seconds(self) -> float:
        """How long the present call has run, or the worker has been starting. Ask a few times a second."""
        now = self._watch.look()
        if (began := self.crumb.read().since) != self._call_began:
            self._call_began, self._began = began, now
        return now - self._began

    def cut_log(self) -> None:
        """Empty an overlong log; the worker appends, so it goes on at the start."""
        with contextlib.suppress(OSError):
            if os.stat(self.setup.log).st_size > LOG_BYTES:
                os.truncate(self.setup.log, 0)

    @property
    def rss_mib(self) -> float:
        return resident(self.process.pid or 0)

    def kill_for(self, death: Death, place: Place) -> None:
        """Send SIGKILL for what it is doing at `place`."""
        self.killed_for, self.killed_at = death, place
        self.kill()

    def kill(self) -> None:
        """Send SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def end(self, patience: float = 0.0) -> int | None:
        """End the process, after `patience` seconds if it lives so long; its exit code."""
        if not multiprocessing.connection.wait([self.process.sentinel], patience):
            self.kill()
        self.process.join()
        self.connection.close()
        self.crumb.close()
        return self.process.exitcode


def start(context: Any, target: Callable[..., None], *arguments: Any) -> multiprocessing.process.BaseProcess:
    """Start a process that Ctrl-C in the terminal does not reach: the supervisor ends it in its own time.

    A fork server that was killed is replaced. InternalError when no process can be started.
    """
    reason = ""
    for _ in range(ATTEMPTS):
        process: multiprocessing.process.BaseProcess = context.Process(target=target, args=arguments, daemon=True)
        try:
            with _without_interrupts(), _without_current_folder(), _without_main():
                process.start()
        except (EOFError, OSError) as error:  # the fork server is about to end, or ended meanwhile
            reason = f"{type(error).__name__}: {error}"
            time.sleep(_RETRY_SECONDS)
        else:
            return process
    raise InternalError(f"no worker process can be started: {reason}")


def joined(process: multiprocessing.process.BaseProcess) -> int:
    """The exit code of a process that runs one thing to its end; it dies with Ctrl-C here."""
    try:
        process.join()
    except KeyboardInterrupt:  # a kernel may hang in a C call: the child gets no say
        process.kill()
        raise
    return process.exitcode or 0


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """SIGINT waits for the end of the block; processes started in it, and theirs, never get it.

    multiprocessing's fork server would print a traceback at Ctrl-C while it imports the libraries.
    """
    resource_tracker.ensure_running()  # while it starts, it unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Processes started in the block do not run the user's script again, which may have no guard around its calls."""
    name = "__main__"
    before = sys.modules.get(name)
    sys.modules[name] = types.ModuleType(name)
    try:
        yield
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


@contextlib.contextmanager
def _without_current_folder() -> Iterator[None]:
    """Interpreters started in the block do not import what lies in the user's folder: a random.py, a numpy.py."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before
