"""The accuracy table on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from results.accuracy import Line, Spot, decimal, hexadecimal, rounded_up
from results.layout import WIDE, count, heading, say, table
from results.verdicts import VERDICTS

COMPOSED = "*"
TELLING = 0.9
"""A largest error over the normal numbers below so much of the largest one gets a line of its own."""
_NORMAL = "  normal"


def print_accuracy(lines: Sequence[Line], console: Console) -> None:
    """One table a dtype, and what its columns mean."""
    several = len({line.environment for line in lines}) > 1
    for dtype, group in groupby(lines, key=lambda line: line.dtype):
        _print_dtype(list(group), dtype, several, console)
    console.print()
    for note in notes(lines):
        say(console, note)


def notes(lines: Sequence[Line]) -> list[str]:
    """What the columns and marks of the table mean, where they occur."""
    measured = [line for line in lines if line.worst is not None]
    found = [
        "ulp: largest error in units in the last place of the exact result, rounded up, and x where it occurs.",
        "rounded: results that are the number nearest to the exact value, of all inputs, NaN included.",
        "NaN/inf: inputs where result or truth alone is NaN or infinite. flagged: rho above 2, more than rounding.",
    ]
    if any(_differs(line) for line in measured):
        found.insert(1, "normal: the same without subnormal inputs and results, where that makes a difference.")
    if any(line.composed for line in measured):
        found.append(f"{COMPOSED}: the library does not offer the function; composed from its primitives.")
    found += [
        f"{line.function} on {line.target} in {line.dtype}: {count(line.undecided)} results undecided, "
        "not counted as rounded"
        for line in measured
        if line.undecided
    ]
    return found


def share(k: int, n: int) -> str:
    """k of n in per cent, cut off after two decimals: 100 % means all of them."""
    hundredths = 10_000 * k // n if n else 0
    return "100 %" if k == n else f"{hundredths // 100}.{hundredths % 100:02d} %"


def _print_dtype(lines: Sequence[Line], dtype: str, several: bool, console: Console) -> None:
    measured = [line for line in lines if line.worst is not None]
    complete = all(line.complete for line in measured)
    total = count(lines[0].of_inputs)
    title = f"every one of its {total} numbers" if complete else f"some of its {total} numbers"
    if not measured:
        _print_failed(lines, console)
        return
    heading(console, f"Accuracy in {dtype}, {title}")
    columns = ["function", "target", "ulp", "x", "x exactly", "rounded", "NaN/inf", "flagged"]
    if not complete:
        columns.insert(3, "inputs")
    if several:
        columns.insert(2, "environment")
    hidden = {"x exactly"} if console.width < WIDE else set()
    rows: list[tuple[str | Text, ...]] = []
    function = ""
    for line in measured:
        for cells in _cells(line):
            cells["function"] = "" if line.function == function else line.function
            function = line.function
            rows.append(tuple(cells.get(name, "") for name in columns if name not in hidden))
    table(console, [name for name in columns if name not in hidden], rows, words=2)
    _print_failed(lines, console)


def _cells(line: Line) -> list[dict[str, str | Text]]:
    """The line of a target, and that of the normal numbers where it differs."""
    assert line.worst is not None
    severe = bool(line.verdict) and VERDICTS[line.verdict].finding and not line.composed
    flagged = "0" if not line.flagged else short_share(line.flagged, line.inputs)
    first: dict[str, str | Text] = {
        "target": line.target + (COMPOSED if line.composed else ""),
        "environment": line.environment[:8],
        "inputs": "all" if line.complete else share(line.inputs, line.of_inputs),
        **_spot(line.worst, line.dtype),
        "rounded": "-" if line.rounded is None else share(line.rounded, line.inputs),
        "NaN/inf": Text(count(line.nonfinite), "red" if line.nonfinite and severe else ""),
        "flagged": Text(flagged, "red" if line.flagged and severe else ""),
    }
    if not _differs(line) or line.normal is None:
        return [first]
    return [first, {"target": _NORMAL, **_spot(line.normal, line.dtype)}]


def short_share(k: int, n: int) -> str:
    """A share with its count where that is small: 3, or 1.20 %."""
    return count(k) if 1000 * k < n else share(k, n)


def _spot(spot: Spot, dtype: str) -> dict[str, str | Text]:
    return {"ulp": rounded_up(spot.ulp), "x": decimal(spot.x, dtype), "x exactly": hexadecimal(spot.x)}


def _differs(line: Line) -> bool:
    """Whether subnormal numbers make the largest error, by more than the last digits."""
    return line.normal is not None and line.worst is not None and line.normal.ulp < TELLING * line.worst.ulp


def _print_failed(lines: Sequence[Line], console: Console) -> None:
    """What gave no output at all: a line a target and verdict."""
    failed = sorted(
        (line for line in lines if line.worst is None), key=lambda line: (line.target, line.verdict, line.function)
    )
    for (target, verdict), group in groupby(failed, key=lambda line: (line.target, line.verdict)):
        what = ", ".join(line.function for line in group)
        say(console, f"{target}, {verdict}: {what}")
