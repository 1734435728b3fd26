"""After a SIGSEGV: run the fatal call again in a fresh process, with writable inputs and slack instead of guards."""

from __future__ import annotations

import contextlib
import os
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import xxhash
from msgspec import structs

from fuzz.execution import CAMPAIGN, LADDER
from fuzz.judging.ladder import PAIRS
from fuzz.targets import Target
from fuzz.trial import Cell, Death
from fuzz.workbench import Bench, copy_inputs
from fuzz.workers.breadcrumb import Place
from fuzz.workers.job import Job
from fuzz.workers.worker import Setup, settle_in
from fuzz.workers.worker_process import Watch, start
from strategies.sampling import draw

INTACT = "finished"
SEEN = {"input_modified": "its input changed", "out_of_bounds_write": "bytes outside a buffer changed"}
"""What can be seen under observation, as verdict and in words."""
_SECONDS = 120.0
"""For start, compilation and call together; whoever takes longer is not caught at anything."""


class Examination:
    """A process that runs a fatal call again. Wait for one of `ends`, or ask `overdue`; then take the `verdict`."""

    def __init__(self, context: Any, setup: Setup, job: Job, place: Place, death: Death, facts: dict[str, Any]) -> None:
        self.job, self.place, self.facts = job, place, facts
        self._death = death
        self._watch = Watch()
        self._receiver, sender = context.Pipe(duplex=False)
        piece, index = job.shard.at(place.position)
        setup = structs.replace(setup, backends=(piece.cell.call(place.target)[0].backend,))  # no other takes part
        self._process = start(context, main, sender, setup, piece.cell, index, place.target, place.purpose)
        sender.close()

    @property
    def ends(self) -> tuple[Any, int]:
        """Ready when there is an answer, or will be none."""
        return self._receiver, self._process.sentinel

    def overdue(self) -> bool:
        return self._watch.look() > _SECONDS

    def verdict(self) -> Death:
        """What the call was caught at, or the crash as it was; ends the process."""
        seen = ""
        with contextlib.suppress(EOFError, OSError):  # it died, too
            seen = str(self._receiver.recv()) if self._receiver.poll() else ""
        self.end()
        if seen not in SEEN:
            return self._death
        return Death(seen, f"{self._death.error}; run again under observation, {SEEN[seen]}")

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.join()
        self._receiver.close()


def main(connection: Connection, setup: Setup, cell: Cell, index: int, number: int, purpose: str) -> None:
    """Send `input_modified`, `out_of_bounds_write` or `finished`; die if the call dies."""
    settle_in(setup)
    connection.send(examine(cell, setup.seed, index, number, purpose))
    connection.close()
    os._exit(0)


def examine(cell: Cell, seed: int, index: int, number: int, purpose: str) -> str:
    """What the call changed that it may not change."""
    bench = Bench(cell.problem, forensic=True)
    home = bench.rung(cell.problem.home)
    draw(cell.problem, bench.contract, seed, index, home.arena.arrays)
    target, variant = cell.call(number)
    if purpose == LADDER:
        target = structs.replace(target, dtype=PAIRS[target.dtype].other(target.dtype))
    return _call(bench, target, variant, purpose, home.arena.arrays)


def _call(bench: Bench, target: Target, variant: str, purpose: str, home: dict[str, np.ndarray]) -> str:
    arena = bench.rung(target.dtype, CAMPAIGN if purpose == CAMPAIGN else LADDER).arena
    if arena.arrays is not home:
        copy_inputs(home, arena.arrays)
    prepared = bench.varied(target, variant) if variant else bench.prepared(target, purpose)
    before = [xxhash.xxh3_64_intdigest(values.tobytes()) for values in arena.arrays.values()]
    prepared.call()
    if before != [xxhash.xxh3_64_intdigest(values.tobytes()) for values in arena.arrays.values()]:
        return "input_modified"
    if prepared.overrun() or arena.overrun():
        return "out_of_bounds_write"
    return INTACT
