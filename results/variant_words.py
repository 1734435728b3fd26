"""Sentences about variants, for whoever writes them down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from results.layout import count, percent_of, short
from results.variant_tables import SAME
from results.variants import UNWRAPPED, VariantBits, VariantTally, family
from results.verdicts import VERDICTS

AS_UNWRAPPED = "as unwrapped"
_NAMED, _BITS, _REASONS, _WHO = 6, 24, 8, 3
"""Findings, targets, reasons and targets of a reason that are named; the others are counted."""


def answer(tallies: Sequence[VariantTally]) -> list[str]:
    """Whether anything changed, by how much, and whether rounding explains it."""
    trials, equal = sum(tally.trials for tally in tallies), sum(tally.equal for tally in tallies)
    if not trials:
        return ["None of the variants applies to what ran."]
    rho = max((tally.rho for tally in tallies if tally.rho is not None), default=0.0)
    if any(tally.found for tally in tallies):
        return [f"Results change by more than rounding explains: {_accused(tallies)}."]
    if equal == trials:
        return [f"No bit changed in {count(trials)} calls under variants."]
    other = f"Other bits in {count(trials - equal)} of {count(trials)} calls ({percent_of(trials - equal, trials)})"
    if any(name == SAME for tally in tallies for name, _ in tally.verdicts):
        return [f"{other}; where they differ by more than rounding explains, the unwrapped call is as far off itself."]
    return [
        f"{other}, and no difference beyond what two roundings allow (largest rho {short(rho)}): which kernel runs, "
        "and in which order it adds, depends on how it is called. Neither result is the better one."
    ]


def _accused(tallies: Sequence[VariantTally]) -> str:
    """Who is accused of what, the variants of a family together."""
    groups: dict[str, list[str]] = {}
    for tally in tallies:
        for name, _ in tally.verdicts:
            if name and VERDICTS[name].finding:
                groups.setdefault(f"{tally.target} {tally.operator} {name}", []).append(tally.variant)
    told = [f"{who} under {', '.join(names)}" for who, names in groups.items()]
    return "; ".join([*told[:_NAMED], *([f"and {count(len(told) - _NAMED)} more"] if len(told) > _NAMED else [])])


def explained(tallies: Sequence[VariantTally]) -> list[str]:
    """What the columns mean."""
    said = [
        "equal bits: trials in which all bits are those of the unwrapped call. rho: the difference divided by what two "
        "roundings allow; up to 2 it is rounding."
    ]
    if any(name == SAME for tally in tallies for name, _ in tally.verdicts):
        said.append(f"{AS_UNWRAPPED}: beyond rounding whichever way the target is called; its own verdicts say more.")
    return said


def verdicts(tally: VariantTally) -> str:
    """Trials by verdict, the most severe first."""
    return ", ".join(f"{name or AS_UNWRAPPED} {count(n)}" for name, n in reversed(tally.verdicts))


def refusals(tallies: Sequence[VariantTally]) -> list[str]:
    """Why variants do not apply, each reason once."""
    reasons: dict[str, list[VariantTally]] = {}
    for tally in tallies:
        if not tally.trials and tally.refused:
            reasons.setdefault(tally.refused, []).append(tally)
    said = []
    for reason, those in list(reasons.items())[:_REASONS]:
        names = list(dict.fromkeys(tally.variant for tally in those))
        whose = list(dict.fromkeys(f"{tally.target} {tally.operator}" for tally in those))
        more = f" and {count(len(whose) - _WHO)} more" if len(whose) > _WHO else ""
        said.append(f"Not run: {', '.join(names)} of {', '.join(whose[:_WHO])}{more}: {reason}.")
    if len(reasons) > _REASONS:
        said.append(f"And for {count(len(reasons) - _REASONS)} other reasons (verdict unsupported, column detail).")
    return said


def bits(found: Sequence[VariantBits]) -> list[str]:
    """Which ways of calling give identical bits, a sentence a target."""
    several = len({(one.operator, one.dtype) for one in found}) > 1
    said = []
    for one in found[:_BITS]:
        name = f"{one.target} {one.operator} in {one.dtype}" if several else one.target
        said.append(f"Identical bits, {name}: {_classes(one)}")
    if len(found) > _BITS:
        said.append(f"And {count(len(found) - _BITS)} more targets and operators.")
    return said


def _classes(one: VariantBits) -> str:
    (partition, n), *others = one.classes.partitions
    sizes = _by_family(name for group in partition for name in group)
    told = " ".join("{" + _group(group, sizes) + "}" for group in partition)
    if len(partition) == 1:
        told = f"{_group(partition[0], sizes)} all alike"
    if not others:
        return f"{told}, in all {count(n)} outputs."
    always = " ".join("{" + _group(group, sizes) + "}" for group in one.classes.always)
    return (
        f"{told} in {count(n)} of {count(one.classes.outputs)} outputs, {count(len(others))} other splits; in all of "
        f"them {always or 'no two'}."
    )


def _by_family(names: Iterable[str]) -> dict[str, int]:
    """How many variants of each family there are."""
    counted: dict[str, int] = {}
    for name in names:
        counted[family(name)] = counted.get(family(name), 0) + 1
    return counted


def _group(names: Sequence[str], sizes: Mapping[str, int]) -> str:
    """The names of a class; the family in the place of all of its variants."""
    here = _by_family(names)
    told = []
    for name in names:
        whole = here[family(name)] == sizes.get(family(name), 0) > 1
        told.append(f"every {family(name)}" if whole else name or UNWRAPPED)
    return ", ".join(dict.fromkeys(told))
