"""What the supervisor hands to whoever asked for the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from fuzz.plan import Shard


class Spent(Struct, frozen=True, array_like=True):
    """What the trials of one message took, in seconds; zeros where the message says nothing of it."""

    each: float = 0.0
    """Wall time of a trial, the first (which compiles) left out; 0 where it was not measured."""
    cpu: float = 0.0
    """Of all threads of the worker."""
    compiling: float = 0.0
    """The part of `cpu` that went into the compilation of kernels."""


NOTHING = Spent()


class Finished(Struct, frozen=True):
    """A shard's rows in the order of its trials, as lists in the order of results.columns.

    `position` trials are in it, those the job began with included; all trials of the shard where it is `complete`.
    """

    shard: Shard
    rows: list[list[Any]]
    elements: list[list[Any]]
    spent: Spent
    position: int
    new: int
    """Trials since the shard was handed over before."""
    complete: bool


OnFinished: TypeAlias = Callable[[Finished], None]
OnRows: TypeAlias = Callable[[int, list[list[Any]]], None]
"""(trials, rows) as they arrive."""
OnFound: TypeAlias = Callable[[int, list[Any]], Shard]
"""(shard number, problems as plain values): what the shard is after its hunt."""
Stop: TypeAlias = Callable[[], bool]


def not_hunting(number: int, problems: list[Any]) -> Shard:
    """For plans without hunts."""
    raise AssertionError(f"shard {number} has no hunt")


def never() -> bool:
    """Do not stop."""
    return False
