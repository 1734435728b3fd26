"""Report section: the same target on the same data, called in another way."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from results.layout import count, heading, percent_of, say, short, table
from results.variant_words import answer, bits, explained, refusals, verdicts
from results.variants import VariantTally, by_family, variant_bits, variant_tallies

if TYPE_CHECKING:
    from results.reading import Results

TITLE = "Variants: the same target on the same data, called in another way"
SHOWN = 60
"""Lines of the table; more are shown by family, and of these the telling ones."""
COLUMNS = ("target", "variant", "trials", "equal bits", "largest", "rho", "verdicts")


def print_variants(results: Results, console: Console) -> None:
    """How often bits change, how much, and what of it rounding explains. Nothing where there were no variants."""
    tallies = variant_tallies(results)
    if not tallies:
        return
    heading(console, TITLE)
    for sentence in answer(tallies):
        say(console, sentence)
    shown, more = lines(tallies)
    _print_tables(shown, console)
    for sentence in (*more, "largest: the largest absolute difference from the unwrapped call.", *explained(tallies)):
        say(console, sentence)
    for sentence in (*bits(variant_bits(results)), *refusals(tallies)):
        say(console, sentence)


def lines(tallies: list[VariantTally], most: int = SHOWN) -> tuple[list[VariantTally], list[str]]:
    """What a table of `most` lines shows, and sentences on what it leaves out."""
    applied = [tally for tally in tallies if tally.trials]
    if len(applied) <= most:
        return applied, []
    families = [tally for tally in by_family(tallies) if tally.trials]
    told = "Variants of a family are taken together."
    if len(families) <= most:
        return families, [told]
    telling = sorted(families, key=lambda tally: (-tally.found, -(tally.rho or 0.0), tally.equal / tally.trials))
    kept, rest = {id(tally) for tally in telling[:most]}, telling[most:]
    worst = max(tally.rho or 0.0 for tally in rest)
    cut = f"And {count(len(rest))} more lines, with a largest rho of {short(worst)}."
    return [tally for tally in families if id(tally) in kept], [told, cut]


def _print_tables(shown: list[VariantTally], console: Console) -> None:
    """A table an operator and dtype, below its name where there are several."""
    groups = [(name, list(found)) for name, found in groupby(shown, key=lambda tally: (tally.operator, tally.dtype))]
    for (operator, dtype), found in groups:
        if len(groups) > 1:
            say(console, f"{operator} in {dtype}", style="bold")
        before = [None, *(tally.target for tally in found)]
        targets = ["" if tally.target == last else tally.target for tally, last in zip(found, before, strict=False)]
        rows = [(target, *_cells(tally)) for target, tally in zip(targets, found, strict=True)]
        table(console, COLUMNS, rows)


def _cells(tally: VariantTally) -> tuple[str | Text, ...]:
    return (
        tally.variant,
        count(tally.trials),
        f"{count(tally.equal)} ({percent_of(tally.equal, tally.trials)})",
        short(tally.largest),
        short(tally.rho),
        Text(verdicts(tally), style="red" if tally.found and not tally.composed else ""),
    )
