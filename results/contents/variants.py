"""Variants: the same target on the same data, called in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.contents.table import Cell, Column, Table, figure, number, share, word
from results.report_variants import lines
from results.variant_words import answer, bits, explained, refusals, verdicts
from results.variants import VariantTally, variant_bits, variant_tallies
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

MOST = 400
"""Lines of the table."""


def variants(results: Results, most: int = MOST) -> Table | None:
    """A line an operator, target and variant; None where nothing was called under one."""
    tallies = variant_tallies(results)
    if not tallies:
        return None
    columns = (
        Column("operator"),
        Column("target"),
        Column("dtype"),
        Column("variant"),
        Column("trials", True),
        Column("equal bits", True, "trials in which all bits are those of the unwrapped call"),
        Column("largest difference", True, "largest absolute difference from the unwrapped call"),
        Column("rho", True, "the largest difference divided by what two roundings allow; up to 2 it is rounding"),
        Column("verdicts"),
    )
    shown, more = lines(tallies, most)
    return Table(columns, tuple(map(_row, shown)), tuple(more))


def sentences(results: Results) -> tuple[str, ...]:
    """The answer, what the columns mean, which calls give identical bits, and what did not apply."""
    tallies = variant_tallies(results)
    if not tallies:
        return ()
    return (*answer(tallies), *explained(tallies), *bits(variant_bits(results)), *refusals(tallies))


def _row(tally: VariantTally) -> tuple[Cell, ...]:
    worst = VERDICTS[tally.worst].severity if tally.worst else None
    return (
        word(tally.operator),
        word(tally.target),
        word(tally.dtype),
        word(tally.variant),
        number(tally.trials),
        share(tally.equal, tally.trials),
        figure(tally.largest),
        figure(tally.rho),
        Cell(verdicts(tally), worst, red=tally.found > 0 and not tally.composed),
    )
