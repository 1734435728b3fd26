"""Report section: exact quantiles of errors, by target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from results.layout import heading, say, short, table
from results.quantiles import LEVELS, quantiles
from results.quiet import quiet

if TYPE_CHECKING:
    from results.reading import Results


def print_quantiles(results: Results, console: Console) -> None:
    """A line a target; nothing where nothing was measured."""
    hidden = quiet(results)
    found = [one for one in quantiles(results) if one.target not in hidden]
    if not found:
        return
    heading(console, "Each target against the truth: exact quantiles over outputs (largest error of each)")
    levels = [f"{100 * level:g} %" for level in LEVELS]
    columns = ("target", f"relative: {levels[0]}", *levels[1:], f"rho: {levels[0]}", *levels[1:])
    rows = [(one.target, *_cells(one.relative), *_cells(one.rho)) for one in found]
    table(console, columns, rows)
    say(console, "p %: the smallest value that p per cent of the outputs that ran do not exceed.")


def _cells(values: tuple[float, ...]) -> list[str]:
    return [short(value) for value in values] or ["-"] * len(LEVELS)
