"""Schedules of TVM functions from flat vectors of integers: `schedule` is always legal, `unsafe_schedule` need not be.

A vector is decoded for the function at hand: `strategies.moves` says what its numbers are, `tvm_moves` what TVM
makes of them.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fuzz.backends.base import Lazy
from fuzz.backends.tvm_moves import TABLE
from fuzz.backends.tvm_nests import Program
from strategies.moves import MOVES, parsed

s_tir: Any = Lazy("tvm.s_tir")


class Scheduled(Struct, frozen=True):
    """A function under a schedule."""

    function: Any
    primitives: tuple[str, ...]
    """What was done, in TVM's words: primitive, block, loops."""
    keeps_bits: bool
    """No reduction is added up in another order, so that the result may not differ in a single bit."""
    refused: tuple[str, ...] = ()
    """What TVM refused; the function is as if it had not been tried."""


def scheduled(function: Any, schedule: str, *, unsafe: bool = False) -> Scheduled:
    """`function` (a PrimFunc with named blocks) under a schedule; ContractError for a text that is none.

    Every vector is legal: a move that has no place in this function does nothing. `unsafe` also places reductions and
    splits where TVM miscompiles them without a word.
    """
    moves = parsed(schedule)
    if not moves:
        return Scheduled(function, (), True)
    program, refused = _decoded(function, moves, unsafe)
    if not program.primitives:
        return Scheduled(function, (), True, refused)
    return Scheduled(program.function, tuple(program.primitives), program.keeps_bits, refused)


def statements(function: Any, schedule: str, *, unsafe: bool = False) -> tuple[str, ...]:
    """What `scheduled` does as Python statements on `sch`, an s_tir.Schedule of `function`: TVM's own trace of it."""
    program, _ = _decoded(function, parsed(schedule), unsafe)
    if not program.primitives:
        return ()
    return tuple(str(line) for line in program.schedule.trace.simplified(True).as_python())


def _decoded(function: Any, moves: tuple[tuple[int, int, int], ...], unsafe: bool) -> tuple[Program, tuple[str, ...]]:
    """The program after the moves, and what TVM refused of them."""
    program = Program(function, unsafe)
    refused: list[str] = []
    for what, where, how in moves:
        places_of, move = TABLE[MOVES[what]]
        places = places_of(program)
        if not places:
            continue
        done = len(program.primitives)
        try:
            move(program, places[where % len(places)], how)
        except s_tir.ScheduleError:
            refused += program.primitives[done:]
            del program.primitives[done:]
    return program, tuple(refused)
