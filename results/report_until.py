"""Report section: what a campaign that was to decide a rate has decided."""

from __future__ import annotations

from rich.console import Console

from results.layout import count, heading, percent, say, table
from results.reading import Results
from results.statistics.sequential import confidence_sequence
from results.until import answers, question


def print_until(results: Results, console: Console) -> None:
    """Each problem's and target's count, anytime interval and decision; nothing where no decision was asked for."""
    asked = question(results.manifest)
    if asked is None:
        return
    heading(console, f"Is the rate above or below {percent(asked.threshold)} %? ({asked.event})")
    found = answers(results)
    problems = len({(problem, what) for problem, what, _ in found})
    rows = []
    for (problem, what, whose), answer in sorted(found.items()):
        name = f"{problem[:8]} {what}".strip()
        interval = "-"
        if answer.n:
            seen = confidence_sequence(answer.k, answer.n)
            interval = f"{percent(seen.rate)} % [{percent(seen.low)}, {percent(seen.high)}]"
        counted = f"{count(answer.k)} of {count(answer.n)}"
        rows.append(
            (*((name,) if problems > 1 else ()), whose, counted, interval, answer.decision if answer.n else "no result")
        )
    table(console, (*(("problem",) if problems > 1 else ()), "whose", "trials", "rate", "answer"), rows, words=2)
    say(
        console,
        f"Asked after every {count(int(results.manifest['shard_trials']))} trials, until the answer. In brackets: 95 % "
        "confidence sequence, valid at whatever moment one looks or stops; each answer is wrong with a probability of "
        "at most 5 %.",
    )
