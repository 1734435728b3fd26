"""Variants by family: one module a kind, one line here.

`batch[8]` names one, `batch` the usual ones of a family, `all` those of every family that costs no more than a call.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from fuzz.errors import UserError, unknown
from fuzz.variants import batches, layouts, permutations, positions, processes, repeats, settings
from fuzz.variants.base import Family, Variant
from strategies.contract import ContractError

FAMILIES: dict[str, Family] = {
    family.name: family
    for module in (repeats, batches, positions, layouts, permutations, settings, processes)
    for family in module.FAMILIES
}
ALL = "all"
_FORM = re.compile(r"(?P<family>[a-z_]+)(?:\[(?P<value>[^\[\]]*)\])?")


def expanded(texts: Iterable[str]) -> tuple[str, ...]:
    """Canonical ids of the variants that a user names, each once. UserError, one line, for what is none."""
    found: dict[str, None] = {}
    for text in texts:
        for one in _named(text.strip()):
            found[one.id] = None
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def variant(name: str) -> Variant:
    """The variant of a canonical id."""
    (found,) = _named(name)
    return found


def _named(text: str) -> list[Variant]:
    if text == ALL:
        return [one for family in FAMILIES.values() if family.in_all for one in _usual(family)]
    match = _FORM.fullmatch(text)
    if match is None:
        raise UserError(f"cannot read variant {text!r}: write a family such as batch, one such as batch[8], or all")
    if match["family"] not in FAMILIES:
        raise unknown("variant", match["family"], [*FAMILIES, ALL])
    family = FAMILIES[match["family"]]
    if match["value"] is None:
        if not family.values:
            raise UserError(f"variant {text} needs a value: {family.doc}")
        return _usual(family)
    try:
        return [Variant(family, family.canonical(match["value"].strip()))]
    except ContractError as error:
        raise UserError(f"variant {text}: {error}") from None


def _usual(family: Family) -> list[Variant]:
    return [Variant(family, value) for value in family.values]
