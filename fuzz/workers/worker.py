"""The worker process: runs shards trial by trial and streams rows. It may die at any foreign call."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fuzz.allocator import keep_freed_blocks
from fuzz.backends import BACKENDS
from fuzz.errors import InternalError
from fuzz.execution import Outcome
from fuzz.extensions import load_entry_points, load_extension
from fuzz.judging.rows import trial_name
from fuzz.plan import Shard
from fuzz.search.record import Record
from fuzz.surroundings import Process, default_signals
from fuzz.targets import Target
from fuzz.trial import Death, Session, TrialRows, run_trial
from fuzz.workbench import Bench
from fuzz.workers.breadcrumb import SharedBreadcrumb
from fuzz.workers.handover import NOTHING, Spent
from fuzz.workers.not_judged import not_judged
from results.columns import COLUMNS, ELEMENT_COLUMNS, Row
from strategies.given import STORE

ROWS, DONE, TROUBLE, READY, FOUND = "rows", "done", "trouble", "ready", "found"
"""Messages: rows so far; the last rows, of the shard or before a stop; the engine failed; the libraries are loaded; the
problems that a hunt gave."""
BATCH_SECONDS = 0.2
"""Rows are sent at least this often: what a death costs, and how fresh the progress display is."""
_NAMES = tuple(column.name for column in COLUMNS)
_ELEMENT_NAMES = tuple(column.name for column in ELEMENT_COLUMNS)
_PR_SET_PDEATHSIG = 1
_encode = msgspec.msgpack.Encoder().encode


class Setup(Struct, frozen=True):
    """What a worker needs to know at birth."""

    crumb: str
    log: str
    seed: int
    environment: str
    backends: tuple[str, ...]
    extensions: tuple[str, ...]
    given: str


class Task(Struct, frozen=True):
    """Run `shard` from `position` on. `deaths` maps (position, target) to why the target is not run there.

    Where the shard has a hunt, do that instead; `killers` are the inputs on which targets ended earlier workers.
    """

    shard: Shard
    position: int
    deaths: Mapping[tuple[int, int], Death]
    killers: Mapping[int, bytes] = {}


def main(connection: Connection, setup: Setup) -> None:
    """Entry point of a worker process. Ends when the supervisor closes the connection or dies."""
    log = settle_in(setup)
    crumb = _Crumb(Path(setup.crumb), Process(log, connection.fileno()))
    session = Session(setup.environment, crumb)
    try:
        connection.send_bytes(_encode([READY, 0, [], [], NOTHING]))
        while True:
            task: Task = connection.recv()
            default_signals()
            if task.shard.hunt is None:
                _run(task, setup.seed, session, crumb, connection)
            else:
                _hunt(task, setup, session, crumb, connection)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        os._exit(0)
    except BaseException:  # noqa: BLE001  # whatever it is, the supervisor must hear of it
        trace = traceback.format_exc()
        _note(trace)
        connection.send_bytes(_encode([TROUBLE, 0, trace, [], NOTHING]))
        os._exit(InternalError.exit_code)


class _Crumb(SharedBreadcrumb):
    """The breadcrumb of a worker, which looks after each call at what it left behind."""

    def __init__(self, path: Path, process: Process) -> None:
        super().__init__(path, create=False)
        self.process = process

    def clear(self) -> None:
        self.process.after_call()  # where this ends the process, the call is to blame
        super().clear()


def _run(task: Task, seed: int, session: Session, crumb: _Crumb, connection: Connection) -> None:
    rows: list[list[Any]] = []
    elements: list[list[Any]] = []
    sent = warm = time.monotonic()
    begun, compiling = time.process_time(), session.compiling
    done = task.position
    for position, piece, index in task.shard.positions(task.position):
        if crumb.stopping():
            break
        crumb.enter(position)
        deaths = {target: death for (at, target), death in task.deaths.items() if at == position}
        try:
            trial = run_trial(piece.cell, seed, index, session, ladder=index == piece.first, deaths=deaths)
        except Exception as error:  # noqa: BLE001  # the engine's own: other trials need not suffer
            _note(f"{trial_name(piece.cell.problem.id, index)}: {traceback.format_exc()}")
            trial = not_judged(piece.cell, seed, index, session.environment, error)
            session.renew()
            crumb.clear()
        crumb.process.after_trial()
        more, kept = plain_rows(trial)
        rows += more
        elements += kept
        done = position + 1
        if position == task.position:
            warm = time.monotonic()
        if time.monotonic() - sent > BATCH_SECONDS:
            connection.send_bytes(_encode([ROWS, done, rows, elements, NOTHING]))
            rows, elements, sent = [], [], time.monotonic()
    each = (time.monotonic() - warm) / (done - task.position - 1) if done > task.position + 1 else 0.0
    spent = Spent(each, time.process_time() - begun, session.compiling - compiling)
    connection.send_bytes(_encode([DONE, done, rows, elements, spent]))


def _hunt(task: Task, setup: Setup, session: Session, crumb: _Crumb, connection: Connection) -> None:
    """Send the problems that the hunt of a shard gives, or nothing where it is to stop."""
    from fuzz.search.hunt import hunted, save_given

    assert task.shard.hunt is not None
    begun, compiling = time.process_time(), session.compiling
    crumb.enter(0)
    piece, _ = task.shard.at(0)
    bench = session.workbench.bench(piece.cell.problem)
    record = Record(Path(setup.crumb), bench.input_shapes, piece.cell.problem.home)
    killers = {target: record.arrays(content) for target, content in task.killers.items()}
    with contextlib.closing(record):

        def watch(arrays: Mapping[str, Any]) -> None:
            if crumb.stopping():
                raise _Stopped
            record.write(arrays)

        def run(bench: Bench, target: Target, purpose: str) -> Outcome:
            outcome = session.run(bench, target, purpose, 0, piece.cell.targets.index(target))
            crumb.process.after_trial()
            return outcome

        try:
            problems = hunted(bench, piece.cell, task.shard.hunt, run, killers, watch)
        except _Stopped:
            connection.send_bytes(_encode([DONE, task.position, [], [], NOTHING]))
            return
    save_given(problems, setup.given)
    spent = Spent(0.0, time.process_time() - begun, session.compiling - compiling)
    connection.send_bytes(_encode([FOUND, 0, [problem.plain() for problem in problems], [], spent]))


def _note(text: str) -> None:
    """Write into the worker's log."""
    with contextlib.suppress(OSError):  # the disk may be full
        os.write(2, text.encode())


class _Stopped(Exception):
    """The supervisor asks for a stop: a hunt is not worth keeping before its end."""


def plain_rows(trial: TrialRows) -> tuple[list[list[Any]], list[list[Any]]]:
    """Rows and elements of a trial as lists in the order of results.columns."""
    return [_plain(row, _NAMES) for row in trial.rows], [_plain(row, _ELEMENT_NAMES) for row in trial.elements]


def _plain(row: Row, names: tuple[str, ...]) -> list[Any]:
    return [row.get(name) for name in names]


def settle_in(setup: Setup) -> int:
    """Own output file, no signals from the terminal, death with the parent, libraries ready, allocator tuned.

    The descriptor of the output file.
    """
    log = os.open(setup.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    default_signals()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are expected: no core files in the user's folder
    load_entry_points()
    for path in setup.extensions:
        load_extension(Path(path))
    STORE.register(setup.given)
    for name in setup.backends:
        if BACKENDS[name].missing() is None:
            BACKENDS[name].warm_up()
    default_signals()
    keep_freed_blocks()
    gc.freeze()  # the libraries' objects stay: collections need not look at them again
    return log
