"""The accuracy table as CSV, for programs, and as Markdown, for a page."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from results.accuracy import Line, Spot, decimal, hexadecimal, rounded_up
from results.layout import count
from results.report_accuracy import COMPOSED, notes, share, short_share
from results.setting import describe_environment

if TYPE_CHECKING:
    from results.reading import Results

MARK = "\\*"
"""COMPOSED in Markdown."""
CSV_COLUMNS = (
    "function", "attributes", "dtype", "target", "backend", "options", "implementation", "provenance", "inputs",
    "of_inputs", "ulp_max", "x", "x_hex", "value", "truth", "ulp_normal_max", "x_normal", "x_normal_hex",
    "correctly_rounded", "rounding_undecided", "nonfinite_mismatch", "nonfinite_x", "flagged", "worst_verdict",
    "environment",
)  # fmt: skip


def accuracy_csv(lines: Sequence[Line]) -> str:
    """One row a line, numbers in full (quoted as in RFC 4180; an empty field where there is no value)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for line in lines:
        writer.writerow(
            (
                line.operator, line.attributes, line.dtype, line.target, line.backend, line.options,
                line.implementation, line.provenance, line.inputs, line.of_inputs, *_numbers(line.worst),
                _full(line.worst_value), _full(line.worst_truth), *_numbers(line.normal),
                "" if line.rounded is None else line.rounded, line.undecided, line.nonfinite,
                _full(line.nonfinite_input), line.flagged, line.verdict, line.environment,
            )
        )  # fmt: skip
    return text.getvalue()


def accuracy_markdown(results: Results, lines: Sequence[Line], title: str) -> str:
    """A page: environments, one table a dtype, what is not offered."""
    several = len({line.environment for line in lines}) > 1
    parts = [f"# {title}", ""]
    for environment in dict.fromkeys(line.environment for line in lines):
        record = results.environments.get(environment)
        described = f": {describe_environment(record)}" if record else ""
        parts += [f"Environment `{environment[:8]}`{described}.", ""]
    parts += [*(f"* {note.replace(COMPOSED, MARK)}" for note in notes(lines)), ""]
    for dtype, group in groupby(lines, key=lambda line: line.dtype):
        parts += _section(list(group), dtype, several)
    return "\n".join(parts)


def _section(lines: Sequence[Line], dtype: str, several: bool) -> list[str]:
    measured = [line for line in lines if line.worst is not None]
    columns = ["function", "target", "ulp", "x", "normal ulp", "x", "rounded", "NaN/inf", "flagged", "inputs"]
    columns += ["environment"] if several else []
    rows = [_cells(line) + ([f"`{line.environment[:8]}`"] if several else []) for line in measured]
    table = ["| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *rows)]
    absent = _absent(lines)
    return [f"## {dtype}", "", *table, "", *absent, *([""] if absent else [])]


def _absent(lines: Sequence[Line]) -> list[str]:
    missing = sorted((line for line in lines if line.worst is None), key=lambda line: (line.target, line.verdict))
    return [
        f"* {target}, {verdict}: {', '.join(line.function for line in group)}"
        for (target, verdict), group in groupby(missing, key=lambda line: (line.target, line.verdict))
    ]


def _cells(line: Line) -> list[str]:
    assert line.worst is not None
    function = line.function.replace("|", "\\|")
    target = line.target.replace("|", "\\|") + (f" {MARK}" if line.composed else "")
    return [
        function,
        target,
        *_spot(line.worst, line.dtype),
        *_spot(line.normal, line.dtype),
        "-" if line.rounded is None else share(line.rounded, line.inputs),
        count(line.nonfinite),
        short_share(line.flagged, line.inputs),
        "all" if line.complete else share(line.inputs, line.of_inputs),
    ]


def _spot(spot: Spot | None, dtype: str) -> tuple[str, str]:
    return ("-", "-") if spot is None else (rounded_up(spot.ulp), f"{decimal(spot.x, dtype)} `{hexadecimal(spot.x)}`")


def _numbers(spot: Spot | None) -> tuple[str, str, str]:
    return ("", "", "") if spot is None else (_full(spot.ulp), _full(spot.x), hexadecimal(spot.x))


def _full(value: float | None) -> str:
    return "" if value is None else repr(value)
