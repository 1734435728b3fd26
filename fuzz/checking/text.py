"""A check's result as text."""

from __future__ import annotations

from fuzz.checking.result import Result


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
    if result.closer:
        parts += ["", *_aligned(closer_table(result))]
    if result.varied:
        parts += ["", *_aligned(variant_table(result)), *result.bits]
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
        cells = [line.label, line.verdict, rate, *map(_number, (line.abs_max, line.abs_rms, line.abs_mean))]
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
        of = "gradients of " if pair.gradient else ""
        rows.append([f"{of}{pair.a} - {pair.b}", equal, _number(pair.abs_max), _number(pair.abs_mean)])
    return rows


def closer_table(result: Result) -> list[list[str]]:
    """Outputs in which one function has smaller errors than another, beyond chance; the heading first."""
    rows = [["closer to the truth", "output", "than", "trials", "p", "rms ratio [95 %]"]]
    for line in result.closer:
        found, one, other = line.found, _name(line.first), _name(line.second)
        won = line.closer == line.first
        wins = found.first_closer if won else found.second_closer
        ends = "" if found.low is None else f" [{_number(found.low)}, {_number(found.high)}]"
        ratio = f"{one} / {other} {_number(found.ratio)}{ends}"
        trials = f"{wins}/{found.trials}"
        rows.append([_name(line.closer), line.output, other if won else one, trials, _number(line.adjusted), ratio])
    return rows


def variant_table(result: Result) -> list[list[str]]:
    """What calling a function in another way changed, a line a family; the heading first."""
    rows = [["called otherwise", "variant", "equal bits", "largest change", "max rho", "verdicts"]]
    for tally in result.varied:
        name = _name(tally.target) + (" (gradient)" if tally.operator.endswith(".grad") else "")
        told = ", ".join(f"{verdict or 'as unwrapped'} {count}" for verdict, count in tally.verdicts)
        equal = f"{tally.equal}/{tally.trials}"
        rows.append([name, tally.variant, equal, _number(tally.largest), _number(tally.rho), told])
    return rows


def _truth(result: Result) -> str:
    if not result.known_by:
        return f"{result.truth}; no trial gave an output to compare with it"
    if result.known_by.startswith("float64 of"):
        return f"{result.known_by} on the same inputs; no bound is known, verdicts lean on the precision ladder"
    return f"the formula of {result.truth} in {result.known_by}, with a bound of what rounding and inputs excuse"


def _name(target: str) -> str:
    """The function of a target."""
    return target.partition(":")[0]


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
