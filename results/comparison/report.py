"""Two campaigns compared, on a terminal: the answer first, then the figures behind it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from results.comparison.campaigns import Campaigns
from results.comparison.changes import RateChange, RhoChange
from results.comparison.fates import Traced
from results.comparison.headline import headline, named, p_text
from results.comparison.lines import Line
from results.layout import count, heading, percent, percent_of, say, short, table
from results.report_findings import often, worst
from results.statistics.proportions import Interval

_LINES = 24
"""Lines shown; --json has all. Those with the smallest adjusted p-values come first where there are more."""
_FINDINGS = 20


def print_campaigns(found: Campaigns, console: Console) -> None:
    """Print the comparison."""
    style = "bold red" if found.failed else "bold green"
    say(console, headline(found), style=style, indent=0)
    console.print()
    say(console, f"A: {found.first.directory}: {found.first.ran}")
    say(console, f"B: {found.second.directory}: {found.second.ran}")
    _print_setting(found, console)
    lines = _chosen(found.lines)
    _print_trials(lines, len(found.lines), console)
    _print_changes(found, lines, console)
    _print_findings(found.findings, console)


def _print_setting(found: Campaigns, console: Console) -> None:
    if not found.setting:
        heading(console, "Setting: the same, in plan, options, versions and machine")
    else:
        heading(console, "What differs in the setting")
        table(console, ("", "A", "B"), [(item.name, item.first, item.second) for item in found.setting], words=3)
    for item in found.alone:
        operators = item.operators[0] if len(item.operators) == 1 else f"{len(item.operators)} operators"
        say(console, f"only in {'AB'[item.side]}: {item.target} in {item.dtype} ({operators}), not compared")
    respelled = dict.fromkeys(line.pair.target for line in found.lines if line.pair.respelled)
    for name in respelled:
        say(console, f"paired as the only target of its backend on each side: {name}")


def _print_trials(lines: Sequence[Line], of: int, console: Console) -> None:
    if not lines:
        return
    heading(console, "Trials")
    rows = [
        (
            line.pair.operator,
            line.pair.target + (f" ({line.problem[:8]})" if line.problem else ""),
            line.pair.dtype,
            count(line.first_trials),
            count(line.second_trials),
            count(line.shared),
            f"{count(line.equal)} of {count(line.outputs)}" if line.outputs else "-",
            _way(line),
        )
        for line in lines
    ]
    columns = ("operator", "target", "dtype", "A", "B", "shared", "equal bits", "compared as")
    table(console, columns, rows, words=3)
    if of > len(lines):
        say(console, f"{count(of - len(lines))} more lines, with equal bits or larger p-values: --json prints all.")
    for reason, names in _reasons(lines).items():
        say(console, f"not tested: {reason}{_for(names, len(lines))}")
    differ = sum(line.inputs_differ for line in lines)
    if differ:
        say(
            console,
            f"{count(differ)} trials of equal problem, seed and index have other inputs: they are not shared. Another "
            "version of ulpfuzz, or a machine that draws differently.",
        )


def _print_changes(found: Campaigns, lines: Sequence[Line], console: Console) -> None:
    told = [line for line in lines if not _same(line)]
    if not told:
        return
    heading(console, "Rates and errors")
    for line in told:
        console.print()
        say(console, named(line))
        cells = [*map(_rate_cells, line.rates), _rho_cells(line.rho)]
        rows: list[tuple[str | Text, ...]] = []
        for change, texts in zip(line.changes, cells, strict=True):
            style = ("red" if change.worse else "green") if change.differs else ""
            rows.append((*texts, p_text(change.p), Text(p_text(change.adjusted), style=style)))
        table(console, ("", "A", "B", "B/A", "could see", "p", "adjusted"), rows, words=1)
    console.print()
    if len(told) < len(lines):
        rest = len(lines) - len(told)
        these = (
            "other one has equal bits in all its" if rest == 1 else f"other {count(rest)} have equal bits in all their"
        )
        say(console, f"The {these} trials, and no table.")
    say(
        console,
        "Rates: exact 95 % intervals in brackets, in per cent. could see: the smallest larger rate of B that would "
        "have been called different with probability 0.8. rho: median, 99th percentile, largest; B/A of the medians.",
    )
    _explain_tests(found, told, console)


def _same(line: Line) -> bool:
    """Whether both sides ran the same trials and got the same bits: then all figures are equal."""
    trials = line.first_trials == line.second_trials == line.shared
    return trials and 0 < line.outputs == line.equal


def _explain_tests(found: Campaigns, lines: Sequence[Line], console: Console) -> None:
    if found.tests > 1:
        say(
            console,
            f"adjusted: p after {count(found.tests)} tests, one family, by Benjamini and Hochberg: thresholds are "
            "nested and targets share inputs, so the tests depend on each other positively. Below 0.05 it is called "
            "different; of such calls one in twenty is wrong at most, on average. An event that neither side has is no "
            "test.",
        )
    names = dict.fromkeys(change.test for line in lines for change in line.changes if change.test)
    if names:
        say(console, f"Tests: {'; '.join(names)}.")


def _print_findings(findings: Sequence[Traced], console: Console) -> None:
    if not findings:
        heading(console, "Findings: none on either side")
        return
    heading(console, "Findings")
    for item in findings[:_FINDINGS]:
        style = "red" if item.fate == "new" else "green" if item.fate == "fixed" else ""
        say(console, f"{item.fate}: {item.group.id}  {item.group.title}", style=style)
        details = "" if item.fate == "still there" else f"{often(item.group)}{worst(item.group)}; "
        say(console, f"{details}{item.why}", indent=4)
    if (more := len(findings) - _FINDINGS) > 0:
        say(console, f"and {count(more)} more: --json prints all")


def _chosen(lines: Sequence[Line]) -> list[Line]:
    """All in their order, or those with the smallest p-values and with other bits first."""
    if len(lines) <= _LINES:
        return list(lines)
    return sorted(lines, key=lambda line: (_smallest(line), line.equal == line.outputs))[:_LINES]


def _smallest(line: Line) -> float:
    return min((change.adjusted for change in line.changes if change.adjusted is not None), default=2.0)


def _way(line: Line) -> str:
    return {
        "pairs": f"pairs: {line.of}",
        "samples": f"two samples: {line.of}",
        "cells": f"{line.problems} problems: {line.of}",
        "refused": "not tested",
    }[line.way]


def _reasons(lines: Sequence[Line]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.why:
            found.setdefault(line.why, []).append(named(line))
    return found


def _for(names: Sequence[str], of: int) -> str:
    return "" if len(names) == of else f" ({names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''})"


def _rate_cells(change: RateChange) -> tuple[str, ...]:
    first = _share(change.first_k, change.first_n, change.first)
    second = _share(change.second_k, change.second_n, change.second)
    could = "-" if change.detectable is None else f"{percent(change.detectable)} %"
    return change.event, first, second, _ratio(change), could


def _share(k: int, n: int, interval: Interval | None) -> str:
    if interval is None or not k:
        return f"{count(k)} ({percent_of(k, n)})" if n and k else count(k) if n else "-"
    return f"{count(k)} = {percent(k / n)} %\n[{percent(interval.low)}, {percent(interval.high)}]"


def _ratio(change: RateChange) -> str:
    if change.ratio is None:
        return "-"
    if change.ratio_low is None:
        return short(change.ratio)
    return f"{short(change.ratio)}\n[{short(change.ratio_low)}, {short(change.ratio_high)}]"


def _rho_cells(change: RhoChange) -> tuple[str, ...]:
    cells = [
        f"{short(side.median)}, {short(side.tail)}, {short(side.largest)}" if side.trials else "-"
        for side in (change.first, change.second)
    ]
    one, other = change.first.median, change.second.median
    ratio = short(other / one) if one and other is not None else "-"
    return "rho", *cells, ratio, "-"
