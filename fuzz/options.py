"""Random settings of options as further targets: which options a backend has for an operator, and draws of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import structs

from fuzz.backends import backend
from fuzz.backends.base import Unsupported
from fuzz.operators import operator as registered
from fuzz.targets import Target
from strategies.canonical import identity

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def table(target: Target, operator: str) -> dict[str, tuple[str, ...]]:
    """Options of the target's backend that may matter to the operator and are free, with their values.

    Left out are those that the target sets, those that have to be named (`OptionSpec.drawn`), and everything where the
    backend does not offer the operator.
    """
    try:
        implementation = target.implementation(operator)
    except Unsupported:
        return {}
    contract, taken = registered(operator).contract, dict(target.options)
    return {
        spec.name: spec.values
        for spec in backend(target.backend).options
        if spec.name not in taken and len(spec.values) > 1 and spec.suits(contract, implementation)
    }


def targets_of(target: Target, operator: str) -> SearchStrategy[Target]:
    """The target under random settings of its free options; shrinks to the target itself."""
    from strategies.option_settings import options

    return options(table(target, operator)).map(lambda setting: _set(target, setting))


def drawn(target: Target, operator: str, number: int, seed: int, about: Mapping[str, object]) -> tuple[Target, ...]:
    """`number` different settings that are not all defaults, or all there are where there are fewer.

    Independent draws: a pure function of the seed, the target and `about` (what they are for).
    """
    from strategies.iid import independent
    from strategies.option_settings import count, options

    free = table(target, operator)
    number = min(number, count(free) - 1)
    named = target.spelling(target.dtype)
    start = int(identity({"seed": seed, "target": named, "option": "", "of": dict(about)}), 16)
    found: dict[tuple[tuple[str, str], ...], None] = {}
    chunk = 0
    while len(found) < number:
        found.update(dict.fromkeys(filter(None, independent(options(free), start, chunk, number))))
        chunk += 1
    return tuple(_set(target, setting) for setting in list(found)[:number])


def _set(target: Target, setting: tuple[tuple[str, str], ...]) -> Target:
    return structs.replace(target, options=tuple(sorted((*target.options, *setting))))
