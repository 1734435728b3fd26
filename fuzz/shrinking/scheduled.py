"""Simpler schedules and options of a target: fewer moves, smaller numbers, options at their defaults."""

from __future__ import annotations

from msgspec import structs

from fuzz.reproduction.specimen import Specimen
from fuzz.schedules import VECTORS
from fuzz.shrinking.ddmin import ddmin
from fuzz.shrinking.search import Search
from fuzz.targets import Target
from strategies.moves import parsed, spelled

SMALLER = (0, 1, 2, 3)
"""Numbers of a move that are tried before halves of its own."""
_KEPT = frozenset({"impl", *VECTORS})
"""Options that say what is run: another formulation is another kernel, and a schedule has moves of its own."""


def schedule_of(target: Target) -> tuple[int, ...]:
    """The numbers of its moves; none where it has none."""
    text = next((value for name, value in target.options if name in VECTORS), "")
    return tuple(number for move in parsed(text) for number in move)


def with_schedule(target: Target, numbers: tuple[int, ...]) -> Target:
    """The target with other numbers in its moves; as it is where it has none."""
    name = next((name for name, _ in target.options if name in VECTORS), None)
    if name is None:
        return target
    options = {key: value for key, value in target.options if key != name}
    if text := spelled(numbers):
        options[name] = text
    return structs.replace(target, options=tuple(sorted(options.items())))


def fewer_moves(search: Search) -> None:
    """Leave out moves, then lower their numbers, last ones first."""
    specimen = search.best.specimen
    moves = [schedule_of(specimen.target)[i : i + 3] for i in range(0, len(schedule_of(specimen.target)), 3)]
    if not moves:
        return
    numbered = list(enumerate(moves))

    def holds(kept: list[tuple[int, tuple[int, ...]]]) -> bool:
        return search.holds(_rescheduled(specimen, [number for _, move in kept for number in move]))

    if not holds([]):
        ddmin(numbered, holds)
    for place in reversed(range(len(schedule_of(search.best.specimen.target)))):
        _lower(search, place)


def default_options(search: Search) -> None:
    """Each option but formulation and schedule at its default, where the failure does not need it."""
    for name, _ in search.best.specimen.target.options:
        if name not in _KEPT:
            specimen = search.best.specimen
            search.holds(structs.replace(specimen, target=specimen.target.without({name})))


def default_attributes(search: Search) -> None:
    """Each attribute at its default, on the same inputs."""
    from fuzz.operators import operator

    for name, spec in operator(search.best.specimen.problem.operator).contract.attributes:
        specimen = search.best.specimen
        known = dict(specimen.problem.attributes)
        if known[name] != spec.default:
            changed = tuple(sorted((known | {name: spec.default}).items()))
            search.holds(structs.replace(specimen, problem=structs.replace(specimen.problem, attributes=changed)))


def _lower(search: Search, place: int) -> None:
    numbers = list(schedule_of(search.best.specimen.target))
    if place >= len(numbers):
        return
    own = numbers[place]
    what = place % 3 == 0
    for smaller in dict.fromkeys((*SMALLER, own // 4, own // 2)):
        if smaller < own and not (what and smaller == 0):  # moves that do nothing were left out
            numbers[place] = smaller
            if search.holds(_rescheduled(search.best.specimen, numbers)):
                return
            numbers[place] = own


def _rescheduled(specimen: Specimen, numbers: list[int]) -> Specimen:
    return structs.replace(specimen, target=with_schedule(specimen.target, tuple(numbers)))
