"""Report sections: findings with the command that repeats them, and what could not be decided."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console

from results.findings import FindingGroup, composed_findings
from results.layout import count, heading, say, short
from results.reading import Results
from results.setting import undecided
from results.verdicts import VERDICTS

_SHOWN = 40
_REASONS_SHOWN = 10


def print_findings(results: Results, groups: Sequence[FindingGroup], console: Console) -> None:
    """Each finding with its count, worst case and the command that repeats it."""
    directory = shlex.quote(str(results.directories[0]))
    heading(console, f"Findings ({len(groups)})" if groups else "Findings: none")
    _print_groups(groups, directory, console)
    composed = composed_findings(results)
    if composed:
        heading(console, "Composed from primitives by ulpfuzz: not blamed on the library")
        _print_groups(composed, directory, console)


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


def _print_groups(groups: Sequence[FindingGroup], directory: str, console: Console) -> None:
    before = None
    for group in groups[:_SHOWN]:
        if group.verdict != before:
            say(console, f"{group.verdict}: the result {VERDICTS[group.verdict].sentence}", style="red")
            before = group.verdict
        output = f" ({group.output})" if group.output else ""
        variants = f" under {group.variants}" if group.variants else ""
        often = f"{count(group.trials)} of {count(group.of_trials)} trials"
        say(console, f"{group.target} {group.operator}{output}{variants}: {often}{_worst(group)}", indent=4)
        if group.detail:
            say(console, group.detail, indent=6)
        say(console, f"ulpfuzz repro {directory} {shlex.quote(group.trial)}", indent=6)
    if (more := len(groups) - _SHOWN) > 0:
        say(console, f"and {more} more: SELECT * FROM measurements JOIN verdicts ON verdict = name WHERE finding")


def _worst(group: FindingGroup) -> str:
    if group.worst_rho is None:
        return ""
    return f", worst rho {short(group.worst_rho)}, worst relative error {short(group.worst_relative)}"
