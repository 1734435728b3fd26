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
    levels = ", ".join(map(str, LEVELS))
    rows = results.records(f"""
        SELECT target, quantile_disc(rel_max, [{levels}]) AS relative, quantile_disc(rho_max, [{levels}]) AS rho
        FROM trials GROUP BY target HAVING count(rel_max) > 0 OR count(rho_max) > 0 ORDER BY target
    """)
    return [Quantiles(row["target"], tuple(row["relative"] or ()), tuple(row["rho"] or ())) for row in rows]
