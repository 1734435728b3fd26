"""A [[problem]] table whose values are lists stands for every combination of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

_TABLES = ("dims", "attributes", "inputs")


def grid(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The problems that a table stands for: operator, and each dim, attribute and input, may be a list of values.

    An empty list is left as it is, for the check of types to refuse.
    """
    places: list[tuple[str, ...]] = [("operator",)]
    places += [(name, key) for name in _TABLES if isinstance(table.get(name), Mapping) for key in table[name]]
    lists = {place: found for place in places if isinstance(found := _at(table, place), list) and found}
    return [_with(table, dict(zip(lists, choice, strict=True))) for choice in itertools.product(*lists.values())]


def _at(table: Mapping[str, Any], place: tuple[str, ...]) -> Any:
    value: Any = table
    for key in place:
        value = value.get(key)
    return value


def _with(table: Mapping[str, Any], values: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    changed = {key: dict(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    for (*within, key), value in values.items():
        (changed[within[0]] if within else changed)[key] = value
    return changed
