"""A table as plain values. Whoever writes it down decides how it looks."""

from __future__ import annotations

import math
from typing import TypeAlias

from msgspec import Struct

from results.layout import count, percent_of, short
from results.verdicts import VERDICTS

Key: TypeAlias = float | str | None
"""What a cell is sorted by."""


class Cell(Struct, frozen=True):
    """Text, and what it is sorted by; None sorts last."""

    text: str
    key: Key = None
    red: bool = False
    """Counts against an implementation."""
    hint: str = ""
    """Said where the pointer rests."""


class Column(Struct, frozen=True):
    """A heading. Numbers stand on the right."""

    name: str
    number: bool = False
    hint: str = ""


class Table(Struct, frozen=True):
    """Rows of cells, as many as there are columns; notes below."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def word(text: str, hint: str = "") -> Cell:
    """A name."""
    return Cell(text, text, hint=hint)


def figure(value: float | None) -> Cell:
    """Two or three digits; NaN sorts with what has no value."""
    return Cell(short(value), None if value is None or math.isnan(value) else value)


def number(value: int) -> Cell:
    """A count with thousands separated."""
    return Cell(count(value), value)


def share(k: int, n: int, red: bool = False) -> Cell:
    """k and its percentage of n, sorted by the share; a dash where n is 0."""
    if not n:
        return Cell("-")
    return Cell(f"{count(k)} ({percent_of(k, n)})" if k else "0", k / n, red=red and k > 0)


def verdict(name: str | None, blamed: bool = True) -> Cell:
    """A verdict, sorted by severity."""
    if name is None:
        return Cell("-")
    known = VERDICTS[name]
    return Cell(name, known.severity, known.finding and blamed, f"The result {known.sentence}.")
