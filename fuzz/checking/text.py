"""A check's result as text."""

from __future__ import annotations

from fuzz.checking.result import Result
from results.verdicts import VERDICTS


def text(result: Result) -> str:
    """A few lines for a terminal: verdict, sentence, notes, figures, how to go on."""
    parts = [f"{result.verdict}: {result.sentence}", ""]
    parts += [f"note: {note}" for note in result.notes]
    if result.notes:
        parts.append("")
    parts += _aligned(table(result))
    if result.pairs:
        parts.append("")
        parts += _aligned(pair_table(result))
    parts += ["", f"truth: {_truth(result)}"]
    parts += [f"example: {result.example}"] if result.example else []
    parts += [f"again: {result.reproduce}"]
    return "\n".join(parts)


def table(result: Result) -> list[list[str]]:
    """Functions against the truth, the heading first."""
    heading = ["against the truth", "verdict", "failing trials", "max |error|", "rms", "mean (signed)", "max rho"]
    rungs = sorted({line.rung_dtype for line in result.lines if line.rung_dtype})
    heading += [f"max |error| in {rung}" for rung in rungs[:1]] + ["s"]
    rows = [heading]
    for line in result.lines:
        k, n = line.failed.k, line.failed.n
        rate = f"{k}/{n} [{line.failed.low:.2%}, {line.failed.high:.2%}]"
        cells = [line.name, line.verdict, rate, *map(_number, (line.abs_max, line.abs_rms, line.abs_mean))]
        cells.append(_number(line.rho_max))
        itself = result.truth == line.name and result.known_by.startswith("float64 of") and not line.rung_abs
        if rungs:
            cells.append("-" if itself else _number(line.rung_abs))
        cells.append("" if line.slope is None or itself else f"{line.slope:.2f}")
        rows.append(cells)
    return rows


def pair_table(result: Result) -> list[list[str]]:
    """Every two functions against each other, the heading first."""
    rows = [["against each other", "bitwise equal", "max |difference|", "mean (signed)"]]
    for pair in result.pairs:
        equal = f"{pair.equal}/{pair.trials}"
        rows.append([f"{pair.a} - {pair.b}", equal, _number(pair.abs_max), _number(pair.abs_mean)])
    return rows


def meaning(result: Result) -> str:
    """What the verdict's name means."""
    return f"the result {VERDICTS[result.verdict].sentence}"


def _truth(result: Result) -> str:
    if not result.known_by:
        return f"{result.truth}; no trial gave an output to compare with it"
    if result.known_by.startswith("float64 of"):
        return f"{result.known_by} on the same inputs; no bound is known, verdicts lean on the precision ladder"
    return f"the formula of {result.truth} in {result.known_by}, with a bound of what rounding and inputs excuse"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *others = (
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return lines
