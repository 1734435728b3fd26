"""After a SIGSEGV: run the fatal call once more in a fresh process, with writable inputs and slack instead of guards."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection

import numpy as np
import xxhash
from msgspec import structs

from fuzz.execution import CAMPAIGN, LADDER
from fuzz.targets import Target
from fuzz.trial import Cell
from fuzz.workbench import Bench, copy_inputs
from fuzz.worker import Setup, _settle_in
from strategies.sampling import draw

INTACT = "finished"


def main(connection: Connection, setup: Setup, cell: Cell, index: int, target_number: int, purpose: str) -> None:
    """Send `input_modified`, `out_of_bounds_write` or `finished`; die if the call dies."""
    _settle_in(setup)
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
        other = "float64" if target.dtype == "float32" else "float32"
        target = structs.replace(target, dtype=other)
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
