"""Sentences and small tables that explain: why outliers arise, the published rate, equal bits, decisions, champions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.bitwise import bitwise_classes
from results.contents.table import Cell, Column, Table, figure, number, share, verdict, word
from results.layout import count, percent
from results.outliers import causes
from results.published import compare_published
from results.quiet import quiet
from results.report_counts import passes, why_no_rate
from results.report_search import champions
from results.report_why import bitwise_lines, comparison_sentences, why_sentences
from results.statistics.sequential import confidence_sequence
from results.tallies import between_targets
from results.until import answers, question

if TYPE_CHECKING:
    from results.reading import Results

MOST = 400
"""Lines of a table of champions."""


def outlier_lines(results: Results) -> tuple[str, ...]:
    """How relative errors above 1e-1 arise; empty where there is none."""
    found = causes(results)
    if found is None:
        return ()
    first = f"{count(found.elements)} elements of {count(found.rows)} outputs in {count(found.trials)} trials."
    return (first, *why_sentences(found))


def published_lines(results: Results) -> tuple[str, ...]:
    """The published rate against the campaign's own; empty where none was published."""
    found = compare_published(results) if question(results.manifest) is None else None
    if found is None:
        return ()
    refused = [f"Not compared: {found.refused}."] if found.refused else []
    sentences = [" ".join(comparison_sentences(row)) for row in found.rows]
    return (f"Published: {found.published} above {found.threshold}.", *refused, *sentences)


def equal_bits(results: Results) -> tuple[str, ...]:
    """Which targets give identical bits; empty where no two were compared."""
    classes = bitwise_classes(results)
    if not classes.outputs:
        return ()
    return (f"{count(classes.outputs)} outputs compared.", *bitwise_lines(classes, quiet(results)))


def pairs(results: Results) -> Table | None:
    """Targets against each other; None where no pair was compared."""
    tallies = between_targets(results)
    if not tallies:
        return None
    columns = (
        Column("pair"),
        Column("trials", True),
        Column("above 1e-1", True),
        Column("above 1e-2", True),
        Column("largest relative", True, "relative to the second target; inf where that gave 0 and the first did not"),
        Column("passes rtol", hint="the smallest power of ten that no relative difference exceeds"),
    )
    rows = tuple(
        (
            word(f"{tally.target} against {tally.against}"),
            number(tally.trials),
            share(tally.above_1e01, tally.trials),
            share(tally.above_1e02, tally.trials),
            figure(tally.worst_relative),
            Cell(passes(tally.worst_relative), tally.worst_relative),
        )
        for tally in tallies
    )
    return Table(columns, rows)


def decisions(results: Results) -> Table | None:
    """What a campaign that was to decide a rate has decided; None where it was not asked to."""
    asked = question(results.manifest)
    if asked is None:
        return None
    rows = []
    for (problem, what, whose), answer in sorted(answers(results).items()):
        interval = Cell("-")
        if answer.n:
            seen = confidence_sequence(answer.k, answer.n)
            interval = Cell(f"{percent(seen.rate)} % [{percent(seen.low)}, {percent(seen.high)}]", seen.rate)
        decided = word(answer.decision if answer.n else "no result")
        counted = Cell(f"{count(answer.k)} of {count(answer.n)}", answer.k)
        rows.append((word(f"{problem[:8]} {what}".strip()), word(whose), counted, interval, decided))
    columns = (Column("problem"), Column("whose"), Column("trials", True), Column("rate", True), Column("answer"))
    return Table(
        columns,
        tuple(rows),
        (
            f"Is the rate above or below {percent(asked.threshold)} %? ({asked.event}) In brackets: 95 % confidence "
            "sequence, valid at whatever moment one looks or stops; each answer is wrong with a probability of at most "
            "5 %.",
        ),
    )


def champions_table(results: Results) -> Table | None:
    """The worst inputs that a search found; None where it has none."""
    found = champions(results)
    if not found:
        return None
    columns = (
        Column("operator"),
        Column("target"),
        Column("dtype"),
        Column("islands", True, "searches with an output of this target"),
        Column("rho", True),
        Column("verdict"),
        Column("fresh draws flagged", hint="new inputs of the kind that the champion stems from"),
        Column("trial"),
    )
    rows = tuple(
        (
            word(champion.operator),
            word(champion.target),
            word(champion.dtype),
            number(champion.islands),
            figure(champion.rho),
            verdict(champion.verdict),
            Cell(f"{champion.flagged} of {champion.fresh}", champion.flagged),
            word(champion.trial),
        )
        for champion in found[:MOST]
    )
    more = len(found) - MOST
    return Table(
        columns,
        rows,
        (
            "A champion is the largest of very many inputs that were steered there: its rho says how bad it can get, "
            "not how often.",
            *((f"And {count(more)} more, less bad.",) if more > 0 else ()),
        ),
    )


def no_rate(results: Results) -> str:
    """Why counts are shares of what ran and no rates; empty where they are rates."""
    return why_no_rate(results)
