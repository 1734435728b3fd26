"""A snapshot as lines for a terminal of any size, and as one plain line. Pure: the same for a run and for `watch`.

Every line is cut to the width, nothing wraps: a wrapped line would leave pieces behind when the next view replaces it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from fuzz.campaigns import duration
from fuzz.campaigns.snapshot import FindingCount, Snapshot, TargetCounts, WorkerState, legible
from results.layout import percent, short
from results.statistics.sequential import confidence_limits
from results.visible import visible

MARGIN = 4
"""Columns left free at the right, where the terminal echoes ^C: a full line would wrap and leave a piece behind."""
BUSY_SECONDS = 5.0
"""A worker that is at one thing for longer is worth a word."""
MOST_WORKERS = 4
"""With more workers only a summary and those that are at something for long are shown."""
WIDEST_BAR = 76
"""So that nothing of it stays behind when the terminal is made narrower."""
SCARCE_BYTES = 1_000_000_000
_GAP = "  "
_EVENTS = ("above_1e01", "above_1e02", "flagged")
_HEADINGS = ("> 1e-1", "> 1e-2", "flagged")
_REPLACED = {
    "worker_died": "died",
    "timed_out": "timed out",
    "killed_for_memory": "out of memory",
    "recycled": "recycled",
}

Cells = tuple[str, ...]


def view(snapshot: Snapshot, width: int, height: int, note: str = "") -> RenderableType:
    """The campaign on a terminal of `width` columns and `height` lines. `note` is printed below it."""
    snapshot = legible(snapshot)
    room = width - MARGIN
    top: list[RenderableType] = [_cut(Text(headline(snapshot, room), style="bold"), room)]
    bar = _bar(snapshot, room)
    if bar is not None:
        top.append(bar)
    top.append(_cut(Text(status(snapshot)), room))
    below = [_cut(Text(visible(note), style="bold yellow"), room)] if note else []
    targets = _targets(snapshot, room)
    findings = _findings(snapshot)
    workers = _workers(snapshot)
    left = max(height - 1 - len(top) - len(below), 3)
    sections = _fitted([targets, findings, workers], left)
    middle: list[RenderableType] = []
    for lines in sections:
        if lines:
            middle += [Text(), *(_cut(line, room) for line in lines)]
    return Group(*top, *middle, *below)


def headline(snapshot: Snapshot, room: int | None = None) -> str:
    """What runs, until when, and for how long already; a long title is cut."""
    budget = f", {snapshot.budget}" if snapshot.budget else ""
    rest = f" ({snapshot.plan} plan{budget})"
    if snapshot.elapsed is not None:
        rest += f", {'ran' if snapshot.ended else 'running'} for {duration.text(snapshot.elapsed)}"
    title = Text(snapshot.title)
    title.truncate(max(10, (room or 10_000) - len(rest)), overflow="ellipsis")
    return title.plain + rest


def status(snapshot: Snapshot) -> str:
    """How far it is."""
    done, total = snapshot.done, snapshot.total
    trials = f"{done:,} trials" if total is None else f"{done:,} of {total:,} trials"
    parts = [trials]
    if snapshot.ended:
        parts.append(f"ended: {snapshot.ended}")
    elif snapshot.elapsed is not None:
        parts.append(speed_text(snapshot))
        if snapshot.eta is not None and snapshot.speed is not None:
            parts.append(f"{duration.text(snapshot.eta)} left")
    return ", ".join(parts)


def speed_text(snapshot: Snapshot) -> str:
    """Trials a second, or why there are none yet."""
    if snapshot.speed is None:
        starting = not snapshot.workers or any(worker.state == "starting" for worker in snapshot.workers)
        return "starting workers" if starting else "measuring speed"
    return f"{snapshot.speed:,.0f} trials/s" if snapshot.speed >= 10 else f"{snapshot.speed:.2g} trials/s"


def plain(snapshot: Snapshot) -> str:
    """One line without anything that moves."""
    snapshot = legible(snapshot)
    done = f"{snapshot.done}" if snapshot.total is None else f"{snapshot.done}/{snapshot.total}"
    if snapshot.elapsed is None:
        state = snapshot.ended or "running time not known"
    elif snapshot.ended or (snapshot.total is not None and snapshot.done >= snapshot.total):
        state = f"{snapshot.ended or 'done'} in {duration.text(snapshot.elapsed)}"
    else:
        left = f", {duration.text(snapshot.eta)} left" if snapshot.eta is not None and snapshot.speed else ""
        state = f"{speed_text(snapshot)}{left}"
    counts = "; ".join(_plain_counts(of) for of in snapshot.targets)
    total = snapshot.findings_total
    found = f"; {total} finding{'' if total == 1 else 's'}" if total else ""
    stuck = "".join(f"; {_doing(worker)}" for worker in _stuck(snapshot)[:1])
    return f"{done} trials, {state}; {counts}{found}{stuck}"


def _plain_counts(of: TargetCounts) -> str:
    failed = "".join(f" {count} {verdict}" for verdict, count in of.failures)
    return f"{of.target} {of.above_1e01}>1e-1 {of.above_1e02}>1e-2 {of.flagged} flagged{failed}"


def _bar(snapshot: Snapshot, room: int) -> RenderableType | None:
    """Of the trials, or of the time where only time ends the campaign."""
    width = min(room, WIDEST_BAR)
    if snapshot.total:
        bar = ProgressBar(snapshot.total, min(snapshot.done, snapshot.total), width=width)
    elif snapshot.eta is not None and snapshot.elapsed is not None:
        bar = ProgressBar(snapshot.elapsed + snapshot.eta or 1.0, snapshot.elapsed, width=width)
    else:
        return None
    return Padding(bar, 0, expand=False)


def _targets(snapshot: Snapshot, room: int) -> list[Text]:
    """The table of targets, in the richest of its forms that fits."""
    if not snapshot.targets:
        return []
    wide, lean, tall = _forms(snapshot)
    rows = next((rows for rows in (wide, lean) if len(_GAP.join(_padded(rows)[0])) <= room), tall)
    lines = [Text(_GAP.join(cells).rstrip()) for cells in _padded(rows)]
    if rows is tall:
        lines += [Text(f"{of.target} failed: {_failures(of)}") for of in snapshot.targets if of.failures]
    lines[0].stylize("bold")
    if not any(of.measured for of in snapshot.targets):
        return lines
    if snapshot.one_rate:
        lines.append(Text("In brackets: 95 % interval in per cent, valid at every look.", style="dim"))
    else:
        lines.append(Text("Of several problems together: shares, no rates, so without intervals.", style="dim"))
    return lines


def _forms(snapshot: Snapshot) -> tuple[list[Cells], list[Cells], list[Cells]]:
    """The table in one line a target; without counts; in two lines a target; each with its heading."""
    ranges = _intervals(snapshot)
    wide: list[Cells] = [("target", "trials", *_HEADINGS, *_failure_heading(snapshot))]
    lean: list[Cells] = [("target", *(f"{name}, %" for name in _HEADINGS), *_failure_heading(snapshot))]
    tall: list[Cells] = [("target", "trials", *_HEADINGS)]
    for of, brackets in zip(snapshot.targets, ranges, strict=True):
        counts = [int(getattr(of, name)) for name in _EVENTS]
        shares = [percent(k / of.measured) if of.measured else "-" for k in counts]
        full = [f"{k:,} = {share} %" if of.measured else "-" for k, share in zip(counts, shares, strict=True)]
        failed = (_failures(of),) if _failure_heading(snapshot) else ()
        trials = f"{of.trials:,}"
        wide.append((of.target, trials, *map(_joined, full, brackets), *failed))
        lean.append((of.target, *map(_joined, shares, brackets), *failed))
        tall.append((of.target, trials, *full))
        if any(brackets):
            tall.append(("", "", *brackets))
    return wide, lean, tall


def _joined(one: str, two: str) -> str:
    return f"{one} {two}" if two else one


def _failure_heading(snapshot: Snapshot) -> Cells:
    return ("failed",) if any(of.failures for of in snapshot.targets) else ()


def _failures(of: TargetCounts) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in of.failures)


def _intervals(snapshot: Snapshot) -> list[list[str]]:
    """Brackets by target and event; empty where the counts are no rate of anything."""
    empty = [[""] * len(_EVENTS) for _ in snapshot.targets]
    if not snapshot.one_rate:
        return empty
    counts = np.array([[getattr(of, name) for name in _EVENTS] for of in snapshot.targets])
    low, high = confidence_limits(counts, np.array([[of.measured] for of in snapshot.targets]))
    return [
        [f"[{_end(a)}, {_end(b)}]" if of.measured else "" for a, b in zip(*ends, strict=True)]
        for of, *ends in zip(snapshot.targets, low.tolist(), high.tolist(), strict=True)
    ]


def _end(value: float) -> str:
    """An end of an interval in per cent: two digits of it, or of what lacks to 100."""
    if not 0.99 < value < 1:
        return percent(value)
    digits = len(percent(1 - value).partition(".")[2])
    return f"{100 * value:.{digits}f}"


def _padded(rows: Sequence[Cells]) -> list[Cells]:
    """Columns of equal width: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        tuple(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _findings(snapshot: Snapshot) -> list[Text]:
    if not snapshot.findings:
        return []
    lines = [Text(f"Findings so far ({snapshot.findings_total})", style="bold")]
    lines += [Text.assemble(_GAP, (f.verdict, "red"), _finding_text(f)) for f in snapshot.findings]
    return lines


def _finding_text(finding: FindingCount) -> str:
    rho = f", largest rho {short(finding.worst_rho)}" if finding.worst_rho is not None else ""
    trials = _several(finding.trials, "trial")
    return f": {finding.target} {finding.operator}, {trials}{rho} ({finding.trial})"


def _workers(snapshot: Snapshot) -> list[Text]:
    """A summary, and each worker where they are few, else those that have been at one thing for long."""
    if not snapshot.workers or snapshot.ended:
        return []
    shown = list(snapshot.workers) if len(snapshot.workers) <= MOST_WORKERS else _stuck(snapshot)[:MOST_WORKERS]
    replaced = _replaced(snapshot)
    return [
        _summary(snapshot),
        *([Text(_GAP + replaced)] if replaced else []),
        *(Text(_GAP + _doing(w)) for w in shown),
    ]


def _summary(snapshot: Snapshot) -> Text:
    memory = sum(worker.rss_mib for worker in snapshot.workers)
    text = Text(f"{_several(len(snapshot.workers), 'worker')}, {memory:,.0f} MiB", style="bold")
    if snapshot.free_bytes is not None:
        style = "bold red" if snapshot.free_bytes < SCARCE_BYTES else "bold"
        text.append(f"; disk {snapshot.free_bytes / 1e9:,.1f} GB free", style)
    return text


def _replaced(snapshot: Snapshot) -> str:
    by_cause = [f"{count:,} {_REPLACED.get(kind, kind)}" for kind, count in snapshot.restarts]
    parts = [f"replaced: {', '.join(by_cause)}"] if by_cause else []
    if snapshot.quarantined:
        parts.append(f"{_several(snapshot.quarantined, 'target')} quarantined")
    return "; ".join(parts)


def _several(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _stuck(snapshot: Snapshot) -> list[WorkerState]:
    """Those that have been at one thing for long, the longest first."""
    if snapshot.ended:
        return []
    long = [worker for worker in snapshot.workers if worker.state != "idle" and worker.call_seconds > BUSY_SECONDS]
    return sorted(long, key=lambda worker: -worker.call_seconds)


def _doing(worker: WorkerState) -> str:
    words = [f"{worker.name} {worker.rss_mib:,.0f} MiB {worker.state}"]
    if worker.trial:
        words.append(worker.trial)
    if worker.target:
        words.append(f"{worker.target} {worker.stage}".rstrip())
    if worker.state != "idle" and worker.call_seconds > BUSY_SECONDS:
        words.append(f"for {duration.text(worker.call_seconds)}")
    return ", ".join(words)


def _fitted(sections: Sequence[list[Text]], room: int) -> list[list[Text]]:
    """Sections cut to so many lines together, each with an empty one before it; targets are cut last."""
    targets, findings, workers = (list(section) for section in sections)

    def excess() -> int:
        return sum(len(section) + 1 for section in (targets, findings, workers) if section) - room

    findings = _shortened(findings, max(len(findings) - max(excess(), 0), 2))
    workers = workers[: max(len(workers) - max(excess(), 0), 1)]
    if excess() > 0:
        targets = _shortened(targets, max(len(targets) - excess(), 3))
    if excess() > 0:
        workers = []
    if excess() > 0:
        findings = []
    return [targets, findings, workers]


def _shortened(lines: list[Text], most: int) -> list[Text]:
    """At most so many lines, the last of them saying how many are left out."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], Text(f"{_GAP}... and {len(lines) - most + 1} more lines", style="dim")]


def _cut(line: Text, room: int) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    line.truncate(room, overflow="ellipsis")
    return line


def lines_of(snapshot: Snapshot, width: int) -> Iterator[str]:
    """The view without bar and colour, of any height, for a pipe or to stay on the screen."""
    snapshot = legible(snapshot)
    yield headline(snapshot)
    yield status(snapshot)
    for section in (_targets(snapshot, width), _findings(snapshot), _workers(snapshot)):
        if section:
            yield ""
            yield from (line.plain for line in section)
