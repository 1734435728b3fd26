"""What the commands do: read the request, run the campaign, print the report, choose the exit code."""

from __future__ import annotations

import math
import re
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from fuzz.campaigns import duration
from fuzz.campaigns.budget import OVER
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.directory import CampaignDirectory, default_directory
from fuzz.campaigns.log import elapsed
from fuzz.campaigns.request import CampaignSpec, ProblemSpec, Published
from fuzz.campaigns.run import Run, Settings
from fuzz.campaigns.spec import read_toml, resolve
from fuzz.cli import template
from fuzz.cli.finding_commands import NEW, asked_for
from fuzz.cli.progress import display
from fuzz.errors import FOUND, InternalError, Interrupted, TextError, UserError
from fuzz.extensions import load_entry_points, load_extension
from fuzz.say import say, tell
from fuzz.shrinking.budget import after_run
from fuzz.targets import split_targets
from fuzz.terminal import console
from fuzz.workers.supervisor import Limits
from results.known import read_known
from results.manifest import MORE_TIME, resume_command
from strategies.contract import Scalar
from strategies.expressions import RecipeError, split_input

Value = TypeVar("Value")


class Told(Struct, frozen=True):
    """Who is told of the findings besides the reader of the report."""

    junit: Path | None = None
    """File to write."""
    github: bool = False
    """Whether annotations are printed."""


NOTHING_MORE = Told()


def settings(
    workers: int, call: float, compile_: float, memory: float | None = None, shard_trials: int | None = None
) -> Settings:
    if math.isnan(call) or math.isnan(compile_):
        raise UserError("a time limit of nan seconds: use a number, or inf for none")
    return Settings(workers, Limits(call, compile_, memory), shard_trials)


def run(
    *,
    what: Sequence[str],
    recipes: str | None,
    gradients: bool,
    dims: Sequence[str],
    inputs: Sequence[str],
    attributes: Sequence[str],
    dtypes: Sequence[str],
    targets: str | None,
    pairs: Sequence[str],
    options: int | None,
    schedules: int | None,
    meta_schedules: int | None,
    unsafe_schedules: int | None,
    evaluations: int | None,
    plan: str | None,
    trials: int | None,
    seed: int | None,
    published: str | None,
    time: str | None,
    until: str | None,
    fail_on: str | None,
    known: Path | None,
    out: Path | None,
    extensions: Sequence[Path],
    dry_run: bool,
    told: Told,
    settings: Settings,
    shrink: str | None = "0s",
    variants: str | None = None,
) -> int:
    """Create a campaign, run it, report. The exit code is 1 when the findings fail it (`fail_on`)."""
    after_run(shrink, 0.0)  # a mistake in it is said before anything runs
    spec, base, files = _request(what, recipes, dims, inputs, attributes)
    known = known or (base / spec.known if spec.known else None)
    if known is not None:
        read_known(known)
    changes = {
        "dtypes": tuple(dtypes),
        "targets": tuple(split_targets(targets)) if targets is not None else (),
        "pairs": tuple(_pair(text) for text in pairs),
        "variants": tuple(split_targets(variants)) if variants is not None else (),
        "options": options,
        "schedules": schedules,
        "meta_schedules": meta_schedules,
        "unsafe_schedules": unsafe_schedules,
        "evaluations": evaluations,
        "plan": plan,
        "trials": trials,
        "seed": seed,
        "time": time,
        "until": until,
        "fail_on": fail_on,
        "gradients": gradients or None,
    }
    if targets is not None and not changes["targets"]:
        raise UserError("--targets names no target: write some, e.g. --targets torch,tvm, or leave it out for all")
    if variants is not None and not changes["variants"]:
        raise UserError("--variants names none: write some, e.g. --variants batch,repeat, or all; or leave it out")
    spec = structs.replace(spec, **{key: value for key, value in changes.items() if value not in (None, ())})
    if published is not None:
        pair = spec.pairs[0] if len(spec.pairs) == 1 else None
        spec = structs.replace(spec, published=Published(published, pair))
    load_entry_points()
    sources = [*files, *extensions]
    for source in sources:
        load_extension(source)
    resolved = resolve(spec, base)
    for line in resolved.skipped:
        tell(f"skipped: {line}")
    if dry_run:
        from fuzz.cli.dry_run import dry_run as estimate

        estimate(resolved, sources, settings, console())
        return 0
    path = out or default_directory(_name(what))
    with _interruptible(path):
        campaign = Campaign.create(resolved, path, sources, settings.shard_trials, known)
        _compute(campaign, settings, shrink)
    return _reported(path, told)


def resume(directory: Path, time: str | None, told: Told, settings: Settings, shrink: str | None = "0s") -> int:
    """Run what is missing, then report. Damaged files are named and computed again."""
    after_run(shrink, 0.0)
    load_entry_points()
    more = None if time is None else duration.seconds(time)
    with _interruptible(directory):
        campaign = _opened(directory)
        if more is not None:
            campaign.allow(more)
        _compute(campaign, settings, shrink)
    return _reported(directory, told)


def _reported(directory: Path, told: Told) -> int:
    """`report` at the end of a run."""
    try:
        return report(directory, told)
    except KeyboardInterrupt:
        shown = f"`ulpfuzz report {shlex.quote(str(directory))}` shows what was found"
        raise Interrupted(f"interrupted: all trials are done, {shown}") from None


def report(directory: Path, told: Told = NOTHING_MORE) -> int:
    """Print the report of a campaign, finished or not.

    1 where its rule for failing says so, else 70 where the engine failed on a trial.
    """
    from fuzz.cli.finding_commands import checked, decide, publish
    from results.engine_failures import engine_failures
    from results.reading import open as open_results
    from results.report import report as print_report

    results = open_results(directory)
    asked, known = asked_for(directory)
    found, decision = decide(results, *checked(asked, known))
    publish(results, found, told.junit, told.github)
    print_report(results, console(), found)
    if known is not None or asked != NEW:
        tell(f"{'fails' if decision.failed else 'passes'}: {decision.why}")
    failures = engine_failures(results)
    if failures is not None:
        tell(f"ulpfuzz: {failures.line(shlex.quote(str(directory)))}")
    if decision.failed:
        return FOUND
    return 0 if failures is None else InternalError.exit_code


def findings(
    directory: Path, known: Path | None, fail_on: str | None, told: Told, as_json: bool, write_known: Path | None
) -> int:
    """List the findings. Without `known` and `fail_on` by what the campaign was started with."""
    from fuzz.cli.finding_commands import findings as list_findings

    asked, there = asked_for(directory)
    return list_findings(
        directory,
        known=known or there,
        junit=told.junit,
        github=told.github,
        fail_on=fail_on or asked,
        as_json=as_json,
        write_known=write_known,
    )


def compact(directory: Path) -> int:
    """Merge small parts, while nobody writes the campaign."""
    from results.compaction import compact as merge

    with _interruptible(directory):
        campaign = _opened(directory)
        with campaign.directory.unlocked_on_error():
            done = merge(directory, final=True, tick=campaign.directory.heartbeat)
        campaign.directory.unlock()
    print(done.line())
    return 0


def init(file: Path) -> int:
    """Write a campaign file."""
    template.write(file)
    say(f"wrote {file}: change it, then `ulpfuzz run {file}`; --dry-run shows what it would run")
    return 0


def doctor(extensions: Sequence[Path]) -> int:
    """Print the diagnosis of this machine; 0 when at least one backend works."""
    from fuzz.cli.doctor import diagnose, exit_code, print_doctor

    findings = diagnose(extensions)
    print_doctor(console(), findings)
    return exit_code(findings)


def _opened(directory: Path) -> Campaign:
    """The campaign, locked for writing; says whose it was and what is damaged."""
    campaign = Campaign.open(directory)
    if owner := campaign.directory.taken_over:
        tell(f"taken over from {owner}")
    for line in campaign.damaged:
        tell(line)
    return campaign


def _compute(campaign: Campaign, settings: Settings, shrink: str | None) -> None:
    """Run what is missing, then shrink the findings for as long as `shrink` says (None: a share of the run's time)."""
    path = campaign.directory.path
    tell(f"campaign: {path}")
    outcome = Run(campaign, settings, display).execute()
    if outcome.restarts:
        print(f"{outcome.restarts} worker processes ended and were replaced", file=sys.stderr)
    if outcome.effort:
        tell(outcome.effort)
    if outcome.interrupted:
        raise Interrupted(f"{outcome.reason}: {resume_command(path)} goes on where it stopped")
    from results.findings_file import write_findings
    from results.reading import open as open_results

    write_findings(open_results(path, verify=False), path)
    if outcome.reason:
        over = outcome.reason.endswith(OVER)
        tell(f"ended: {outcome.reason}" + (f"; {resume_command(path, MORE_TIME)} goes on" if over else ""))
    if seconds := after_run(shrink, elapsed(path)):
        from fuzz.shrinking.command import shrink_after_run

        try:
            shrink_after_run(campaign, seconds)
        except KeyboardInterrupt:
            where = shlex.quote(str(path))
            raise Interrupted(
                f"interrupted while shrinking: all trials are done, `ulpfuzz report {where}` shows them, "
                f"`ulpfuzz shrink {where}` goes on"
            ) from None


@contextmanager
def _interruptible(path: Path) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block in one line that says how to go on."""

    def terminate(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt:
        begun = CampaignDirectory(path).manifest_path.exists()
        hint = f"{resume_command(path)} goes on where it stopped" if begun else "nothing was computed yet"
        raise Interrupted(f"interrupted: {hint}") from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _request(
    what: Sequence[str], recipes: str | None, dims: Sequence[str], inputs: Sequence[str], attributes: Sequence[str]
) -> tuple[CampaignSpec, Path, tuple[Path, ...]]:
    if not what:
        raise UserError("Missing argument: name operators, a TOML file, or write `ulpfuzz run all --recipes standard`")
    files = [name for name in what if name.endswith(".toml")]
    if files:
        if len(what) > 1:
            raise UserError("name either one TOML file or operators, not both")
        if dims or inputs or attributes:
            raise UserError("--dims, --input and --attr belong to operators: write them into the TOML file")
        if recipes is not None:
            raise UserError("--recipes goes with operators: a TOML file names the recipes of its inputs itself")
        spec, extensions = read_toml(Path(files[0]))
        return spec, Path(files[0]).parent, extensions
    sizes = _once("dim", (_size(item) for text in dims for item in text.split(",")))
    given = _once("input", (_input(text) for text in inputs))
    values = _once("attribute", (_attribute(item) for text in attributes for item in text.split(",")))
    problems = tuple(ProblemSpec(name, sizes, values, given) for name in what)
    return CampaignSpec(problems=problems, recipes=recipes), Path(), ()


def _once(kind: str, items: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """The items by name; UserError when a name comes twice: one of them would be ignored."""
    found: dict[str, Value] = {}
    for name, value in items:
        if name in found:
            raise UserError(f"{kind} {name!r} is given twice: remove one")
        found[name] = value
    return found


def _size(text: str) -> tuple[str, int]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not re.fullmatch(r"-?\d+", value):
        raise UserError(f"cannot read dim {text!r}: write NAME=SIZE, e.g. --dims N=2,C=32")
    return name, int(value)


def _input(text: str) -> tuple[str, str]:
    try:
        return split_input(text)
    except RecipeError as error:
        raise TextError(str(error)) from None


def _attribute(text: str) -> tuple[str, Scalar]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise UserError(f"cannot read attribute {text!r}: write NAME=VALUE, e.g. --attr eps=1e-5")
    if value in ("true", "false"):
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def _pair(text: str) -> tuple[str, str]:
    first, slash, second = (part.strip() for part in text.partition("/"))
    if not slash or not first or not second:
        raise UserError(f"cannot read pair {text!r}: write A/B, e.g. --pair torch/tvm")
    return first, second


def _name(what: Sequence[str]) -> str:
    stem = Path(what[0]).stem if what[0].endswith(".toml") else "+".join(what[:2]) + ("+more" if len(what) > 2 else "")
    return re.sub(r"[^\w+-]", "_", stem)
