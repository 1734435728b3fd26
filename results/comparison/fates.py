"""What became of findings: new, fixed, still there, or not run on the other side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from results.comparison.design import Plans
from results.comparison.pairing import Pairing
from results.comparison.trials import Trials
from results.findings import SIGNATURE, FindingGroup, trials_of
from results.statistics.proportions import SIGNIFICANCE

if TYPE_CHECKING:
    from results.reading import Results

Fate: TypeAlias = Literal["new", "fixed", "still there", "not seen again", "not run there"]

Ran: TypeAlias = Mapping[tuple[str, str, str], Trials]
"""Trials by operator, dtype and target."""


class Traced(Struct, frozen=True):
    """A finding of one or both sides, and what became of it."""

    fate: Fate
    first: FindingGroup | None
    second: FindingGroup | None
    why: str
    """In one sentence: what the fate rests on."""
    again: int = 0
    """Trials that have it on one side and ran on the other, with the same inputs."""
    chance: float | None = None
    """Probability that all trials with it fall on this side, were it equally frequent on both; None where the very same
    trials tell."""

    @property
    def group(self) -> FindingGroup:
        found = self.second or self.first
        assert found is not None
        return found


def trace(first: Results, second: Results, ran: tuple[Ran, Ran], pairing: Pairing, plans: Plans) -> tuple[Traced, ...]:
    """Findings against libraries and user code of both sides: the new ones first, the most severe first in each kind.

    Findings are the same where their signatures are; device and options may differ where targets were paired although
    their spelling does, and the region where one campaign is too old to name any.
    """
    spelled = _Spelling(pairing)
    one = {spelled.key(group, 0): group for group in first.findings}
    other = {spelled.key(group, 1): group for group in second.findings}
    found: list[Traced] = []
    for key, group in other.items():
        if (before := _same_finding(key, one)) is not None:
            found.append(Traced("still there", before, group, _both(before, group)))
        else:
            found.append(_one_sided(second, group, 1, ran, spelled, plans))
    for key, group in one.items():
        if _same_finding(key, other) is None:
            found.append(_one_sided(first, group, 0, ran, spelled, plans))
    order: Sequence[Fate] = ("new", "fixed", "not seen again", "still there", "not run there")
    return tuple(sorted(found, key=lambda item: order.index(item.fate)))


def _same_finding(key: tuple[str, ...], there: Mapping[tuple[str, ...], FindingGroup]) -> FindingGroup | None:
    """That of the same key; where one of the two has no region, as in rows of schema version 1, that of any region."""
    if key in there:
        return there[key]
    place = SIGNATURE.index("region")
    bare = _without(key, place)
    alike = (
        group for other, group in there.items() if _without(other, place) == bare and not (key[place] and other[place])
    )
    return next(alike, None)


def _without(key: tuple[str, ...], place: int) -> tuple[str, ...]:
    return key[:place] + key[place + 1 :]


class _Spelling:
    """Names of paired targets, in either direction."""

    def __init__(self, pairing: Pairing) -> None:
        self._pairs = {
            (side, p.operator, p.dtype, (p.first, p.second)[side]): p for p in pairing.pairs for side in (0, 1)
        }

    def there(self, group: FindingGroup, side: int) -> str | None:
        """The target on the other side; None where there is none."""
        pair = self._pairs.get((side, group.operator, group.dtype, group.target))
        return None if pair is None else (pair.second, pair.first)[side]

    def key(self, group: FindingGroup, side: int) -> tuple[str, ...]:
        """The signature, with the first side's name for a pair of targets that are spelled differently."""
        signature = group.signature
        pair = self._pairs.get((side, group.operator, group.dtype, group.target))
        if pair is not None and pair.respelled:
            signature |= {"device": "", "options": pair.target}
        return tuple(signature.values())


def _one_sided(
    results: Results, group: FindingGroup, side: int, ran: tuple[Ran, Ran], spelled: _Spelling, plans: Plans
) -> Traced:
    """The fate of a finding of one side only."""
    there = spelled.there(group, side)
    place = ("the second campaign", "the first campaign")[side]
    mine = ran[side].get((group.operator, group.dtype, group.target))
    theirs = ran[1 - side].get((group.operator, group.dtype, there)) if there else None
    if mine is None or theirs is None:
        why = f"{place} did not run this target on {group.operator} in {group.dtype}"
        return _traced("not run there", group, side, why)
    seen = trials_of(results, group)
    gone: Fate = "new" if side else "fixed"
    if again := sum(_same(mine, theirs, seen)):
        noun = "trial that has it ran" if again == 1 else "trials that have it ran"
        return _traced(gone, group, side, f"{again:,} {noun} in {place}, too, and {_passes(again)} there", again)
    k, n, m = _comparable(mine, theirs, seen, plans)
    if not k or not m:
        return _traced("not run there", group, side, f"{place} did not run the problems in which it was seen")
    chance = all_on_one_side(k, n, m)
    why = f"{k:,} of {n:,} trials here, none of {m:,} in {place}; were it as frequent there, p = {chance:.2g}"
    if chance >= SIGNIFICANCE:
        fate: Fate = "new" if side else "not seen again"
        return _traced(fate, group, side, f"{why}: chance explains it", 0, chance)
    return _traced(gone, group, side, why, 0, chance)


def _traced(
    fate: Fate, group: FindingGroup, side: int, why: str, again: int = 0, chance: float | None = None
) -> Traced:
    first, second = (None, group) if side else (group, None)
    return Traced(fate, first, second, why, again, chance)


def all_on_one_side(k: int, n: int, m: int) -> float:
    """Probability that k events in n + m equal trials all fall into the n: C(n, k)/C(n + m, k).

    The one-sided exact test of Fisher (Statistical Methods for Research Workers, 1934, section 21.02) where the other
    side has none.
    """
    product = 1.0
    for position in range(k):
        product *= (n - position) / (n + m - position)
    return product


def _same(here: Trials, there: Trials, seen: Sequence[str]) -> Iterator[bool]:
    """For each trial in `seen`, whether the other side ran it with equal inputs."""
    mine = dict(zip(here.keys.tolist(), here.inputs.tolist(), strict=True))
    theirs = dict(zip(there.keys.tolist(), there.inputs.tolist(), strict=True))
    for key in seen:
        if key in theirs:
            one, other = mine.get(key), theirs[key]
            yield None in (one, other) or one == other
        else:
            yield False


def _comparable(here: Trials, there: Trials, seen: Sequence[str], plans: Plans) -> tuple[int, int, int]:
    """Trials with the finding, trials here, trials there: of the problems that have it, or of the population."""
    if plans.plan == "survey" and plans.one_draw:
        return (len(seen), len(here), len(there)) if plans.same_population else (0, 0, 0)
    there_problems = set(there.problems.tolist())
    problems = {key.partition("/")[0] for key in seen} & there_problems
    k = sum(key.partition("/")[0] in problems for key in seen)
    n = sum(name in problems for name in here.problems.tolist())
    m = sum(name in problems for name in there.problems.tolist())
    return k, n, m


def _passes(again: int) -> str:
    return "does not have it" if again == 1 else "none of them has it"


def _both(one: FindingGroup, other: FindingGroup) -> str:
    return f"{one.trials:,} of {one.of_trials:,} trials before, {other.trials:,} of {other.of_trials:,} after"
