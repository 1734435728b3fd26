"""The command line. Imports typer only: everything heavy is loaded by the command that needs it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from fuzz.cli import checking as cli_checking
from fuzz.cli import reproducing as cli_reproducing
from fuzz.cli import statistics as cli_statistics
from fuzz.cli.options import (
    CallTimeout,
    CompileTimeout,
    Debug,
    Directories,
    Directory,
    Extensions,
    FailOn,
    Github,
    Junit,
    Known,
    Memory,
    NoShrink,
    Shrink,
    Workers,
)
from fuzz.threads import limit_threads

app = typer.Typer(
    name="ulpfuzz",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

INTERRUPTED = 130
BROKEN_PIPE = 141

app.add_typer(cli_checking.app)
app.add_typer(cli_reproducing.app)
app.add_typer(cli_statistics.app)


def _version(asked: bool) -> None:
    if asked:
        from fuzz import __version__

        print(f"ulpfuzz {__version__}")
        raise typer.Exit


@app.callback()
def ulpfuzz(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Two implementations of a tensor operator disagree: bug or rounding? How often, on what inputs, and why?"""


@app.command()
def run(
    what: Annotated[
        list[str], typer.Argument(metavar="OPERATOR...|all|FILE.toml", help="Operators, or one campaign file.")
    ] = [],  # noqa: B006
    operators: Annotated[
        list[str], typer.Option("--operators", metavar="A,B|all", help="Operators, another way to name them.")
    ] = [],  # noqa: B006
    recipes: Annotated[
        str | None,
        typer.Option(metavar="standard", help="Five kinds of inputs, default sizes, 5 trials each; not with --input."),
    ] = None,
    gradients: Annotated[
        bool, typer.Option("--gradients", help="Run the operators' gradients (softmax.grad) in their place.")
    ] = False,
    dims: Annotated[list[str], typer.Option("--dims", metavar="N=2,C=32", help="Sizes of the operator's dims.")] = [],  # noqa: B006
    inputs: Annotated[
        list[str], typer.Option("--input", metavar="x=RECIPE", help="Input distribution; repeatable.")
    ] = [],  # noqa: B006
    attributes: Annotated[list[str], typer.Option("--attr", metavar="eps=1e-5", help="Attribute; repeatable.")] = [],  # noqa: B006
    dtypes: Annotated[
        list[str], typer.Option("--dtype", help="float32 (default), float64, float16, bfloat16; repeatable.")
    ] = [],  # noqa: B006
    targets: Annotated[str | None, typer.Option(help="Targets, e.g. torch,tvm:llvm[mcpu=host]. Default: all.")] = None,
    pairs: Annotated[list[str], typer.Option("--pair", metavar="A/B", help="Also compare target A with B.")] = [],  # noqa: B006
    variants: Annotated[
        str | None,
        typer.Option(
            metavar="batch,layout[F]|all", help="Also call each target in other ways: families, or single ones."
        ),
    ] = None,
    options: Annotated[
        int | None, typer.Option(metavar="N", help="Run N random settings of each target's options a problem, too.")
    ] = None,
    schedules: Annotated[
        int | None, typer.Option(metavar="N", help="Run N random legal schedules of TVM a problem, too.")
    ] = None,
    meta_schedules: Annotated[
        int | None, typer.Option(metavar="N", help="Run N samples of what TVM's meta_schedule would choose from, too.")
    ] = None,
    unsafe_schedules: Annotated[
        int | None, typer.Option(metavar="N", help="Run N schedules in orders that TVM is known to miscompile.")
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(
            help="fixed: your problems; survey: drawn; explore: chosen to fail; search: large errors sought; "
            "exhaustive: every number of a format."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help="Trials per problem; problems per operator of survey and explore; default 1000. "
            "Islands per operator of search; default 4."
        ),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(metavar="N", help="Sets of inputs that an island of a search tries. Default 2000.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Campaign seed. Default 0.")] = None,
    published: Annotated[str | None, typer.Option(metavar="K/N", help="Compare the rate above 1e-1 with K/N.")] = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="8h", help="End after so long, without --trials at no other time."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="decided", help="End once the rate is above or below --published or --fail-on 'rate>P'."),
    ] = None,
    fail_on: FailOn = None,
    known: Known = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Campaign directory to create.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print plan, trials, time and disk; run nothing.")] = False,
    junit: Junit = None,
    github: Github = False,
    extensions: Extensions = [],  # noqa: B006
    workers: Workers = 1,
    call_timeout: CallTimeout = 60.0,
    compile_timeout: CompileTimeout = 300.0,
    memory: Memory = None,
    shard_trials: Annotated[int | None, typer.Option(min=1, help="Trials a shard (default: measured).")] = None,
    shrink: Shrink = None,
    no_shrink: NoShrink = False,
    debug: Debug = False,
) -> int:
    """Run trials on every target, judge each against the truth, and report."""
    from fuzz.cli import commands

    return commands.run(
        what=[*what, *(name.strip() for text in operators for name in text.split(",") if name.strip())],
        recipes=recipes,
        gradients=gradients,
        dims=dims,
        inputs=inputs,
        attributes=attributes,
        dtypes=dtypes,
        targets=targets,
        pairs=pairs,
        variants=variants,
        options=options,
        schedules=schedules,
        meta_schedules=meta_schedules,
        unsafe_schedules=unsafe_schedules,
        evaluations=evaluations,
        plan=plan,
        trials=trials,
        seed=seed,
        published=published,
        time=time,
        until=until,
        fail_on=fail_on,
        known=known,
        out=out,
        extensions=extensions,
        dry_run=dry_run,
        told=commands.Told(junit, github),
        settings=commands.settings(workers, call_timeout, compile_timeout, memory, shard_trials),
        shrink="0s" if no_shrink else shrink,
    )


@app.command()
def resume(
    directory: Directory,
    workers: Workers = 1,
    call_timeout: CallTimeout = 60.0,
    compile_timeout: CompileTimeout = 300.0,
    memory: Memory = None,
    time: Annotated[str | None, typer.Option("--time", metavar="2h", help="Go on for so long.")] = None,
    junit: Junit = None,
    github: Github = False,
    shrink: Shrink = None,
    no_shrink: NoShrink = False,
    debug: Debug = False,
) -> int:
    """Finish a campaign that was interrupted; what is on disk is kept."""
    from fuzz.cli import commands

    settings = commands.settings(workers, call_timeout, compile_timeout, memory)
    return commands.resume(directory, time, commands.Told(junit, github), settings, "0s" if no_shrink else shrink)


@app.command()
def report(
    directories: Directories,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one self-contained page with plots instead.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write Markdown for an issue instead.")
    ] = None,
    debug: Debug = False,
) -> int:
    """Print what a campaign found, or write it into a file and print the answer."""
    from fuzz.cli import report_commands

    return report_commands.report(directories, html, markdown)


@app.command()
def table(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Campaigns with --plan exhaustive.")],
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a Markdown page, too.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write CSV with all figures, too.")] = None,
    title: Annotated[str, typer.Option(help="Title of the Markdown page.")] = "Accuracy of functions of one number",
    debug: Debug = False,
) -> int:
    """Print the largest error in ulp of each function, and where it occurs, over every number of a format."""
    from fuzz.cli import accuracy_commands

    return accuracy_commands.table(directories, markdown, csv, title)


@app.command()
def watch(
    directory: Directory,
    once: Annotated[bool, typer.Option("--once", help="Print the present state and end.")] = False,
    debug: Debug = False,
) -> int:
    """Look at a running campaign from another terminal; only reads the directory."""
    from fuzz.cli.watch import watch as look

    sys.exit(look(directory, once))  # Ctrl-C is how one leaves the view: nothing to be said


@app.command()
def compact(directory: Directory, debug: Debug = False) -> int:
    """Merge the small files of a campaign into large sorted ones; no row changes."""
    from fuzz.cli import commands

    return commands.compact(directory)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Campaign file to write.")] = Path("campaign.toml"),
    debug: Debug = False,
) -> int:
    """Write a commented campaign file to start from."""
    from fuzz.cli import commands

    return commands.init(file)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(metavar="operators|backends|options|targets|recipes|variants")],
    extensions: Extensions = [],  # noqa: B006
    debug: Debug = False,
) -> int:
    """List what can be named on the command line."""
    from fuzz.cli import listing

    return listing.show(what, extensions)


@app.command()
def doctor(extensions: Extensions = [], debug: Debug = False) -> int:  # noqa: B006
    """Say what works on this machine, what is missing, and how to get it."""
    from fuzz.cli import commands

    return commands.doctor(extensions)


def main() -> None:
    """Entry point: user errors become one line, Ctrl-C exit code 130."""
    limit_threads()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    try:
        code = invoke(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BROKEN_PIPE
    sys.exit(code)


def invoke(arguments: list[str]) -> int:
    """Run a command in this process; its exit code. User errors are printed."""
    command = typer.main.get_command(app)
    try:
        code = int(command.main(arguments, prog_name="ulpfuzz", standalone_mode=False) or 0)
    except SystemExit as end:
        return int(end.code or 0)
    except typer.Exit as exit_:
        code = exit_.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except typer.TyperException as error:
        return _say(getattr(error, "format_message", error.__str__)(), 2)
    except Exception as error:
        from fuzz.errors import InternalError, Interrupted, TextError, UserError
        from results.errors import ResultsError

        if "--debug" in arguments or not isinstance(error, UserError | ResultsError | InternalError | Interrupted):
            raise
        return _say(str(error), error.exit_code, several=isinstance(error, TextError))
    return _say("interrupted", code) if code == INTERRUPTED else code  # typer makes this code of Ctrl-C


def _say(message: str, code: int, several: bool = False) -> int:
    from results.visible import visible, visible_lines

    print(f"ulpfuzz: {visible_lines(message) if several else visible(message)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
