"""Problems for the exploring plan in clusters: few shapes, many recipes for each.

A shape (dims and attributes) that is new costs every target a compilation, half a second together; another recipe costs
a trial, some milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from strategies.contract import Contract
from strategies.generation import Homes, problems, settings, shapes
from strategies.iid import explored
from strategies.problem import Problem
from strategies.sizes import BUDGET

SHAPES, EACH = 4, 32
"""Of a chunk: two seconds of compilation, and about as long in trials."""


def clusters(
    contract: Contract,
    seed: int,
    chunk: int,
    *,
    home: Homes = "float32",
    count: int = SHAPES,
    each: int = EACH,
    families: Sequence[str] | None = None,
    budget: float = BUDGET,
) -> tuple[tuple[Problem, ...], ...]:
    """Up to `count` clusters of up to `each` problems: one cluster's share dims and attributes, none comes twice.

    A pure function of its arguments and of the Hypothesis version (`strategies.iid.explored`). Fewer where there are
    no others: a contract of few shapes, or few recipes.
    """
    drawn = explored(st.tuples(shapes(contract, budget=budget), settings(contract)), seed, chunk, 2 * count)
    distinct = {(tuple(dims.items()), tuple(attributes.items())): None for dims, attributes in drawn}
    found = []
    for number, (dims, attributes) in enumerate(list(distinct)[:count]):
        source = problems(
            contract, home=home, families=families, budget=budget, dims=dict(dims), attributes=dict(attributes)
        )
        explored_here = explored(source, seed, chunk * count + number, 2 * each)
        found.append(tuple(dict.fromkeys(explored_here))[:each])
    return tuple(found)
