"""Strings in SQL."""

from __future__ import annotations


def quoted(text: str) -> str:
    """A string as SQL writes it: in quotes, quotes within it twice."""
    return "'" + text.replace("'", "''") + "'"
