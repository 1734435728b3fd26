"""Variants: the same target on the same data, called in another way. What changed, by how much, and what did not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from results.bitwise import BitwiseClasses, split_classes
from results.variant_tables import SAME
from results.verdicts import VERDICTS

if TYPE_CHECKING:
    from results.reading import Results

UNWRAPPED = "unwrapped"
"""How the call as it is is called among variants."""
_VALUE = re.compile(r"([a-z_]+)(?:\[(.*)\])?")


class VariantTally(Struct, frozen=True, kw_only=True):
    """One variant of one operator, dtype and target against the unwrapped call. A trial counts once, with its worst
    output."""

    operator: str
    dtype: str
    target: str
    variant: str
    """One, or a family."""
    trials: int
    """With an outcome; without those to which the variant does not apply."""
    equal: int
    """Of these, trials in which all bits are those of the unwrapped call."""
    largest: float | None
    """Largest absolute difference."""
    rho: float | None
    """The largest in units of what two roundings allow."""
    verdicts: tuple[tuple[str, int], ...]
    """Trials by verdict, in order of severity; "" stands for errors that the unwrapped call has as well."""
    composed: bool
    """Whether ulpfuzz wrote the formulation: nothing is blamed on the library."""
    refused: str
    """Why it does not apply, where it does not; one reason of several."""

    @property
    def found(self) -> int:
        """Trials with a finding."""
        return sum(n for name, n in self.verdicts if name and VERDICTS[name].finding)

    @property
    def worst(self) -> str:
        return self.verdicts[-1][0] if self.verdicts else ""

    @property
    def family(self) -> str:
        return family(self.variant)


class VariantBits(Struct, frozen=True):
    """Which ways of calling one target give equal bits."""

    operator: str
    dtype: str
    target: str
    classes: BitwiseClasses


def family(variant: str) -> str:
    """batch of batch[8]."""
    return variant.partition("[")[0]


def variant_tallies(results: Results) -> list[VariantTally]:
    """One tally an operator, dtype, target and variant, in the order in which the campaign names variants."""
    rows = results.tallied("SELECT * FROM varied")
    groups: dict[tuple[str, str, str, str], list[dict[str, object]]] = {}
    for row in rows:
        groups.setdefault((row["operator"], row["dtype"], row["target"], row["variant"]), []).append(row)
    found = [_tally(key, group) for key, group in groups.items()]
    order = _order(results)
    return sorted(found, key=lambda t: (t.operator, t.dtype, t.target, order.get(t.variant, len(order)), t.variant))


def by_family(tallies: list[VariantTally]) -> list[VariantTally]:
    """The same with the variants of a family taken together: their trials are added."""
    groups: dict[tuple[str, str, str, str], list[VariantTally]] = {}
    for tally in tallies:
        groups.setdefault((tally.operator, tally.dtype, tally.target, tally.family), []).append(tally)
    return [_together(key, group) for key, group in groups.items()]


def variant_bits(results: Results) -> list[VariantBits]:
    """Equal bits by operator, dtype and target."""
    rows = results.tallied("SELECT * FROM splits ORDER BY operator, dtype, target, n DESC, classes")
    groups: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for row in rows:
        groups.setdefault((row["operator"], row["dtype"], row["target"]), []).append((row["classes"], row["n"]))
    order = _order(results)
    return [VariantBits(*key, split_classes(found, lambda name: order.get(name, 0))) for key, found in groups.items()]


def _order(results: Results) -> dict[str, int]:
    """Position of each variant in the campaigns' own lists; the unwrapped call comes first."""
    of = [one for manifest in results.manifests for one in (manifest, *(manifest.get("cells") or ()))]
    named = [name for one in of for name in one.get("variants") or ()]
    return {name: position for position, name in enumerate(dict.fromkeys(["", *named]))}


def _tally(key: tuple[str, str, str, str], rows: list[dict[str, object]]) -> VariantTally:
    counts: dict[str, int] = {}
    for row in rows:
        counts[str(row["verdict"])] = counts.get(str(row["verdict"]), 0) + _whole(row["n"])
    refused = [str(row["reason"]) for row in rows if row["verdict"] == "unsupported"]
    counts.pop("unsupported", None)
    return VariantTally(
        operator=key[0],
        dtype=key[1],
        target=key[2],
        variant=key[3],
        trials=sum(counts.values()),
        equal=sum(_whole(row["equal"]) for row in rows),
        largest=_largest([row["abs"] for row in rows]),
        rho=_largest([row["rho"] for row in rows]),
        verdicts=tuple(sorted(counts.items(), key=lambda item: _severity(item[0]))),
        composed=any(bool(row["composed"]) for row in rows),
        refused=min(refused, default=""),
    )


def _together(key: tuple[str, str, str, str], tallies: list[VariantTally]) -> VariantTally:
    counts: dict[str, int] = {}
    for tally in tallies:
        for name, n in tally.verdicts:
            counts[name] = counts.get(name, 0) + n
    applied = [tally for tally in tallies if tally.trials]
    return VariantTally(
        operator=key[0],
        dtype=key[1],
        target=key[2],
        variant=key[3] if len(applied) != 1 else applied[0].variant,
        trials=sum(tally.trials for tally in tallies),
        equal=sum(tally.equal for tally in tallies),
        largest=_largest([tally.largest for tally in tallies]),
        rho=_largest([tally.rho for tally in tallies]),
        verdicts=tuple(sorted(counts.items(), key=lambda item: _severity(item[0]))),
        composed=any(tally.composed for tally in tallies),
        refused="" if applied else min(tally.refused for tally in tallies),
    )


def _severity(name: str) -> float:
    return VERDICTS["accumulation_order"].severity + 0.5 if name == SAME else VERDICTS[name].severity


def _largest(values: list[object]) -> float | None:
    """NaN, where there is one: nothing is larger."""
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if any(number != number for number in numbers):
        return float("nan")
    return max(numbers, default=None)


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
