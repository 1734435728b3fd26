"""Exact quantiles of errors over outputs, by target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from results.bins import FIGURES, FloatArray, among, bin_of, ends, nth

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
    relative, rho = (_of_figure(results, figure) for figure in FIGURES)
    targets = sorted(relative.keys() | rho.keys())
    return [Quantiles(target, relative.get(target, ()), rho.get(target, ())) for target in targets]


def _of_figure(results: Results, figure: str) -> dict[str, tuple[float, ...]]:
    """By target. Only the values of bins that hold a quantile are read."""
    bins: dict[str, dict[int, int]] = {}
    for row in results.tallied(f"SELECT target, bin, n FROM bins WHERE figure = '{figure}'"):
        bins.setdefault(row["target"], {})[row["bin"]] = row["n"]
    places = {target: [among(counts, level) for level in LEVELS] for target, counts in bins.items()}
    values = _values(results, figure, sorted({at for found in places.values() for at, _ in found}))
    return {target: tuple(nth(values[target, at], left) for at, left in found) for target, found in places.items()}


def _values(results: Results, figure: str, bins: list[int]) -> dict[tuple[str, int], FloatArray]:
    """All values of a figure in these bins, by target and bin."""
    if not bins:
        return {}
    ranges = []
    for at in bins:
        low, high = ends(at)
        ranges.append(f"({figure} >= {_sql(low)}{'' if high is None else f' AND {figure} < {_sql(high)}'})")
    found: dict[tuple[str, int], FloatArray] = {}
    table = results.sql(f"""
        SELECT target, list({figure}) AS figures FROM trials
        WHERE {figure} IS NOT NULL AND ({" OR ".join(ranges)}) GROUP BY target
    """)
    for target, figures in zip(table.column("target").to_pylist(), table.column("figures"), strict=True):
        values = figures.values.to_numpy()
        own = bin_of(values)
        found |= {(target, at): values[own == at] for at in bins}
    return found


def _sql(value: float) -> str:
    return f"'{value!r}'::DOUBLE"
