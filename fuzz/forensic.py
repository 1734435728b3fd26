"""After a SIGSEGV: run the fatal call again in a fresh process, with writable inputs and slack instead of guards."""

from __future__ import annotations

import contextlib
import os
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import xxhash
from msgspec import structs

from fuzz.breadcrumb import Place
from fuzz.execution import CAMPAIGN, LADDER
from fuzz.ladder import PAIRS
from fuzz.targets import Target
from fuzz.trial import Cell
from fuzz.workbench import Bench, copy_inputs
from fuzz.worker import Setup, settle_in
from fuzz.worker_process import start
from strategies.sampling import draw

INTACT = "finished"
SEEN = {"input_modified": "its input changed", "out_of_bounds_write": "bytes outside a buffer changed"}
"""What can be seen under observation, as verdict and in words."""
_SECONDS = 120.0


def ask(context: Any, setup: Setup, cell: Cell, index: int, place: Place) -> str:
    """Start a process that runs the call at `place` again: a key of SEEN, `finished`, or "" if it died or hung too."""
    receiver, sender = context.Pipe(duplex=False)
    setup = structs.replace(setup, backends=(cell.targets[place.target].backend,))  # no other takes part
    process = start(context, main, sender, setup, cell, index, place.target, place.purpose)
    sender.close()
    try:
        return str(receiver.recv()) if receiver.poll(_SECONDS) else ""
    except (EOFError, OSError):
        return ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.join()
        receiver.close()


def main(connection: Connection, setup: Setup, cell: Cell, index: int, target_number: int, purpose: str) -> None:
    """Send `input_modified`, `out_of_bounds_write` or `finished`; die if the call dies."""
    settle_in(setup)
    connection.send(examine(cell, setup.seed, index, target_number, purpose))
    connection.close()
    os._exit(0)


def examine(cell: Cell, seed: int, index: int, target_number: int, purpose: str) -> str:
    """What the call changed that it may not change."""
    bench = Bench(cell.problem, forensic=True)
    home = bench.rung(cell.problem.home)
    draw(cell.problem, bench.contract, seed, index, home.arena.arrays)
    target = cell.targets[target_number]
    if purpose == LADDER:
        target = structs.replace(target, dtype=PAIRS[target.dtype].other(target.dtype))
    return _call(bench, target, purpose, home.arena.arrays)


def _call(bench: Bench, target: Target, purpose: str, home: dict[str, np.ndarray]) -> str:
    arena = bench.rung(target.dtype, CAMPAIGN if purpose == CAMPAIGN else LADDER).arena
    if arena.arrays is not home:
        copy_inputs(home, arena.arrays)
    prepared = bench.prepared(target, purpose)
    before = [xxhash.xxh3_64_intdigest(values.tobytes()) for values in arena.arrays.values()]
    prepared.call()
    if before != [xxhash.xxh3_64_intdigest(values.tobytes()) for values in arena.arrays.values()]:
        return "input_modified"
    if prepared.overrun() or arena.overrun():
        return "out_of_bounds_write"
    return INTACT
