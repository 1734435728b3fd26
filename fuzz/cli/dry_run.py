"""`run --dry-run`: what a campaign would run, how long it would take and how large it would become."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs
from rich.console import Console

from fuzz.campaigns import duration
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.drawing import DRAWN, SEARCH, SURVEY
from fuzz.campaigns.manifest import Manifest, manifest_of
from fuzz.campaigns.run import SHARD_SECONDS, Settings, supervisor_of
from fuzz.campaigns.spec import Resolved
from fuzz.campaigns.written import problems_from_plain
from fuzz.plan import Shard
from fuzz.workers.handover import OnFound
from fuzz.workers.job import Job
from fuzz.workers.supervisor import Finished, Supervisor
from results.columns import COLUMNS, ELEMENT_COLUMNS
from results.layout import count, heading, say, table
from results.parts import encode
from results.until import question

TRIALS, SECONDS = 64, 1.5
"""At most so many trials of a group, for so long."""
SAMPLED = 8
"""Groups of the plan that are tried; the others are taken to cost the same."""
SEARCHED = 2
"""The same of a search, whose islands take long."""
_ROWS_SHOWN = 12
MOST_SMALL = 256
"""Small files there are at a time: more are merged."""
_AT = {column.name: position for position, column in enumerate(COLUMNS)}
_PROBLEM, _INDEX = _AT["problem_id"], _AT["index"]


class Cost(Struct, frozen=True):
    """Of one group, as measured: seconds for its first trial beyond those of a later one, and for each; bytes each."""

    setup: float
    each: float
    size: float


def dry_run(resolved: Resolved, extensions: Sequence[Path], settings: Settings, console: Console) -> None:
    """Print the plan and the estimates. A few trials run in a temporary folder; nothing of them is kept."""
    manifest = manifest_of(resolved, settings.shard_trials)
    _print_plan(manifest, console)
    with tempfile.TemporaryDirectory(prefix="ulpfuzz-") as folder:
        trials = _block(manifest) if manifest.plan == SEARCH else TRIALS
        few = structs.replace(resolved, ends=structs.replace(resolved.ends, trials=trials))
        size = None if manifest.plan == SEARCH else TRIALS
        campaign = Campaign.create(few, Path(folder) / "pilot", extensions, size)
        try:
            costs = _measured(campaign, settings)
        finally:
            campaign.directory.unlock()
    _print_estimates(manifest, settings, costs, console)


def _block(manifest: Manifest) -> int:
    """Trials a shard of a plan that draws its problems."""
    return DRAWN[manifest.plan].size(max(len(group.targets) for group in manifest.survey))


def _measured(campaign: Campaign, settings: Settings) -> list[Cost]:
    """The costs of a sample of groups, spread over the plan."""
    groups, searching = campaign.agenda.groups, campaign.manifest.plan == SEARCH
    sampled = SEARCHED if searching else SAMPLED
    chosen = sorted({number * groups // sampled for number in range(sampled)} if groups > sampled else range(groups))
    repeated = campaign.manifest.plan not in (SURVEY, SEARCH)

    def found(number: int, plain: list[Any]) -> Shard:
        return campaign.agenda.filled(number, problems_from_plain(plain))

    def measure(number: int) -> Cost:
        seconds = math.inf if searching else SECONDS
        return _measure(supervisor, campaign.agenda.shard(number), repeated, seconds, found)

    with supervisor_of(campaign, structs.replace(settings, workers=1)) as supervisor:
        if not searching:
            measure(0)  # the worker has to start
        return [measure(number) for number in chosen]


def _measure(supervisor: Supervisor, shard: Shard, repeated: bool, seconds: float, found: OnFound) -> Cost:
    """Run a shard for some seconds. `repeated`: its trials share one problem, which the first one compiles."""
    ran: list[Finished] = []
    started, begun = time.monotonic(), math.inf

    def arrived(trials: int, rows: object) -> None:
        nonlocal begun
        begun = min(begun, time.monotonic())

    supervisor.run(iter([Job(shard)]), ran.append, arrived, lambda: time.monotonic() - begun > seconds, found)
    wall, done = time.monotonic() - started, ran[-1]
    trials = done.position
    each = wall / trials
    if repeated and trials > 1:
        each = done.spent.each or each
    return Cost(max(0.0, wall - each * trials), each, _growth(done, trials))


def _growth(done: Finished, trials: int) -> float:
    """Bytes by which a file grows with a trial: those of all trials against those of the first half."""
    half = max(1, trials // 2) if trials > 1 else 0
    seen = {(row[_PROBLEM], row[_INDEX]): None for row in done.rows}
    first = set(list(seen)[:half])
    size = _size_of(done.rows, done.elements)
    rows = [row for row in done.rows if (row[_PROBLEM], row[_INDEX]) in first]
    elements = done.elements[: len(done.elements) * half // trials]
    return max(0, size - _size_of(rows, elements)) / (trials - half)


def _size_of(rows: Sequence[Sequence[Any]], elements: Sequence[Sequence[Any]]) -> int:
    return len(encode(rows, COLUMNS, [0])) + len(encode(elements, ELEMENT_COLUMNS, [0]))


def _print_plan(manifest: Manifest, console: Console) -> None:
    heading(console, manifest.title or "Plan")
    what = "problems" if manifest.plan not in DRAWN else "operators, whose problems are drawn"
    say(console, f"plan {manifest.plan}, seed {manifest.seed}: {count(len(manifest.groups))} {what}")
    rows = []
    for cell in manifest.cells[:_ROWS_SHOWN]:
        problem = cell.cell().problem
        dims = ",".join(f"{name}={size}" for name, size in problem.dims)
        rows.append(
            (problem.operator, problem.home, dims, "; ".join(map(str, problem.recipes)), str(len(cell.targets)))
        )
    for group in manifest.survey[:_ROWS_SHOWN]:
        rows.append((group.operator, group.home, "drawn", "drawn", str(len(group.targets))))
    table(console, ("operator", "dtype", "sizes", "inputs", "targets"), rows, words=4)
    if (more := len(manifest.groups) - _ROWS_SHOWN) > 0:
        say(console, f"... and {count(more)} more")
    say(console, f"targets: {', '.join(manifest.targets)}")
    if manifest.variants:
        say(console, f"each also under: {', '.join(manifest.variants)}")
    for line in manifest.skipped:
        say(console, f"skipped: {line}")


def _print_estimates(manifest: Manifest, settings: Settings, costs: Sequence[Cost], console: Console) -> None:
    heading(console, "Estimates")
    groups, workers = len(manifest.groups), settings.workers
    mean = Cost(*(sum(getattr(cost, name) for cost in costs) / len(costs) for name in ("setup", "each", "size")))
    trials, total = manifest.trials, manifest.total
    busy = math.inf if trials is None else groups * (mean.setup + mean.each * trials)
    wall = busy / min(workers, groups if trials == 1 else workers)
    most = "about"
    if asked := question(manifest.plain()):
        most = "at most"
        say(console, f"ends when the rate of `{asked.event}` is known to lie above or below {asked.threshold:.3g}")
    if manifest.seconds is not None:
        say(console, f"ends after {duration.text(manifest.seconds)} at the latest")
        wall = min(wall, manifest.seconds)
    if total is None or wall < busy / workers:
        each = mean.each + (mean.setup / trials if trials else 0.0)
        total = int(wall * workers / each) if total is None else min(total, int(wall * workers / each))
        say(console, f"{most} {count(total)} trials")
    else:
        say(
            console,
            ("at most " if asked else "")
            + f"{count(total)} trials"
            + ("" if trials is None else f" ({count(trials)} of each)"),
        )
    processes = f"{workers} worker{'s' if workers > 1 else ''}"
    say(
        console,
        f"{most} {duration.text(wall)} with {processes} ({1e3 * mean.each:.3g} ms a trial, {mean.setup:.2g} s to "
        "compile a problem), besides starting and the report",
    )
    shards = total / _block(manifest) if manifest.plan in DRAWN else max(1, wall / SHARD_SECONDS[0])
    shards = min(shards, MOST_SMALL)
    say(console, f"{most} {_size(total * mean.size + shards * _size_of([], []))} on disk")
    if len(costs) < groups:
        say(console, f"measured on {len(costs)} of {groups} groups")


def _size(value: float) -> str:
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
