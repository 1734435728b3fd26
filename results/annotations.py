"""Findings as annotations of a GitHub workflow: lines on standard output that the runner turns into notes.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions: `::error title=...::message`. A new
finding is an error, a known one a warning, an entry of the known file that says nothing any more a notice.
"""

from __future__ import annotations

from collections.abc import Iterator

from results.findings import FindingGroup
from results.known import Sorted
from results.report_findings import command, often, worst
from results.verdicts import VERDICTS
from results.visible import visible_lines


def workflow_lines(found: Sorted, directory: str) -> Iterator[str]:
    """One line a finding, the new ones first; `directory` is for the commands in them."""
    for group in found.new:
        text = f"The result {VERDICTS[group.verdict].sentence}.\n{_figures(group)}\n{group.detail}"
        yield annotation("error", group.title, f"{text}\n{command(group, directory)}")
    for group, entry in found.known:
        yield annotation("warning", f"known: {group.title}", f"{entry.said}\n{_figures(group)}")
    for note in found.notes:
        yield annotation("notice", "known findings", note)


def annotation(level: str, title: str, message: str) -> str:
    """One workflow command, escaped as the runner reads it: %, CR and LF everywhere, colon and comma in the title."""
    return f"::{level} title={_data(title).replace(':', '%3A').replace(',', '%2C')}::{_data(message)}"


def _data(text: str) -> str:
    return visible_lines(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _figures(group: FindingGroup) -> str:
    return f"{often(group, interval=True)}{worst(group)}"
