"""The order in which a case is made simpler."""

from __future__ import annotations

import contextlib

from fuzz.shrinking.cutting import cut_dims
from fuzz.shrinking.parameters import simplify_parameters
from fuzz.shrinking.scheduled import default_attributes, default_options, fewer_moves
from fuzz.shrinking.search import Over, Search
from fuzz.shrinking.values import simplify_values
from strategies.problem import Problem

ROUNDS = 3
"""Dims, values and schedules are gone through again while that helps, so often at most."""


def shrink(search: Search, problem: Problem, seed: int, index: int) -> None:
    """Make the case of `search` simpler until nothing helps or it is over; `search.best` has the result.

    `problem` with `seed` and `index` is what the first inputs were drawn from.
    """
    with contextlib.suppress(Over):
        fewer_moves(search)
        default_options(search)
        default_attributes(search)
        simplify_parameters(search, problem, seed, index)
        simplify_inputs(search)


def simplify_inputs(search: Search) -> None:
    """Fewer and rounder numbers out of those that the best case has, and what that allows its schedule to leave out."""
    for _ in range(ROUNDS):
        before = search.best
        cut_dims(search)
        simplify_values(search)
        fewer_moves(search)
        if search.best is before:
            break
