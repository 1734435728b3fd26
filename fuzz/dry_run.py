"""`run --dry-run`: what a campaign would run, how long it would take and how large it would become."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs
from rich.console import Console

from fuzz import duration
from fuzz.campaign import Campaign
from fuzz.job import Job
from fuzz.manifest import Manifest, manifest_of
from fuzz.plan import Shard
from fuzz.run import PILOT_TRIALS, Settings, supervisor_of
from fuzz.spec import Resolved
from fuzz.supervisor import Finished
from results.columns import COLUMNS, ELEMENT_COLUMNS
from results.layout import count, heading, say, table
from results.parts import encode
from results.until import question

SAMPLED = 8
"""Groups of the plan that are tried; the others are taken to cost the same."""
_ROWS_SHOWN = 12


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
        few = structs.replace(resolved, ends=structs.replace(resolved.ends, trials=PILOT_TRIALS))
        campaign = Campaign.create(few, Path(folder) / "pilot", extensions, PILOT_TRIALS)
        try:
            costs = _measured(campaign, settings)
        finally:
            campaign.directory.unlock()
    _print_estimates(manifest, settings, costs, console)


def _measured(campaign: Campaign, settings: Settings) -> list[Cost]:
    """The costs of a sample of groups, spread over the plan."""
    costs: list[Cost] = []
    groups = campaign.agenda.groups
    chosen = sorted({number * groups // SAMPLED for number in range(SAMPLED)} if groups > SAMPLED else range(groups))
    started = time.monotonic()
    sampled = campaign.manifest.plan == "fixed"

    def finished(done: Finished) -> None:
        nonlocal started
        wall, trials = time.monotonic() - started, done.shard.trials
        each = done.seconds_per_trial if sampled and trials > 1 else wall / trials
        size = len(encode(done.rows, COLUMNS, [0])) + len(encode(done.elements, ELEMENT_COLUMNS, [0]))
        empty = len(encode([], COLUMNS, [0])) + len(encode([], ELEMENT_COLUMNS, [0]))
        costs.append(Cost(max(0.0, wall - each * trials), each, max(0, size - empty) / trials))
        started = time.monotonic()

    with supervisor_of(campaign, structs.replace(settings, workers=1)) as supervisor:
        supervisor.run(iter([Job(Shard(0, campaign.agenda.shard(0).pieces))]), finished, lambda trials, rows: None)
        costs.clear()  # the worker had to start
        started = time.monotonic()
        supervisor.run((Job(campaign.agenda.shard(number)) for number in chosen), finished, lambda trials, rows: None)
    return costs


def _print_plan(manifest: Manifest, console: Console) -> None:
    heading(console, manifest.title or "Plan")
    what = "problems" if manifest.plan == "fixed" else "operators, whose problems are drawn"
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
    for line in manifest.skipped:
        say(console, f"skipped: {line}")


def _print_estimates(manifest: Manifest, settings: Settings, costs: Sequence[Cost], console: Console) -> None:
    heading(console, "Estimates")
    groups, workers = len(manifest.groups), settings.workers
    mean = Cost(*(sum(getattr(cost, name) for cost in costs) / len(costs) for name in ("setup", "each", "size")))
    trials, total = manifest.trials, manifest.total
    busy = math.inf if trials is None else groups * (mean.setup + mean.each * trials)
    wall = busy / min(workers, groups if trials == 1 else workers)
    if asked := question(manifest.plain()):
        say(console, f"ends when the rate of `{asked.event}` is known to lie above or below {asked.threshold:.3g}")
    if manifest.seconds is not None:
        say(console, f"ends after {duration.text(manifest.seconds)} at the latest")
        wall = min(wall, manifest.seconds)
    if total is None or wall < busy / workers:
        each = mean.each + (mean.setup / trials if trials else 0.0)
        total = int(wall * workers / each) if total is None else min(total, int(wall * workers / each))
        say(console, f"about {count(total)} trials")
    else:
        say(console, f"{count(total)} trials" + ("" if trials is None else f" ({count(trials)} of each)"))
    processes = f"{workers} worker{'s' if workers > 1 else ''}"
    say(
        console,
        f"about {duration.text(wall)} with {processes} ({1e3 * mean.each:.3g} ms a trial, {mean.setup:.2g} s to "
        f"compile a problem), besides starting and the report",
    )
    say(console, f"about {_size(total * mean.size)} on disk")
    if len(costs) < groups:
        say(console, f"measured on {len(costs)} of {groups} groups")


def _size(value: float) -> str:
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"
