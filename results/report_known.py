"""`ulpfuzz findings`: the findings of a campaign as a list, new ones first, and as JSON."""

from __future__ import annotations

import json
import math
import shlex
from typing import TYPE_CHECKING, Any

from rich.console import Console

from results.fail_on import Decision
from results.findings import FindingGroup
from results.known import Sorted
from results.layout import count, heading, say, short
from results.report_findings import command, often, print_known, print_shrunk
from results.shrunk import summary
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results


def print_list(results: Results, found: Sorted, decision: Decision, console: Console) -> None:
    """Every finding: id and title, how often and how badly, what repeats it; then the known ones; then the outcome."""
    directory = shlex.quote(str(results.directories[0]))
    name = "New findings" if found.path else "Findings"
    heading(console, f"{name} ({count(len(found.new))})" if found.new else f"{name}: none")
    before = None
    for group in found.new:
        if group.verdict != before:
            say(console, f"{group.verdict}: the result {VERDICTS[group.verdict].sentence}", indent=0)
            before = group.verdict
        say(console, f"{group.id}  {group.title}", style="red")
        say(console, f"{often(group, interval=True)}{_worst(group)}{versions(group)}", indent=4)
        if group.detail:
            say(console, group.detail, indent=4)
        print_shrunk(group, results.directories[0], console, indent=4)
        say(console, command(group, directory), indent=4)
    print_known(found, console)
    console.print()
    say(console, f"{'fails' if decision.failed else 'passes'}: {decision.why}", indent=0)


def findings_json(results: Results, found: Sorted, decision: Decision) -> str:
    """One object: directory, failed, why, findings (the columns of findings.parquet and `known`), notes."""
    plain = {
        "directory": str(results.directories[0]),
        "failed": decision.failed,
        "why": decision.why,
        "findings": [
            *(_plain(results, group, None) for group in found.new),
            *(
                _plain(results, group, {"entry": e.number, "reason": e.reason, "link": e.link})
                for group, e in found.known
            ),
        ],
        "notes": list(found.notes),
    }
    return json.dumps(plain, indent=1, allow_nan=False)


def _plain(results: Results, group: FindingGroup, known: dict[str, Any] | None) -> dict[str, Any]:
    rate = group.rate
    return {
        "id": group.id,
        **group.signature,
        "target": group.target,
        "provenance": group.provenance,
        "variants": group.variants,
        "title": group.title,
        "trials": group.trials,
        "of_trials": group.of_trials,
        "not_run": group.not_run,
        "rate_low": rate.low if rate else None,
        "rate_high": rate.high if rate else None,
        "trial": group.trial,
        "worst_rho": _number(group.worst_rho),
        "worst_relative": _number(group.worst_relative),
        "worst_ulp": _number(group.worst_ulp),
        "detail": group.detail,
        "environments": list(group.environments),
        "versions": {name: list(found) for name, found in group.versions},
        "shrunk": summary(results.directories[0], group.id) or None,
        "known": known,
    }


def _number(value: float | None) -> float | str | None:
    """JSON has no infinity and no NaN: they are strings, as in canonical JSON elsewhere."""
    return value if value is None or math.isfinite(value) else str(value)


def _worst(group: FindingGroup) -> str:
    if group.worst_rho is None:
        return ""
    ulp = f", {short(group.worst_ulp)} ulp" if group.worst_ulp is not None else ""
    return f"; worst: rho {short(group.worst_rho)}, relative error {short(group.worst_relative)}{ulp}"


def versions(group: FindingGroup) -> str:
    """First and last version of the library, first and last environment."""
    told = [f"{name} {' to '.join(_ends(found))}" for name, found in group.versions]
    if group.environments:
        told.append(f"environment {' to '.join(name[:12] for name in _ends(group.environments))}")
    return f"; {', '.join(told)}" if told else ""


def _ends(values: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys((values[0], values[-1])))
