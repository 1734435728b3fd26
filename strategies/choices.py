"""What `problems` chooses recipes from, as a value, and the chance of each choice: surveys are tested against it."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence

from msgspec import Struct

from strategies.contract import Contract, ContractError
from strategies.families import FAMILIES, menus
from strategies.joint import JOINT_FAMILIES, joint_menus
from strategies.precision import DType
from strategies.recipe import Recipe

POPULATION = "problems-2"
"""Name of the population of problems of a contract. Another table of families, sizes or chances gets another name."""


class Way(enum.Enum):
    """How the recipes of several inputs go together."""

    APART = "each input from a family of its own"
    TOGETHER = "all inputs from one family: all offset, all tiny, all huge"
    JOINT = "two inputs from a joint recipe, the others apart"


WAYS = (Way.APART, Way.APART, Way.TOGETHER, Way.JOINT)
"""Equally likely, where the contract has them; the simplest first."""


class Choices(Struct, frozen=True):
    """Menus of a contract at a home dtype."""

    inputs: tuple[str, ...]
    apart: tuple[dict[str, tuple[Recipe, ...]], ...]
    """Per input: recipes by family."""
    together: tuple[str, ...]
    """Families that every input has."""
    joint: dict[str, tuple[Recipe, ...]]
    ways: tuple[Way, ...]


def choices(contract: Contract, home: DType, families: Sequence[str] | None = None) -> Choices:
    """The menus of the named families, of `FAMILIES` and `JOINT_FAMILIES` (default: all).

    ContractError for an unknown family, or when none suits an input by itself.
    """
    known = (*FAMILIES, *JOINT_FAMILIES)
    names = known if families is None else tuple(families)
    for name in names:
        if name not in known:
            raise ContractError(f"unknown family {name!r}: use one of {', '.join(known)}")
    return _choices(contract, home, names)


@functools.lru_cache(maxsize=256)
def _choices(contract: Contract, home: DType, names: tuple[str, ...]) -> Choices:
    """Reading some hundred expressions takes up to 50 ms: campaigns ask for the same menus block after block."""
    single = [name for name in names if name in FAMILIES]
    if not single:
        raise ContractError(f"{', '.join(names)} fill two inputs only: add a family for the others, such as 'default'")
    apart = tuple(menus(spec, home, single) for spec in contract.inputs)
    together = tuple(name for name in single if all(name in menu for menu in apart))
    joint = joint_menus(contract, home, [name for name in names if name in JOINT_FAMILIES])
    offered = {Way.APART: True, Way.TOGETHER: len(apart) > 1 and bool(together), Way.JOINT: bool(joint)}
    return Choices(
        tuple(spec.name for spec in contract.inputs), apart, together, joint, tuple(way for way in WAYS if offered[way])
    )


def chances(offered: Choices) -> tuple[Mapping[Recipe, float], ...]:
    """Per input, the probability of each recipe that fills it."""
    return tuple(_chances_of(offered, name, menu) for name, menu in zip(offered.inputs, offered.apart, strict=True))


def _chances_of(offered: Choices, name: str, menu: Mapping[str, tuple[Recipe, ...]]) -> Mapping[Recipe, float]:
    found: dict[Recipe, float] = {}

    def add(recipes: Sequence[Recipe], chance: float) -> None:
        for recipe in recipes:
            found[recipe] = found.get(recipe, 0.0) + chance / len(recipes)

    each = 1 / len(offered.ways)
    apart = each * offered.ways.count(Way.APART)
    if Way.TOGETHER in offered.ways:
        for family in offered.together:
            add(menu[family], each / len(offered.together))
    if Way.JOINT in offered.ways:
        for recipes in offered.joint.values():
            for recipe in recipes:
                share = each / len(offered.joint) / len(recipes)
                if name in recipe.fills:
                    add((recipe,), share)
                else:
                    apart += share
    for recipes in menu.values():
        add(recipes, apart / len(menu))
    return found
