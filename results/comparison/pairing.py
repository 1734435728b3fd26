"""Which target of one campaign is compared with which target of the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

Ran: TypeAlias = tuple[str, str, str, str]
"""operator, dtype, target, backend."""


class TargetPair(Struct, frozen=True, order=True):
    """A target of each side that ran one operator in one dtype."""

    operator: str
    dtype: str
    first: str
    second: str

    @property
    def respelled(self) -> bool:
        """Paired as the only target of its backend on each side: another device, other options."""
        return self.first != self.second

    @property
    def target(self) -> str:
        return f"{self.first} -> {self.second}" if self.respelled else self.first


class Alone(Struct, frozen=True, order=True):
    """What ran on one side only; the operators of a target and dtype together."""

    side: int
    """0 for the first campaign, 1 for the second."""
    target: str
    dtype: str
    operators: tuple[str, ...]


class Pairing(Struct, frozen=True):
    """Everything that ran, paired or not."""

    pairs: tuple[TargetPair, ...]
    alone: tuple[Alone, ...]


def pair_targets(first: Sequence[Ran], second: Sequence[Ran]) -> Pairing:
    """Pair targets of equal spelling; then, where an operator and dtype has exactly one target of a backend on each
    side, these two, however they are spelled."""
    pairs: list[TargetPair] = []
    left: list[tuple[int, Ran]] = []
    ran = (_by_backend(first), _by_backend(second))
    for key in sorted(ran[0].keys() | ran[1].keys()):
        operator, dtype, backend = key
        one, other = ran[0].get(key, []), ran[1].get(key, [])
        both = [target for target in one if target in other]
        pairs.extend(TargetPair(operator, dtype, target, target) for target in both)
        if not both and len(one) == len(other) == 1:
            pairs.append(TargetPair(operator, dtype, one[0], other[0]))
            continue
        for side, targets in enumerate((one, other)):
            left.extend((side, (operator, dtype, target, backend)) for target in targets if target not in both)
    return Pairing(tuple(sorted(pairs)), _alone(left))


def _by_backend(ran: Iterable[Ran]) -> dict[tuple[str, str, str], list[str]]:
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for operator, dtype, target, backend in ran:
        found[operator, dtype, backend].append(target)
    return found


def _alone(left: Iterable[tuple[int, Ran]]) -> tuple[Alone, ...]:
    operators: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    for side, (operator, dtype, target, _) in left:
        operators[side, target, dtype].add(operator)
    return tuple(sorted(Alone(*key, tuple(sorted(names))) for key, names in operators.items()))
