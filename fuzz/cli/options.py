"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Extensions = Annotated[
    list[Path], typer.Option("--extension", metavar="FILE", help="Python file that registers backends or operators.")
]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Campaign directory.")]
Directories = Annotated[list[Path], typer.Argument(metavar="DIR...", help="Campaign directories.")]
Workers = Annotated[int, typer.Option("--workers", min=1, max=64, help="Worker processes.")]
CallTimeout = Annotated[float, typer.Option("--call-timeout", min=0.1, help="Seconds a kernel may run.")]
CompileTimeout = Annotated[float, typer.Option("--compile-timeout", min=0.1, help="Seconds a compilation may take.")]
Memory = Annotated[
    float | None,
    typer.Option("--memory", metavar="MIB", min=256, help="Memory of a worker; default: a share of all."),
]
FailOn = Annotated[
    str | None, typer.Option("--fail-on", metavar="new|wrong|rate>P|none", help="What makes exit code 1. Default: new.")
]
Known = Annotated[Path | None, typer.Option("--known", metavar="FILE", help="File of known findings.")]
Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report, too.")]
Github = Annotated[bool, typer.Option("--github", help="Print annotations for GitHub Actions, too.")]
Shrink = Annotated[
    str | None,
    typer.Option(
        "--shrink",
        metavar="30s",
        envvar="ULPFUZZ_SHRINK",
        help="Time to shrink the findings at the end; 0s: none. Default: a tenth of the run's, 5 s to 60 s.",
    ),
]
NoShrink = Annotated[bool, typer.Option("--no-shrink", help="Do not shrink the findings at the end.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback instead of one line.")]
