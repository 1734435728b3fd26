"""A process of its own that looks at candidates: a kernel that ends it ends nothing else."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fuzz.backends import BACKENDS
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.looking import Looker
from fuzz.shrinking.seen import Aim, Seen
from fuzz.surroundings import default_signals
from fuzz.workers.preload import PRELOAD
from fuzz.workers.worker import Setup, settle_in
from fuzz.workers.worker_process import Watch, start

START_SECONDS = 180.0
"""For the libraries."""
LOOK_SECONDS = 20.0
"""A candidate that takes longer, compilation included, does not count: it would cost a third of the time there is."""
_POLL_SECONDS = 0.2
EXPLAIN = None
"""Asked in the place of a look."""


class Isolated:
    """Looks in a child that is replaced when a candidate has ended it. Use it as a context.

    `check` is called while it waits, and may raise.
    """

    def __init__(
        self, aim: Aim, backend: str, extensions: tuple[str, ...], check: Callable[[], None] = lambda: None
    ) -> None:
        self._aim, self._folder = aim, tempfile.TemporaryDirectory(prefix="ulpfuzz-")
        self._check = check
        os.environ[PRELOAD] = BACKENDS[backend].module
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fuzz.workers.preload"])
        log = str(Path(self._folder.name) / "log")
        self._setup = Setup("", log, 0, "", (backend,), extensions, str(Path(self._folder.name) / "given"))
        self._process: Any = None
        self._connection: Connection | None = None
        self.deaths = 0
        """Candidates that ended a child."""

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *exception: object) -> None:
        self.renew()
        self._folder.cleanup()

    def renew(self) -> None:
        """End the child: the next candidate has a fresh process."""
        if self._process is not None:
            assert self._connection is not None
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def look(self, specimen: Specimen, ladder: bool) -> Seen | None:
        """None where the candidate ends the child, or takes too long, too."""
        answer = self._ask(specimen, ladder)
        assert answer is None or isinstance(answer, Seen)
        return answer

    def explain(self, specimen: Specimen) -> tuple[str, ...]:
        """What the options of its target amount to, a line each; nothing where that cannot be said."""
        return tuple(self._ask(specimen, EXPLAIN) or ())

    def _ask(self, specimen: Specimen, what: bool | None) -> Any:
        if self._process is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send((specimen, what))
            return self._receive(LOOK_SECONDS)
        except (EOFError, OSError):
            self.deaths += 1
            self.renew()
            return None

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe(duplex=True)
        self._process = start(self._context, main, theirs, self._setup, self._aim)
        theirs.close()
        self._receive(START_SECONDS)

    def _receive(self, seconds: float) -> Any:
        """The next message; EOFError where the child ends, or takes longer."""
        assert self._connection is not None
        watch = Watch()
        while not self._connection.poll(_POLL_SECONDS):
            self._check()
            if watch.look() > seconds:
                raise EOFError
        return self._connection.recv()


def explained(specimen: Specimen, extensions: tuple[str, ...]) -> tuple[str, ...]:
    """What the options of a target amount to for a specimen, a line each, asked in a process of its own."""
    with Isolated(Aim("wrong", ""), specimen.target.backend, extensions) as place:
        return place.explain(specimen)


def main(connection: Connection, setup: Setup, aim: Aim) -> None:
    """Entry point of the child."""
    settle_in(setup)
    looker = Looker(aim)
    connection.send(None)
    with contextlib.suppress(EOFError, OSError):
        while True:
            specimen, ladder = connection.recv()
            answer = looker.look(specimen, ladder) if ladder is not EXPLAIN else looker.explain(specimen)
            default_signals()
            connection.send(answer)
    os._exit(0)
