"""Report sections: findings with the command that repeats them, and what could not be decided."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from results.findings import FindingGroup, composed_findings
from results.known import Sorted
from results.layout import count, heading, percent, say, short
from results.reading import Results
from results.setting import undecided
from results.shrunk import summary
from results.verdicts import VERDICTS

_POLICY = "subnormals_flushed"
_SHOWN = 40
_REASONS_SHOWN = 10


def print_findings(
    results: Results, groups: Sequence[FindingGroup], console: Console, known: Sorted | None = None
) -> None:
    """Each finding with its count, worst case and the command that repeats it; known ones apart, with the reason."""
    new = list(known.new) if known else groups
    place = results.directories[0]
    title = "New findings" if known else "Findings"
    heading(console, f"{title} ({len(new)})" if new else f"{title}: none")
    print_groups(new, place, console)
    if known:
        print_known(known, console)
    composed = composed_findings(results)
    if composed:
        heading(console, "Composed from primitives by ulpfuzz: not blamed on the library")
        print_groups(composed, place, console)


def print_groups(groups: Sequence[FindingGroup], place: Path, console: Console, shown: int = _SHOWN) -> None:
    """Findings of the campaign in `place` by verdict: two lines, what each was shrunk to, and the command."""
    directory = shlex.quote(str(place))
    before = None
    lines = _by_policy(groups)
    for group, also in lines[:shown]:
        if group.verdict != before:
            say(console, f"{group.verdict}: the result {VERDICTS[group.verdict].sentence}", style="red")
            before = group.verdict
        variants = f" under {group.variants}" if group.variants else ""
        say(console, f"{group.subject}{group.where}{variants}: {often(group)}{worst(group)}", indent=4)
        if also:
            names = list(dict.fromkeys(other.operator for other in also if other.operator != group.operator))
            say(console, f"also in {', '.join(names) or 'its other outputs'}", indent=6)
        if group.detail:
            say(console, group.detail, indent=6)
        print_shrunk(group, place, console, indent=6)
        say(console, command(group, directory), indent=6)
    more = len(lines) - shown
    if more > 0 or len(lines) < len(groups):
        rest = f"and {more} more: " if more > 0 else ""
        say(console, f"{rest}`ulpfuzz findings {directory}` lists them all")


def _by_policy(groups: Sequence[FindingGroup]) -> list[tuple[FindingGroup, list[FindingGroup]]]:
    """Each finding, and what is shown with it: a target that flushes subnormal numbers does so in many operators."""
    lines: list[tuple[FindingGroup, list[FindingGroup]]] = []
    first: dict[tuple[str, str], int] = {}
    for group in groups:
        key = (group.target, group.dtype)
        if group.verdict == _POLICY and key in first:
            lines[first[key]][1].append(group)
            continue
        if group.verdict == _POLICY:
            first[key] = len(lines)
        lines.append((group, []))
    return lines


def print_shrunk(group: FindingGroup, place: Path, console: Console, indent: int) -> None:
    """What a finding was shrunk to, where it was."""
    if told := summary(place, group.id):
        say(console, told, indent=indent)


def print_known(known: Sorted, console: Console) -> None:
    """Known findings with their reasons, and the entries of the file that say nothing any more."""
    if known.known:
        heading(console, f"Known findings ({len(known.known)})")
        for group, entry in known.known:
            say(console, f"{group.title}, {often(group)}{worst(group)}", indent=2)
            say(console, f"known ({entry.name}): {entry.said}", indent=6)
    if known.notes:
        heading(console, f"The file of known findings, {known.path}")
        for note in known.notes:
            say(console, note)


def print_undecided(results: Results, console: Console) -> None:
    """What the oracle could not decide, with its reasons."""
    reasons = undecided(results)
    if not reasons:
        return
    heading(console, "Not decided")
    for item in reasons[:_REASONS_SHOWN]:
        say(console, f"{item.operator}, {item.target}: {count(item.trials)} trials: {item.reason}")
    if (more := len(reasons) - _REASONS_SHOWN) > 0:
        say(console, f"and {more} more reasons")


def often(group: FindingGroup, interval: bool = False) -> str:
    """How many trials, of how many that ran; with the exact interval where asked for and known."""
    text = f"{count(group.trials)} of {count(group.of_trials)} {'trial' if group.of_trials == 1 else 'trials'}"
    if interval and group.rate is not None:
        low, high = percent(group.rate.low), percent(group.rate.high)
        text += f" = {percent(group.rate.rate)} % [{low}, {high}]"
    return f"{text} ({count(group.not_run)} not run)" if group.not_run else text


def worst(group: FindingGroup) -> str:
    """Its largest errors; nothing where there was no output."""
    if group.worst_rho is None:
        return ""
    return f", worst rho {short(group.worst_rho)}, relative error {short(group.worst_relative)}"


def command(group: FindingGroup, directory: str) -> str:
    """What repeats the worst trial, and the id behind a shell comment."""
    return f"ulpfuzz repro {directory} {shlex.quote(group.trial)}  # finding {group.id}"
