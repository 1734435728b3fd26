"""A Hypothesis strategy for settings of options: flat, from bounded choices only, shrinking to the defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from strategies.contract import ContractError

Setting: TypeAlias = tuple[tuple[str, str], ...]
"""Name and value of each option that is not at its default, sorted by name."""


def options(table: Mapping[str, Sequence[str]]) -> SearchStrategy[Setting]:
    """Settings of options: `table` has the values of each, the default first. Every setting is equally likely.

    Shrinks to (), all defaults, value by value towards the front. Nothing is rejected, so that `strategies.iid` can
    draw from it independently. Raises ContractError for an option without values, or with a value twice.
    """
    for name, values in table.items():
        if not values or len(set(values)) < len(values):
            raise ContractError(f"option {name} has the values {', '.join(values) or 'none'}: name each once")
    names = sorted(table)
    chosen = st.tuples(*(st.sampled_from(tuple(table[name])) for name in names))
    return chosen.map(lambda values: tuple((n, v) for n, v in zip(names, values, strict=True) if v != table[n][0]))


def count(table: Mapping[str, Sequence[str]]) -> int:
    """Number of different settings, the defaults among them."""
    return math.prod(len(values) for values in table.values())
