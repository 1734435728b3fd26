"""Sizes for a search, from those that another plan would take."""

from __future__ import annotations

import math
from collections.abc import Mapping

from strategies import sizes
from strategies.contract import Contract

ROOM, BUDGET = 4096, 2.0**17
"""Elements of the largest input below which independent dims grow, and most operations of an evaluation."""


def island(contract: Contract, dims: Mapping[str, int]) -> dict[str, int]:
    """Sizes for a search: none is 0, small independent slices are many, and no evaluation is slow."""
    sized = {dim.name: max(dims[dim.name], dim.minimum, 1) for dim in contract.dims}
    sized = sizes.within(contract, sized, BUDGET)
    growing = [d.name for d in contract.dims if d.batch and all(d.name in spec.dims for spec in contract.inputs)]
    while growing and max(math.prod(shape) for shape in contract.shapes(sized).values()) < ROOM:
        larger = {name: 2 * size if name == growing[0] else size for name, size in sized.items()}
        if sizes.work(contract, larger) > BUDGET:
            break
        sized = sizes.fitted(contract, larger)
    return sized
