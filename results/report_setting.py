"""Report section: what ran."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from results.certification import certification
from results.layout import count, heading, say, table
from results.manifest import MORE_TIME, resume_command
from results.quiet import quiet, told
from results.reading import Results
from results.setting import Setting, describe_environment, targets_that_ran, without_output

_SHOWN = 6
_DRAWN = ("survey", "explore", "search")
"""Plans whose number of trials counts the problems of an operator."""
_REASONS_SHOWN = 12


def print_setting(results: Results, ran: Setting, console: Console) -> None:
    """Problems, targets with implementation and provenance, environment, and what gave no output."""
    heading(console, str(results.manifest.get("title") or "What ran"))
    for line in problem_lines(ran):
        say(console, line)
    say(console, trials_line(results, ran))
    for line in unreached_lines(results, ran):
        say(console, line)
    for environment in ran.environments:
        record = results.environments.get(environment)
        say(console, f"environment {environment[:12]}" + (f": {describe_environment(record)}" if record else ""))
    if line := certification(results, ran.environments):
        say(console, line)
    console.print()
    hidden = quiet(results)
    rows = [
        (ran_target.target, implementations(ran_target.implementations, ran_target.operators), ran_target.provenance)
        for ran_target in targets_that_ran(results)
        if ran_target.target not in hidden
    ]
    table(console, ("target", "implementation", "provenance"), rows, words=3)
    for line in told(len(hidden)):
        say(console, f"Besides, {line}.")
    _print_missing(results, console)


def problem_lines(ran: Setting) -> list[str]:
    """Operators, sizes, attributes and inputs."""
    if ran.problems == 1:
        attributes = "" if ran.attributes in ((), ("{}",)) else f", attributes {ran.attributes[0]}"
        lines = [f"{ran.operators[0]} in {', '.join(ran.dtypes)}, {ran.dims[0] if ran.dims else ''}{attributes}"]
        return lines + [f"inputs: {recipe}" for recipe in ran.recipes]
    return [
        f"{count(ran.problems)} problems of {_operators(ran.operators)} in {', '.join(ran.dtypes)}",
        f"{_choices(ran.dims, 'sizes')}, {_choices(ran.recipes, 'inputs')}",
    ]


def _choices(values: tuple[str, ...], of: str) -> str:
    return f"{of} {values[0]}" if len(values) == 1 else f"{count(len(values))} choices of {of}"


def trials_line(results: Results, ran: Setting) -> str:
    """Trials, seed and plan; whether some are missing."""
    seeds = ", ".join(str(seed) for seed in ran.seeds[:_SHOWN])
    plan = f", plan {results.plan}" if results.plan else ""
    line = f"{count(ran.trials)} {'trial' if ran.trials == 1 else 'trials'}, seed {seeds}{plan}"
    wanted = _wanted(results.manifest, ran)
    if wanted is not None and ran.trials < wanted:
        more = "" if results.manifest.get("seconds") is None else MORE_TIME
        line += f"; INCOMPLETE: {count(wanted)} were planned, run {resume_command(results.directories[0], more)}"
    return line


def unreached_lines(results: Results, ran: Setting) -> list[str]:
    """Operators that were asked for and have no trial yet: nothing in the report is about them."""
    asked: set[str] = set()
    for manifest in results.manifests:
        asked |= {str(cell["operator"]) for cell in manifest.get("survey") or ()}
        asked |= {str(cell["problem"]["operator"]) for cell in manifest.get("cells") or ()}
    left = sorted(asked - set(ran.operators))
    if not left:
        return []
    names = ", ".join(left[:_SHOWN]) + (", ..." if len(left) > _SHOWN else "")
    return [f"not reached: {count(len(left))} of {count(len(asked))} operators: {names}"]


def _wanted(manifest: dict[str, Any], ran: Setting) -> int | None:
    """Trials planned for the problems that ran: `trials` counts them per operator and dtype where problems are drawn,
    else per problem."""
    trials = manifest.get("trials")
    plan = manifest.get("plan")
    if manifest.get("until") or not isinstance(trials, int) or plan not in ("fixed", *_DRAWN, "exhaustive"):
        return None
    return trials * (len(manifest.get("survey") or ()) if plan in _DRAWN else ran.problems)


def _print_missing(results: Results, console: Console) -> None:
    notes = [str(note) for note in results.manifest.get("skipped") or ()]
    missing = without_output(results)
    if results.manifest.get("recipes"):  # its tables show what a backend does not offer
        missing = [item for item in missing if item.verdict != "unsupported"]
    if not notes and not missing:
        return
    console.print()
    for note in notes:
        say(console, f"skipped: {note}")
    for item in missing[:_REASONS_SHOWN]:
        trials = f"{count(item.trials)} {'trial' if item.trials == 1 else 'trials'}"
        say(console, f"no output: {item.target}, {item.operator}: {item.verdict} in {trials}: {item.reason}")
    if len(missing) > _REASONS_SHOWN:
        say(console, f"and {len(missing) - _REASONS_SHOWN} more reasons for a missing output")


def implementations(names: str, operators: int) -> str:
    """The formulations that ran, or how many."""
    return names if operators == 1 or names.count(",") < _SHOWN else f"{names.count(',') + 1} formulations"


def _operators(values: tuple[str, ...]) -> str:
    return ", ".join(values) if len(values) <= _SHOWN else f"{count(len(values))} operators"
