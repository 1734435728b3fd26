"""Report sections: how often and how badly, for each target, each pair and each verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from results.columns import FLAG
from results.errors import InvalidRate
from results.layout import count, heading, interval_cell, percent_of, say, short, table, verdict_text
from results.quiet import quiet, told
from results.rates import ended_by_decision, group_interval, in_clusters, kind_of_interval, rate
from results.reading import Results
from results.statistics.proportions import one_sided_upper
from results.tallies import Tally, against_truth, between_targets, verdict_counts
from results.verdicts import VERDICTS

_OFTEN = ("trials", "above 1e-1", "above 1e-2")


def print_targets(results: Results, console: Console) -> None:
    """Each target against the truth."""
    hidden = quiet(results)
    tallies = [tally for tally in against_truth(results) if tally.target not in hidden]
    refused = why_no_rate(results)
    heading(console, "Each target against the truth: how often")
    rows = [
        (
            tally.target,
            *_often(results, tally, refused, console),
            _cell(results, tally, "flagged > 0", tally.flagged, refused, console),
        )
        for tally in tallies
    ]
    table(console, ("target", *_OFTEN, "flagged"), rows)
    for line in told(len(hidden)):
        say(console, f"Besides, {line}.")
    _explain_intervals(results, tallies, refused, console)
    heading(console, "Each target against the truth: how badly (largest errors)")
    columns = ["target", "relative", "amplification", "ulp", "rho", "worst verdict"]
    badly = [_badly(tally) for tally in tallies]
    low_precision = any(tally.internal for tally in tallies)
    if low_precision:
        columns.insert(-1, "inside")
        badly = [(*cells[:-1], tally.internal or "-", cells[-1]) for cells, tally in zip(badly, tallies, strict=True)]
    table(console, columns, badly)
    say(
        console,
        "amplification: at the largest relative error, how much of it one rounding unit explains, in units of u.",
    )
    say(console, "rho: error divided by what rounding and conditioning excuse; above 2 an element is flagged.")
    if excused := [tally.target for tally in tallies if not tally.flagged and (tally.worst_rho or 0) > FLAG]:
        say(console, f"Not flagged above 2: {', '.join(excused)}. Reading subnormal numbers as zero explains that.")
    if low_precision:
        say(
            console,
            "inside: what explains every 16-bit result: float32 arithmetic rounded once, arithmetic in that format "
            "(storage), or neither (beyond).",
        )


def print_pairs(results: Results, console: Console) -> None:
    """Targets against each other, where pairs were compared."""
    tallies = between_targets(results)
    if not tallies:
        return
    refused = why_no_rate(results)
    heading(console, "Targets against each other")
    rows = [
        (
            f"{tally.target} against {tally.against}",
            *_often(results, tally, refused, console),
            short(tally.worst_relative),
            passes(tally.worst_relative),
        )
        for tally in tallies
    ]
    table(console, ("pair", *_OFTEN, "largest", "passes rtol"), rows)
    if any(tally.worst_relative == math.inf for tally in tallies):
        say(console, "inf: the second target gave exactly 0 where the first did not.")


def passes(largest: float | None) -> str:
    """The smallest power of ten that no relative difference exceeds."""
    if largest is None or math.isnan(largest) or largest > 1:
        return "none"
    if largest == 0:
        return "0 (equal)"
    return f"1e{math.ceil(math.log10(largest)):d}"


def print_verdicts(results: Results, console: Console) -> None:
    """Trials by verdict: what is explained, and what counts against the implementation."""
    heading(console, "Verdicts")
    rows = []
    hidden = quiet(results)
    for target, counts in verdict_counts(results).items():
        if target in hidden:
            continue
        explained = [f"{name} {count(n)}" for name, n in counts.items() if not VERDICTS[name].finding]
        found = [f"{name} {count(n)}" for name, n in counts.items() if VERDICTS[name].finding]
        rows.append((target, ", ".join(explained) or "none", Text(", ".join(found) or "none", "red" if found else "")))
    table(console, ("target", "explained", "findings"), rows, words=3)
    for line in told(len(hidden)):
        say(console, f"Besides, {line}.")


def why_no_rate(results: Results) -> str:
    """Why the trials of a target are not a sample of one population; empty where they are."""
    try:
        rate(results, "flagged > 0", by=("target",))
    except InvalidRate as error:
        return str(error)
    return ""


def _often(results: Results, tally: Tally, refused: str, console: Console) -> tuple[str | Text, ...]:
    counts = (("above_1e01 > 0", tally.above_1e01), ("above_1e02 > 0", tally.above_1e02))
    return (count(tally.trials), *(_cell(results, tally, event, k, refused, console) for event, k in counts))


def _cell(results: Results, tally: Tally, event: str, k: int, refused: str, console: Console) -> str | Text:
    if not tally.trials:
        return "-"
    if refused:
        return f"{count(k)} ({percent_of(k, tally.trials)})"
    group = {"target": tally.target}
    return interval_cell(group_interval(results, event, group, k, tally.trials, tally.against), console)


def _badly(tally: Tally) -> tuple[str | Text, ...]:
    verdict = tally.worst_verdict
    return (
        tally.target,
        short(tally.worst_relative),
        short(tally.amplification),
        short(tally.worst_ulp),
        short(tally.worst_rho),
        verdict_text(verdict, verdict is not None and VERDICTS[verdict].finding),
    )


def _explain_intervals(results: Results, tallies: Sequence[Tally], refused: str, console: Console) -> None:
    if refused:
        say(console, f"Shares of what ran, without intervals: {refused}.")
        return
    if ended_by_decision(results):
        say(console, "In brackets: 95 % confidence sequence in per cent, valid although the trials decided the end.")
        return
    if in_clusters(results):
        say(console, f"In brackets: {kind_of_interval(results)}, in per cent.")
        return
    text = "In brackets: exact 95 % confidence interval in per cent (Clopper-Pearson)."
    fewest = min((tally.trials for tally in tallies if tally.trials), default=0)
    if fewest and any(0 in (tally.above_1e01, tally.flagged) for tally in tallies):
        excluded = f"rates above {short(one_sided_upper(0, fewest))} (one-sided)"
        text += f" No event in {count(fewest)} {'trial' if fewest == 1 else 'trials'} excludes {excluded}."
    say(console, text)
