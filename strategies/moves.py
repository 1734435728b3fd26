"""Schedules of a tensor program as flat vectors of integers, independent of any program or compiler.

Three numbers are a move: what (a position in MOVES, modulo its length), where (which of the places where that is
possible) and how (a factor, a position, a scope). Whoever decodes a vector counts places and values modulo what there
is: every vector means something for every program, the empty one the program as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from strategies.contract import ContractError

MOVES = (
    "nothing",
    "unroll",
    "split",
    "vectorize",
    "parallel",
    "fuse",
    "reorder",
    "inline",
    "decompose",
    "cache_write",
    "cache_read",
    "compute_at",
    "reverse_compute_at",
    "rfactor",
)
"""The simplest first, so that smaller numbers are simpler schedules."""
WIDTH = 3
"""Numbers of a move."""
MOST = 16
"""Moves of a schedule: each costs a few milliseconds, and a loop nest split more often only runs longer."""
LARGEST = 999
"""Of a number: far above the places and values there are."""

_FORM = re.compile(r"\d{1,3}(\.\d{1,3})*")


def spelled(numbers: Sequence[int]) -> str:
    """Canonical spelling: moves that do nothing and zeros at the end left out, the numbers joined by dots."""
    padded = [*numbers, *[0] * (-len(numbers) % WIDTH)]
    moves = [padded[start : start + WIDTH] for start in range(0, len(padded), WIDTH)]
    kept = [n for what, *rest in moves if what % len(MOVES) for n in (what % len(MOVES), *rest)]
    while kept and not kept[-1]:
        kept.pop()
    return ".".join(map(str, kept))


def parsed(text: str) -> tuple[tuple[int, int, int], ...]:
    """The moves of a spelling, canonical or not; ContractError (one line) for anything else."""
    if text and not _FORM.fullmatch(text):
        raise ContractError(
            f"cannot read schedule {text!r}: write whole numbers up to {LARGEST} with dots, e.g. 2.0.5.3.1"
        )
    shortest = spelled([int(number) for number in text.split(".")] if text else [])
    numbers = [int(number) for number in shortest.split(".")] if shortest else []
    numbers += [0] * (-len(numbers) % WIDTH)
    moves = tuple((numbers[i], numbers[i + 1], numbers[i + 2]) for i in range(0, len(numbers), WIDTH))
    if len(moves) > MOST:
        raise ContractError(f"a schedule of {len(moves)} moves: use at most {MOST}, {WIDTH * MOST} numbers")
    return moves


def canonical_schedule(text: str) -> str:
    """The canonical spelling of a spelling; ContractError for anything that is none."""
    return spelled([number for move in parsed(text) for number in move])
