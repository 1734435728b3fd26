"""Report sections for campaigns of several problems: by operator and target, or by problem and target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from results.errors import InvalidRate
from results.layout import count, heading, interval_cell, percent_of, say, short, table, verdict_text
from results.overview import OperatorTally, operator_tallies
from results.rates import RateTable, group_interval, in_clusters, kind_of_interval, rate
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

_ALL_SHOWN = 24
"""Tables of up to so many lines show the healthy pairs, too."""
_SHOWN = 60
UNSUPPORTED = "unsupported"
_HEALTHY = VERDICTS["borderline"].severity
"""Verdicts up to this one need no line of their own."""


def print_operators(results: Results, console: Console) -> None:
    """One line an operator and target, the most severe first; the healthy rest in one sentence."""
    every = operator_tallies(results)
    tallies = [tally for tally in every if tally.trials or tally.worst_verdict != UNSUPPORTED]
    telling = tallies if len(tallies) <= _ALL_SHOWN else [tally for tally in tallies if tally.severity > _HEALTHY]
    shown = telling[:_SHOWN]
    refused = _refusal(results)
    heading(console, "Operators and targets, the most severe first")
    if shown:
        _print_table(results, shown, refused, console)
    if more := telling[_SHOWN:]:
        say(console, f"and {count(len(more))} more, the worst of them {more[0].worst_verdict}")
    if len(telling) < len(tallies):
        _print_healthy(tallies[len(telling) :], {tally.operator for tally in telling}, console)
    if none := len(every) - len(tallies):
        say(console, f"{count(none)} {'pair' if none == 1 else 'pairs'} without an implementation.")
    if refused:
        say(console, f"No intervals: {refused}.")
    elif shown:
        exact = "exact 95 % interval of the rate in the survey's population"
        kind = kind_of_interval(results) if in_clusters(results) else exact
        say(console, f"In brackets: {kind}, in per cent.")


def print_problems(results: Results, console: Console) -> None:
    """One line a problem and target, with the exact interval of each problem's own rate."""
    heading(console, "Each problem against the truth")
    by = ("operator", "dims", "attributes", "recipes", "home", "problem_id", "target")
    try:
        tables = [rate(results, event, by=by) for event in ("above_1e01 > 0", "flagged > 0")]
    except InvalidRate as error:
        say(console, f"No rates: {error}.")
        return
    rows = _problem_rows(tables[0], tables[1], console)
    table(console, ("problem", "target", "trials", "above 1e-1", "flagged"), rows, words=2)


def _print_table(results: Results, tallies: Sequence[OperatorTally], refused: str, console: Console) -> None:
    once = all(tally.problems == tally.trials or not tally.trials for tally in tallies)
    columns = (
        "operator",
        "target",
        *(() if once else ("problems",)),
        "trials",
        "flagged",
        "worst rho",
        "worst verdict",
    )
    rows = [
        (
            tally.operator,
            tally.target,
            *(() if once else (count(tally.problems),)),
            count(tally.trials),
            _flagged(results, tally, refused, console),
            short(tally.worst_rho),
            verdict_text(tally.worst_verdict, VERDICTS[tally.worst_verdict].finding),
        )
        for tally in tallies
    ]
    table(console, columns, rows, words=2)


def _print_healthy(rest: Sequence[OperatorTally], telling: set[str], console: Console) -> None:
    whole = sorted({tally.operator for tally in rest} - telling)
    trials = sum(tally.trials for tally in rest)
    say(console, f"The other {count(len(rest))} pairs stay within what rounding explains, in {count(trials)} trials.")
    if whole:
        say(console, f"Operators within rounding on every target ({len(whole)}): {', '.join(whole)}.")


def _problem_rows(outliers: RateTable, flagged: RateTable, console: Console) -> list[tuple[str | Text, ...]]:
    varying = _varying(outliers, ("dims", "attributes", "recipes", "home"))
    rows: list[tuple[str | Text, ...]] = []
    before = None
    for one, other in zip(outliers.rows, flagged.rows, strict=True):
        group = one.group
        name = " ".join(str(group[key]) for key in ("operator", *varying) if group[key])
        shown = "" if group["problem_id"] == before else name
        before = group["problem_id"]
        cells = (count(one.interval.n), interval_cell(one.interval, console), interval_cell(other.interval, console))
        rows.append((shown, str(group["target"]), *cells))
    return rows


def _varying(rates: RateTable, keys: Sequence[str]) -> list[str]:
    """The columns in which the problems differ: what names them."""
    return [key for key in keys if len({row.group[key] for row in rates.rows}) > 1]


def _refusal(results: Results) -> str:
    try:
        rate(results, "flagged > 0", by=("operator", "target"), population=True)
    except InvalidRate as error:
        return str(error)
    return ""


def _flagged(results: Results, tally: OperatorTally, refused: str, console: Console) -> str | Text:
    if not tally.trials:
        return "-"
    if not refused:
        group = {"operator": tally.operator, "target": tally.target}
        return interval_cell(group_interval(results, "flagged > 0", group, tally.flagged, tally.trials), console)
    share = f"{count(tally.flagged)} ({percent_of(tally.flagged, tally.trials)})"
    return f"{share} in {tally.problems_flagged} of {tally.problems}" if tally.flagged else share
