"""The command `check`, on functions of one's own. Imports typer only, as fuzz.cli does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fuzz.cli.options import CallTimeout, CompileTimeout, Debug, Memory, NoShrink, Shrink, Workers

app = typer.Typer()


@app.command()
def check(
    functions: Annotated[
        list[str], typer.Argument(metavar="MODULE:F...", help="Functions: module:name or file.py:name.")
    ],
    inputs: Annotated[
        list[str],
        typer.Option("--input", metavar="x=RECIPE[8,128]", help="Input with its shape, or x=given(FILE); repeatable."),
    ] = [],  # noqa: B006
    truth: Annotated[
        str | None, typer.Option("--truth", metavar="MODULE:F", help="Function whose results are right.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Draws of the inputs.")] = 200,
    dtype: Annotated[str, typer.Option("--dtype", help="float32, float64, float16 or bfloat16.")] = "float32",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draws.")] = 0,
    variants: Annotated[
        str | None,
        typer.Option("--variants", metavar="batch,layout", help="Call each function in other ways, too; or all."),
    ] = None,
    gradients: Annotated[bool, typer.Option("--gradients", help="Compare gradients, too.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Campaign directory to create.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    workers: Workers = 1,
    call_timeout: CallTimeout = 60.0,
    compile_timeout: CompileTimeout = 300.0,
    memory: Memory = None,
    shrink: Shrink = None,
    no_shrink: NoShrink = False,
    debug: Debug = False,
) -> int:
    """Compare functions of your own on the same inputs: bug or rounding? Ends with 1 where one is to blame."""
    from fuzz.cli import check_commands, commands

    return check_commands.check(
        functions=functions,
        inputs=inputs,
        truth=truth,
        trials=trials,
        dtype=dtype,
        seed=seed,
        variants=variants,
        gradients=gradients,
        out=out,
        as_json=json,
        shrink="0s" if no_shrink else shrink,
        settings=commands.settings(workers, call_timeout, compile_timeout, memory),
    )
