"""Schedules without findings: a campaign may hold hundreds of them, and its report counts them instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from results.tallies import AGAINST_TRUTH

if TYPE_CHECKING:
    from results.reading import Results

FEW = 4
"""So many are listed like other targets."""


def quiet(results: Results) -> frozenset[str]:
    """Targets with a schedule of which no row is a finding, where there are more than a few."""
    rows = results.tallied(f"""
        SELECT target FROM outcomes WHERE options LIKE '%schedule=%' AND {AGAINST_TRUTH}
        GROUP BY target HAVING NOT bool_or(found)
    """)
    found = frozenset(str(row["target"]) for row in rows)
    return found if len(found) > FEW else frozenset()


def without(names: Iterable[str], hidden: Collection[str]) -> list[str]:
    """The names that are not hidden, and how many are."""
    every = list(names)
    shown = [name for name in every if name not in hidden]
    return [*shown, *told(len(every) - len(shown))]


def told(number: int) -> Sequence[str]:
    """What stands for so many schedules."""
    return [f"{number} schedules without findings"] if number else []
