"""Exact quantiles of errors over outputs, by target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from results.reading import Results

LEVELS: tuple[float, ...] = (0.5, 0.9, 0.99, 0.999)


class Quantiles(Struct, frozen=True):
    """Of one target: at each of LEVELS the smallest value that so large a share of the outputs does not exceed."""

    target: str
    relative: tuple[float, ...]
    """Of the largest relative error of an output; empty where nothing was measured."""
    rho: tuple[float, ...]
    """Of the largest rho of an output."""


def quantiles(results: Results) -> list[Quantiles]:
    """Of each target with an output, in alphabetical order. NaN counts as larger than everything."""
    relative, rho = _of(results, "rel_max"), _of(results, "rho_max")
    return [Quantiles(name, relative.get(name, ()), rho.get(name, ())) for name in sorted(relative.keys() | rho.keys())]


def _of(results: Results, column: str) -> dict[str, tuple[float, ...]]:
    """By target; one column at a time, since all its values are held in memory."""
    rows = results.records(f"""
        SELECT target, quantile_disc({column}, [{", ".join(map(str, LEVELS))}]) AS found
        FROM trials GROUP BY target HAVING count({column}) > 0
    """)
    return {row["target"]: tuple(row["found"]) for row in rows}
