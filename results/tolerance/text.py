"""The tolerances on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from results.layout import count, heading, say, short, table
from results.tolerance.advice import Advice, Tolerances
from results.tolerance.choice import Pair, up

SHOWN = 5
"""Lines that are printed ready to copy; the others are in the table."""


def print_tolerances(found: Tolerances, console: Console) -> None:
    """The table, what it means, who is left out, and lines to copy."""
    console.print(Text(_headline(found), style="bold"), soft_wrap=True)
    some = [one for one in found.advice if one.pair is not None]
    if some:
        console.print()
        _table(some, console)
    _say_why_not(found, console)
    if some:
        _say_how(found, some, console)
        _between(found, some, console)
    _say_excluded(found, console)


def as_json(found: Tolerances) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "flake": found.flake,
        "of": found.of,
        "trials_needed": found.trials_needed,
        "tolerances": [_plain(one) for one in found.advice],
        "excluded": [{name: getattr(one, name) for name in one.__struct_fields__} for one in found.excluded],
    }


def _plain(one: Advice) -> dict[str, Any]:
    group = one.group
    row: dict[str, Any] = {
        "operator": group.operator,
        "output": group.output,
        "dtype": group.dtype,
        "size": group.size or None,
        "problems": one.problems,
        "trials": one.trials,
        "targets": list(one.targets),
        "keeps_flake": one.kept,
        "why": one.why or None,
    }
    if one.pair is not None:
        pair, level = one.pair, one.pair.level
        row |= {
            "rtol": pair.rtol,
            "atol": pair.atol,
            "rtol_eps": pair.eps,
            "atol_eps": pair.atol_eps,
            "decided_by": pair.inputs or None,
            "basis": level.basis,
            "fails": level.fails,
            "fails_at_most": level.at_most,
            "passes": 1 - level.fails,
            "passes_at_least": 1 - level.at_most,
            "tail_shape": level.tail.shape if level.tail else None,
            "bound_eps": one.bound_eps,
            "call": pair.call,
        }
    if one.tighter is not None:
        tighter = one.tighter
        row["tighter"] = {"rtol": tighter.rtol, "atol": tighter.atol, "fails_at_most": tighter.level.at_most}
    if one.between is not None:
        between = one.between
        row["between_implementations"] = {
            "rtol": between.rtol,
            "atol": between.atol,
            "measured": between.measured is not None,
        }
    return row


def _headline(found: Tolerances) -> str:
    kept = sum(one.kept for one in found.advice)
    promise = "for every input there is" if found.every else f"with a flake rate of {found.flake:g} or less"
    return f"Tolerances {promise}: {kept} of {len(found.advice)}"


def _table(some: Sequence[Advice], console: Console) -> None:
    columns = ("operator, dtype, size", "trials", "rtol", "= eps", "atol", "eps E", "P(pass)", "at least", "how")
    rows: list[list[str | Text]] = []
    for one in some:
        assert one.pair is not None
        eps = "-" if one.bound_eps is None else short(one.bound_eps)
        rows.append([_named(one, "\n"), count(one.trials), *_pair(one.pair, eps)])
        if one.tighter is not None:
            rows.append(["  tighter, not promised", "", *_pair(one.tighter, "")])
    table(console, columns, rows)


def _pair(pair: Pair, bound_eps: str) -> list[str | Text]:
    level = pair.level
    return [
        f"{pair.rtol:.2g}",
        f"{pair.eps:g}",
        f"{pair.atol:.2g}",
        bound_eps,
        passes(level.fails),
        passes(level.at_most),
        Text(level.basis, style="" if level.kept else "yellow"),
    ]


def passes(fails: float) -> str:
    """P(pass), rounded towards less: next to 1 as the distance from it, which tells more than its digits."""
    if fails == 0:
        return "1"
    return f"1 - {up(fails):.2g}" if fails < 0.01 else f"{1 - up(fails):.3g}"


def _say_why_not(found: Tolerances, console: Console) -> None:
    for one in found.advice:
        if one.pair is None:
            say(console, f"{_named(one)}: no tolerance: {one.why}.", style="yellow")
    for one in found.advice:
        if one.problems > 1 and one.pair is not None and not found.every:
            where = f"; {one.pair.inputs} needs the largest atol" if one.pair.inputs else ""
            say(console, f"{_named(one)}: one pair for {one.problems} problems, of which each keeps it{where}.")
    missed = [one for one in found.advice if one.pair is not None and not one.kept]
    if any(one.tighter for one in found.advice) or missed:
        say(
            console,
            "What is marked `seen` passed in every trial and is bounded by that alone: "
            f"{found.trials_needed:,} trials of a problem would promise {found.flake:g} without extrapolation.",
        )
    reasons: dict[str, list[str]] = {}
    for one in missed:
        reasons.setdefault(one.why, []).append(_named(one))
    for why, names in reasons.items():
        shown = "; ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        say(console, f"{shown}: a flake rate of {found.flake:g} is not promised: {why}.", style="yellow")


def _say_how(found: Tolerances, some: Sequence[Advice], console: Console) -> None:
    heading(console, "How to use them")
    if found.every:
        say(console, "The largest error over every input: a healthy result passes with certainty.")
    else:
        say(
            console,
            f"P(pass): that one run of the test passes, on inputs drawn as in {_described(found)}, estimated and with "
            f"its lower 95 % bound{' (confidence sequence)' if found.stopped else ''}. `got` is any of "
            f"{_targets(some)}, `want` the truth in a wider dtype.",
        )
    say(console, "eps E: |got - want| <= k eps E passes as often, E the oracle's error bound of each element.")
    for one in some[:SHOWN]:
        assert one.pair is not None
        console.print(Text(f"    {one.pair.call}  # {_named(one)}"), soft_wrap=True)
    if found.old:
        say(console, "Rows written by an older ulpfuzz do not say what a test needs beside an rtol: rtol is 0 there.")


def _targets(some: Sequence[Advice]) -> str:
    names = sorted({name for one in some for name in one.targets})
    return ", ".join(names) if len(names) <= SHOWN else f"the {len(names)} healthy targets"


def _described(found: Tolerances) -> str:
    return "the problem" if found.of.startswith("the problems") else found.of


def _between(found: Tolerances, some: Sequence[Advice], console: Console) -> None:
    pairs = [one for one in some if one.between is not None]
    if not pairs:
        return
    heading(console, "Two implementations compared with each other need")
    rows = []
    for one in pairs:
        between = one.between
        assert between is not None
        how = "measured" if between.measured is not None else "both within the above of the truth"
        rows.append([_named(one, "\n"), f"{between.rtol:.2g}", f"{between.atol:.2g}", how])
    table(console, ("operator, dtype, size", "rtol", "atol", "how"), rows)


def _say_excluded(found: Tolerances, console: Console) -> None:
    if not found.excluded:
        return
    heading(console, "Left out, because of findings")
    rows = [[x.operator, x.dtype, x.target, ", ".join(x.verdicts), count(x.trials)] for x in found.excluded]
    table(console, ("operator", "dtype", "target", "verdicts", "trials"), rows, words=4)


def _named(one: Advice, before_size: str = " ") -> str:
    """Operator, output where there are several, dtype and size."""
    group = one.group
    operator = f"{group.operator} ({group.output})" if one.outputs > 1 else group.operator
    named = " ".join(part for part in (operator, group.dtype) if part)
    return f"{named}{before_size}{group.size}" if group.size else named
