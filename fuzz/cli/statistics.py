"""Commands on what campaigns left: compare, tolerance, plan, sql, export. Imports typer only, as fuzz.cli does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fuzz.cli.options import Debug, Directories

app = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


@app.command()
def compare(
    directories: Annotated[list[Path], typer.Argument(metavar="A [B]", help="Two campaigns, or one with --rate.")],
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="K/N", help="Compare the rates above 1e-1 of one campaign with this count."),
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Say what changed from campaign A to B: rates, errors, bits, findings. Or compare rates with a published one.

    Ends with 1 where something got worse, all tests considered, or a finding is new; with --rate, where a rate is
    higher than the published one; with 2 where nothing could be compared.
    """
    from fuzz.cli import comparison_commands

    return comparison_commands.compare(directories, rate, json)


@app.command()
def tolerance(
    directories: Directories,
    flake: Annotated[
        float, typer.Option("--flake", metavar="P", help="Probability that a healthy test may fail. Default 1e-6.")
    ] = 1e-6,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Say which rtol and atol a test of these operators should use. Ends with 1 where there is none to name."""
    from fuzz.cli import tolerance_commands

    return tolerance_commands.tolerance(directories, flake, json)


@app.command()
def plan(
    rate: Annotated[float | None, typer.Option("--rate", metavar="P", help="Expected rate of failures.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="P|K/N", help="Rate, or published count, to tell it from.")
    ] = None,
    power: Annotated[float, typer.Option("--power", metavar="P", help="Probability to see the difference.")] = 0.8,
    tests: Annotated[int, typer.Option("--tests", metavar="N", help="Tests that share the significance of 0.05.")] = 1,
    below: Annotated[
        float | None, typer.Option("--below", metavar="P", help="Rate to be excluded by trials without a failure.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Say how many trials a claim needs."""
    from fuzz.cli import planning_commands

    return planning_commands.plan(rate, against, power, tests, below, json)


@app.command()
def sql(
    words: Annotated[
        list[str],
        typer.Argument(metavar="DIR... QUERY", help='Campaigns, then for example "select count(*) from trials".'),
    ],
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write all rows as CSV instead.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print all rows as JSON lines.")] = False,
    rows: Annotated[
        int | None, typer.Option("--rows", metavar="N", min=1, help="Rows to print. Default: as many as are readable.")
    ] = None,
    debug: Debug = False,
) -> int:
    """Ask campaigns in SQL (DuckDB's); the query sees their tables and nothing else: docs/sql.md."""
    from fuzz.cli import table_commands

    return table_commands.sql(words, csv, json, rows)


@app.command()
def export(
    directories: Directories,
    file: Annotated[Path, typer.Option("--to", metavar="FILE", help="A .parquet, .csv, .arrow or .jsonl file.")],
    table: Annotated[
        str, typer.Option("--table", metavar="NAME", help="trials (default), measurements, elements or findings.")
    ] = "trials",
    debug: Debug = False,
) -> int:
    """Write the rows of campaigns into one file."""
    from fuzz.cli import table_commands

    return table_commands.export(directories, file, table)
