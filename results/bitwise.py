"""Which targets give the same bits: classes of equal output digests, trial by trial."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from results.reading import Results

Partition: TypeAlias = tuple[tuple[str, ...], ...]
"""Targets grouped by equal bits, largest group first."""


class BitwiseClasses(Struct, frozen=True):
    """How the targets split by equal bits."""

    outputs: int
    """Outputs compared: trials, times outputs of the operator."""
    always: Partition
    """Groups of two or more targets whose bits were equal in every output that they share."""
    partitions: tuple[tuple[Partition, int], ...]
    """Each split that occurred with the number of outputs, the most frequent first."""


def bitwise_classes(results: Results) -> BitwiseClasses:
    """Group the targets by `output_digest` within each trial and output; one target alone makes no class."""
    rows = results.tallied("SELECT classes, n FROM partitions ORDER BY n DESC, classes")
    return split_classes([(row["classes"], row["n"]) for row in rows])


def split_classes(splits: Iterable[tuple[str, int]], order: Callable[[str], int] = lambda name: 0) -> BitwiseClasses:
    """Of splits as `results.partitions` writes them, with the outputs of each; names of a group in `order`."""
    partitions = tuple((_partition(text, order), n) for text, n in splits)
    outputs = sum(n for _, n in partitions)
    always = _always_equal(partition for partition, _ in partitions)
    return BitwiseClasses(outputs, tuple(tuple(sorted(group, key=order)) for group in always), partitions)


def _partition(text: str, order: Callable[[str], int]) -> Partition:
    groups: dict[str, list[str]] = {}
    for line in text.split("\n"):
        target, _, leader = line.partition("\t")
        groups.setdefault(leader, []).append(target)
    ordered = (tuple(sorted(found, key=order)) for found in groups.values())
    return tuple(sorted(ordered, key=lambda group: (-len(group), *map(order, group), group)))


def _always_equal(partitions: Iterable[Partition]) -> Partition:
    """Targets that share a group in every partition in which both occur, and in at least one."""
    together: set[tuple[str, str]] = set()
    apart: set[tuple[str, str]] = set()
    for partition in partitions:
        group_of = {target: group for group in partition for target in group}
        for one, group in group_of.items():
            for other in group_of:
                (together if other in group else apart).add((one, other))
    classes: list[list[str]] = []
    for target in sorted({one for one, _ in together}):
        for found in classes:
            if all((target, other) in together - apart for other in found):
                found.append(target)
                break
        else:
            classes.append([target])
    return tuple(tuple(found) for found in classes if len(found) > 1)
