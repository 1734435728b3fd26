"""Findings with what they were shrunk to, the commands that repeat them and, where there is one, a script."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from results.findings import FindingGroup, composed_findings, findings
from results.report_findings import often, worst
from results.report_known import versions
from results.shrunk import summary
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.known import Sorted
    from results.reading import Results

SHOWN = 100


class Script(Struct, frozen=True):
    """The text of a stand-alone script, or why there is none."""

    text: str = ""
    why_not: str = ""


class Item(Struct, frozen=True):
    """One finding, ready to be written down."""

    id: str
    title: str
    verdict: str
    sentence: str
    """What the verdict means."""
    often: str
    """Trials, interval where the plan has one, worst errors, versions."""
    detail: str
    shrunk: str
    repeat: str
    """The command that shows the worst trial."""
    write: str
    """The command that writes a script, and runs it once."""
    script: Script
    known: str = ""
    """Why it is no news."""
    composed: bool = False


class Found(Struct, frozen=True):
    """Findings new, known and composed; `more` are left out. `notes` are about the file of known findings."""

    new: tuple[Item, ...]
    known: tuple[Item, ...]
    composed: tuple[Item, ...]
    more: int
    notes: tuple[str, ...]
    by_file: bool
    """Whether a file of known findings was looked at."""


def found(results: Results, known: Sorted | None = None, scripts: Mapping[str, Script] | None = None) -> Found:
    """All findings of a campaign, the most severe first. `scripts` are the texts by id of a finding."""
    texts = scripts or {}
    fresh = list(known.new) if known else findings(results)
    expected = [(group, f"{entry.name}: {entry.said}") for group, entry in known.known] if known else []
    composed = composed_findings(results)
    more = sum(max(0, len(some) - SHOWN) for some in (fresh, expected, composed))
    return Found(
        tuple(_item(results, group, texts) for group in fresh[:SHOWN]),
        tuple(_item(results, group, texts, why) for group, why in expected[:SHOWN]),
        tuple(_item(results, group, texts) for group in composed[:SHOWN]),
        more,
        tuple(known.notes) if known else (),
        bool(known and known.path),
    )


def _item(results: Results, group: FindingGroup, scripts: Mapping[str, Script], known: str = "") -> Item:
    directory = results.directories[0]
    place = shlex.quote(str(directory))
    under = f" under {group.variants}" if group.variants else ""
    return Item(
        id=group.id,
        title=f"{group.subject}{group.where}{under}",
        verdict=group.verdict,
        sentence=f"the result {VERDICTS[group.verdict].sentence}",
        often=f"{often(group, interval=True)}{worst(group)}{versions(group)}",
        detail=group.detail,
        shrunk=summary(directory, group.id),
        repeat=f"ulpfuzz repro {place} {shlex.quote(group.trial)}",
        write=f"ulpfuzz repro {place} {group.id} --script {group.operator}.py",
        script=scripts.get(group.id, Script()),
        known=known,
        composed=group.provenance == "composed",
    )
