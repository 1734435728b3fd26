"""Report section of `--recipes standard`: every operator, backend and dtype on one page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from results.layout import count, heading, percent_of, say, short, table, verdict_text
from results.standard import Cell, cells

if TYPE_CHECKING:
    from results.reading import Results

_ABOVE, _ABSENT = "above", "-"


def print_standard(results: Results, console: Console) -> None:
    """What loses digits, line by line; what does not, a line an operator; and one sentence."""
    found = cells(results)
    telling = [cell for cell in found if cell.telling]
    if telling:
        heading(console, "Operators, backends and dtypes beyond rounding, those with findings first")
        columns = ("operator", "target", "dtype", "worst verdict", "digits lost", "worst rho", "flagged")
        table(console, columns, list(_lines(telling)), words=2)
        say(
            console,
            "digits lost: log10 max(1, largest rho), decimal digits beyond what rounding and conditioning excuse, "
            "outputs with subnormals read as zero left out. 0.0 beside a finding: NaN or an infinity, a last bit that "
            "IEEE 754 requires, a failed call, or an error that only the other precision shows.",
        )
    for dtype in sorted({cell.dtype for cell in found}):
        _print_within([cell for cell in found if cell.dtype == dtype], dtype, console)


def print_closing(results: Results, console: Console) -> None:
    """The last line of the report."""
    console.print()
    say(console, closing(cells(results)), indent=0)


def closing(found: Sequence[Cell]) -> str:
    """One sentence: how many operators have findings, and which."""
    operators = list(dict.fromkeys(cell.operator for cell in found))
    blamed = [name for name in operators if any(cell.findings for cell in found if cell.operator == name)]
    trials = sum(cell.trials for cell in found if not cell.absent)
    if not blamed:
        return f"No library is to blame: {count(len(operators))} operators, {count(trials)} outputs of targets judged."
    return (
        f"{count(len(blamed))} of {count(len(operators))} operators have findings against a library: "
        f"{', '.join(blamed)}; {count(trials)} outputs of targets judged."
    )


def _lines(telling: Sequence[Cell]) -> list[tuple[str | Text, ...]]:
    rows: list[tuple[str | Text, ...]] = []
    for operator, group in groupby(telling, key=lambda cell: cell.operator):
        for number, cell in enumerate(sorted(group, key=lambda cell: (-cell.severity, -(cell.worst_rho or 0.0)))):
            rows.append(
                (
                    "" if number else operator,
                    cell.target,
                    cell.dtype,
                    verdict_text(cell.worst_verdict, cell.findings),
                    _digits(cell),
                    short(cell.worst_rho),
                    percent_of(cell.flagged, cell.trials),
                )
            )
    return rows


def _print_within(found: Sequence[Cell], dtype: str, console: Console) -> None:
    """Worst verdict and digits lost of all that stays within rounding, a line an operator."""
    targets = sorted({cell.target for cell in found})
    rows: list[tuple[str, ...]] = []
    for operator, group in groupby(sorted(found, key=lambda cell: cell.operator), key=lambda cell: cell.operator):
        here = {cell.target: cell for cell in group}
        shown = tuple(_within(here.get(target)) for target in targets)
        if set(shown) - {_ABSENT, _ABOVE}:
            rows.append((operator, *shown))
    if not rows:
        return
    heading(console, f"Within rounding in {dtype}, nothing flagged: worst verdict, and digits lost where not 0.0")
    backends = [target.partition(":")[0] for target in targets]
    names = [one if backends.count(one) == 1 else target for one, target in zip(backends, targets, strict=True)]
    table(console, ("operator", *names), rows, words=1 + len(names))
    say(console, f"{_ABOVE}: beyond rounding, see the first table. {_ABSENT}: the backend does not offer it.")


def _within(cell: Cell | None) -> str:
    if cell is None or cell.absent:
        return _ABSENT
    if cell.telling:
        return _ABOVE
    digits = _digits(cell)
    return cell.worst_verdict if digits in ("0.0", "-") else f"{cell.worst_verdict} {digits}"


def _digits(cell: Cell) -> str:
    return "-" if cell.digits_lost is None else f"{cell.digits_lost:.1f}"
