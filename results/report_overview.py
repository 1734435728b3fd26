"""Report sections for campaigns of several problems: by operator and target, or by problem and target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from results.errors import InvalidRate
from results.layout import count, heading, interval_cell, percent_of, say, short, table, verdict_text
from results.overview import OperatorTally, operator_tallies
from results.rates import RateTable, rate
from results.statistics import rate_interval
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

_SHOWN = 60


def print_operators(results: Results, console: Console) -> None:
    """One line an operator and target, the most severe first; the healthy tail in one sentence."""
    tallies = operator_tallies(results)
    refused = _refusal(results)
    heading(console, "Operators and targets, the most severe first")
    columns = ("operator", "target", "problems", "trials", "flagged trials", "worst rho", "worst verdict")
    rows = [
        (
            tally.operator,
            tally.target,
            count(tally.problems),
            count(tally.trials),
            _flagged(tally, refused, console),
            short(tally.worst_rho),
            verdict_text(tally.worst_verdict, VERDICTS[tally.worst_verdict].finding),
        )
        for tally in tallies[:_SHOWN]
    ]
    table(console, columns, rows, words=2)
    rest = tallies[_SHOWN:]
    if rest:
        say(console, f"and {count(len(rest))} more, the worst of them {rest[0].worst_verdict}")
    if refused:
        say(console, f"No intervals: {refused}.")
    else:
        say(console, "In brackets: exact 95 % interval of the rate in the survey's population, in per cent.")


def print_problems(results: Results, console: Console) -> None:
    """One line a problem and target, with the exact interval of each problem's own rate."""
    heading(console, "Each problem against the truth")
    by = ("operator", "dims", "attributes", "recipes", "problem_id", "target")
    try:
        tables = [rate(results, event, by=by) for event in ("above_1e01 > 0", "flagged > 0")]
    except InvalidRate as error:
        say(console, f"No rates: {error}.")
        return
    rows = _problem_rows(tables[0], tables[1], console)
    table(console, ("problem", "target", "trials", "above 1e-1", "flagged"), rows, words=2)


def _problem_rows(outliers: RateTable, flagged: RateTable, console: Console) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    before = None
    for one, other in zip(outliers.rows, flagged.rows, strict=True):
        group = one.group
        name = " ".join(str(group[key]) for key in ("operator", "dims", "recipes") if group[key])
        shown = "" if group["problem_id"] == before else name
        before = group["problem_id"]
        cells = (count(one.interval.n), interval_cell(one.interval, console), interval_cell(other.interval, console))
        rows.append((shown, str(group["target"]), *cells))
    return rows


def _refusal(results: Results) -> str:
    try:
        rate(results, "flagged > 0", by=("operator", "target"), population=True)
    except InvalidRate as error:
        return str(error)
    return ""


def _flagged(tally: OperatorTally, refused: str, console: Console) -> str:
    if not tally.trials:
        return "-"
    if not refused:
        return interval_cell(rate_interval(tally.flagged, tally.trials), console)
    share = f"{count(tally.flagged)} ({percent_of(tally.flagged, tally.trials)})"
    return f"{share} in {tally.problems_flagged} of {tally.problems} problems" if tally.flagged else share
