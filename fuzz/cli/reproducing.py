"""Commands on findings: findings, repro, shrink, replay. Imports typer only, as fuzz.cli does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fuzz.cli.options import Debug, Directory, Extensions, FailOn, Github, Junit, Known

app = typer.Typer()


@app.command()
def findings(
    directory: Directory,
    known: Known = None,
    fail_on: FailOn = None,
    junit: Junit = None,
    github: Github = False,
    json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
    write_known: Annotated[
        Path | None, typer.Option("--write-known", metavar="FILE", help="Start a file of known findings from these.")
    ] = None,
    debug: Debug = False,
) -> int:
    """List what a campaign found, one line a defect: new ones, then known ones."""
    from fuzz.cli import commands

    return commands.findings(directory, known, fail_on, commands.Told(junit, github), json, write_known)


@app.command()
def repro(
    place: Annotated[Path, typer.Argument(metavar="DIR|CASE.json", help="Campaign directory, or a case file.")],
    name: Annotated[
        str | None,
        typer.Argument(metavar="TRIAL|FINDING", help="Trial name from the report, or the id of a finding."),
    ] = None,
    script: Annotated[
        Path | None, typer.Option("--script", metavar="FILE", help="Write a script without ulpfuzz, and run it once.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write a report for the maintainers.")
    ] = None,
    pytest: Annotated[
        Path | None, typer.Option("--pytest", metavar="FILE", help="Write a test that fails while the defect is there.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write a case file for `repro` and `replay`.")
    ] = None,
    source: Annotated[bool, typer.Option("--source", help="Print the scheduled programs (TVMScript), too.")] = False,
    extensions: Extensions = [],  # noqa: B006
    debug: Debug = False,
) -> int:
    """Compute one trial again in a fresh process and show its worst elements, or write what reproduces a finding."""
    from fuzz.cli import repro as module

    return module.repro(place, name, module.files(script, markdown, pytest, json), extensions, source)


@app.command("shrink")
def shrink_(
    directory: Directory,
    finding: Annotated[
        str | None, typer.Argument(metavar="[FINDING]", help="Id of a finding, or the start of one. Default: all.")
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", metavar="60s", help="Time for each finding. Default 60s.")
    ] = None,
    total: Annotated[str | None, typer.Option("--total", metavar="10m", help="Time for all of them together.")] = None,
    debug: Debug = False,
) -> int:
    """Make the inputs, sizes and schedules of findings as small and simple as the failure allows."""
    from fuzz.shrinking.command import shrink

    return shrink(directory, finding, time, total)


@app.command()
def replay(
    places: Annotated[list[Path], typer.Argument(metavar="DIR|CASE.json...", help="Campaigns and case files.")],
    extensions: Extensions = [],  # noqa: B006
    debug: Debug = False,
) -> int:
    """Run past findings again: fixed, still there, moved, or not runnable here. 1 where one is there or moved."""
    from fuzz.reproduction.command import replay_all

    return replay_all(places, extensions)
