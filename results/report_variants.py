"""Report section: the same target on the same data, called in another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from results.layout import count, heading, percent_of, say, short, table
from results.variant_tables import SAME
from results.variants import UNWRAPPED, VariantBits, VariantTally, by_family, variant_bits, variant_tallies
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

SHOWN = 60
"""Lines of the table; more are shown by family, and of these the telling ones."""
BITS_SHOWN = 24
COLUMNS = ("called", "variant", "trials", "equal bits", "largest difference", "rho", "verdicts")
_AS_UNWRAPPED = "as unwrapped"


def print_variants(results: Results, console: Console) -> None:
    """How often bits change, how much, and what of it rounding explains. Nothing where there were no variants."""
    tallies = variant_tallies(results)
    if not tallies:
        return
    heading(console, "Variants: the same target on the same data, called in another way")
    for sentence in sentences(tallies):
        say(console, sentence)
    shown, more = lines(tallies)
    rows = [_row(tally, before) for tally, before in zip(shown, [None, *shown], strict=False)]
    table(console, COLUMNS, rows)
    if more:
        say(console, more)
    for sentence in explained(tallies):
        say(console, sentence)
    for sentence in bits_lines(variant_bits(results)):
        say(console, sentence)
    for sentence in refusals(tallies):
        say(console, sentence)


def lines(tallies: list[VariantTally]) -> tuple[list[VariantTally], str]:
    """What the table shows, and a sentence on what it leaves out."""
    applied = [tally for tally in tallies if tally.trials]
    if len(applied) <= SHOWN:
        return applied, ""
    families = [tally for tally in by_family(tallies) if tally.trials]
    if len(families) <= SHOWN:
        return families, "Variants of a family are taken together."
    telling = sorted(families, key=lambda tally: (-tally.found, tally.equal / tally.trials))
    cut = sorted(telling[:SHOWN], key=families.index)
    rest = telling[SHOWN:]
    worst = max((tally.rho or 0.0) for tally in rest)
    return cut, f"And {count(len(rest))} more lines with fewer changed bits, largest rho {short(worst)}."


def sentences(tallies: Sequence[VariantTally]) -> list[str]:
    """The answer in words."""
    found = [tally for tally in tallies if tally.found]
    trials = sum(tally.trials for tally in tallies)
    equal = sum(tally.equal for tally in tallies)
    if not trials:
        return ["None of the variants applies to what ran."]
    rho = max((tally.rho for tally in tallies if tally.rho is not None), default=0.0)
    if found:
        who = dict.fromkeys(
            f"{t.target} {t.operator} under {t.variant}: {_verdicts(t, only_findings=True)}" for t in found
        )
        shown = list(who)[:6]
        rest = f"; and {count(len(who) - len(shown))} more" if len(who) > len(shown) else ""
        return [f"Results change by more than rounding explains: {'; '.join(shown)}{rest}."]
    if equal == trials:
        return [f"No bit changed in {count(trials)} calls under variants."]
    text = (
        f"Other bits in {count(trials - equal)} of {count(trials)} calls ({percent_of(trials - equal, trials)}), and "
        f"no difference beyond what two roundings allow (largest rho {short(rho)}): which kernel runs, and in which "
        "order it adds, depends on how it is called. Neither result is the better one."
    )
    return [text]


def explained(tallies: Sequence[VariantTally]) -> list[str]:
    """What the columns mean."""
    said = [
        "equal bits: trials in which all bits are those of the unwrapped call. rho: the difference divided by what two "
        "roundings allow; up to 2 it is rounding."
    ]
    if any(name == SAME for tally in tallies for name, _ in tally.verdicts):
        said.append(f"{_AS_UNWRAPPED}: beyond rounding whichever way the target is called: its own findings say more.")
    return said


def refusals(tallies: Sequence[VariantTally]) -> list[str]:
    """Why variants do not apply, each reason once."""
    reasons: dict[str, list[str]] = {}
    for tally in tallies:
        if not tally.trials and tally.refused:
            reasons.setdefault(tally.refused, []).append(f"{tally.target} {tally.variant}")
    said = []
    for reason, who in list(reasons.items())[:8]:
        shown = ", ".join(dict.fromkeys(who[:4])) + (f" and {count(len(who) - 4)} more" if len(who) > 4 else "")
        said.append(f"Not run: {shown}: {reason}.")
    if len(reasons) > 8:
        said.append(f"And for {count(len(reasons) - 8)} other reasons (verdict unsupported, column detail).")
    return said


def bits_lines(found: Sequence[VariantBits]) -> list[str]:
    """Which ways of calling give identical bits."""
    several = len({(bits.operator, bits.dtype) for bits in found}) > 1
    said = []
    for bits in found[:BITS_SHOWN]:
        name = f"{bits.target} {bits.operator} in {bits.dtype}" if several else bits.target
        said.append(f"Identical bits, {name}: {_bits(bits)}")
    if len(found) > BITS_SHOWN:
        said.append(f"And {count(len(found) - BITS_SHOWN)} more targets and operators.")
    return said


def _bits(bits: VariantBits) -> str:
    (partition, n), *others = bits.classes.partitions
    if len(partition) == 1:
        told = f"all of {_group(partition[0])}"
    else:
        told = " ".join("{" + _group(group) + "}" for group in partition)
    if not others:
        return f"{told}, in all {count(n)} outputs."
    always = " ".join("{" + _group(group) + "}" for group in bits.classes.always)
    return (
        f"{told} in {count(n)} of {count(bits.classes.outputs)} outputs, {count(len(others))} other splits; in all of "
        f"them {always or 'no two'}."
    )


def _group(names: Sequence[str]) -> str:
    return ", ".join(name or UNWRAPPED for name in names)


def _row(tally: VariantTally, before: VariantTally | None) -> tuple[str | Text, ...]:
    called = f"{tally.operator} {tally.dtype}, {tally.target}"
    same = before is not None and called == f"{before.operator} {before.dtype}, {before.target}"
    return (
        "" if same else called,
        tally.variant,
        count(tally.trials),
        f"{count(tally.equal)} ({percent_of(tally.equal, tally.trials)})",
        short(tally.largest),
        short(tally.rho),
        Text(_verdicts(tally), style="red" if tally.found and not tally.composed else ""),
    )


def _verdicts(tally: VariantTally, only_findings: bool = False) -> str:
    shown = [
        f"{name or _AS_UNWRAPPED} {count(n)}"
        for name, n in tally.verdicts
        if not only_findings or (name and VERDICTS[name].finding)
    ]
    return ", ".join(shown)
