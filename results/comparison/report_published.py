"""A campaign's rates against a published count, on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from results.comparison.headline import p_text
from results.comparison.published import AgainstPublished, PublishedLine
from results.layout import count, heading, percent, say, short, table
from results.statistics.proportions import Interval


def print_published(found: AgainstPublished, console: Console) -> None:
    """The answer, then each rate with its interval, its ratio to the published one, and p."""
    say(console, found.headline, style="bold red" if found.failed else "bold green", indent=0)
    console.print()
    say(console, f"{found.directory}: {found.ran}")
    heading(console, "Trials with a relative error above 1e-1")
    rows: list[tuple[str | Text, ...]] = [("published", *_rate(found.published), "", "", "")]
    rows += [_row(line) for line in found.lines]
    table(console, ("", "trials", "rate", "own/published", "p", "adjusted"), rows, words=1)
    say(
        console,
        f"Rates of {found.of}, in per cent, with exact 95 % intervals. The published count is a sample, too, and "
        "tested as one. own/published: ratio of the rates, with its 95 % interval (Katz and others).",
    )
    if len(found.lines) > 1:
        say(
            console,
            f"adjusted: p after {count(len(found.lines))} tests, by Benjamini and Hochberg (all meet the same count, "
            "and targets share inputs: positive dependence). Below 0.05 a rate is called different.",
        )
    console.print()
    for line in found.lines:
        say(console, f"{line.name}: {line.comparison.sentence}{_after(line)}.")


def _after(line: PublishedLine) -> str:
    """Whether adjusting takes the difference back."""
    if line.comparison.differs and not line.differs:
        return f"; not after adjusting for all lines, p = {p_text(line.adjusted)}"
    return ""


def _row(line: PublishedLine) -> tuple[str | Text, ...]:
    own = line.comparison
    ratio = "-" if own.ratio is None else short(own.ratio)
    if own.ratio_low is not None:
        ratio += f" [{short(own.ratio_low)}, {short(own.ratio_high)}]"
    style = ("red" if line.higher else "green") if line.differs else ""
    return line.name, *_rate(line.own), ratio, p_text(own.p), Text(p_text(line.adjusted), style=style)


def _rate(own: Interval) -> tuple[str, str]:
    return f"{count(own.k)} of {count(own.n)}", f"{percent(own.rate)} [{percent(own.low)}, {percent(own.high)}]"
