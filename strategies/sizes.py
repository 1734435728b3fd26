"""Sizes worth trying for an operator's dims, kept within a budget of work."""

from __future__ import annotations

import math
from collections.abc import Mapping

from strategies.contract import Contract, DimSpec

REDUCED_SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 256, 1000, 1024, 4096)
"""Summed dims: powers of two and their neighbours (vector width, unrolling, blocking, their remainders), long sums."""
PLAIN_SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100)
"""Other dims: the remainders of vector loops; size alone does not make an element worse."""
BATCH_SIZES = (1, 2, 3, 8, 17)
"""Dims with independent slices."""

INNER_SIZES = (*PLAIN_SIZES, 257, 1000, 4097)
"""The last dim of an input, contiguous in memory: what vector loops, their tails and blocks are made for."""

BUDGET = 2e6
"""Default bound on operations, and on elements, of one problem: about a millisecond a target."""


def menus(contract: Contract) -> dict[str, tuple[int, ...]]:
    """`menu` of each dim of the contract."""
    inner = {spec.dims[-1] for spec in contract.inputs if len(spec.dims) == max(len(s.dims) for s in contract.inputs)}
    return {dim.name: menu(dim, inner=dim.name in inner) for dim in contract.dims}


def menu(dim: DimSpec, *, inner: bool = False) -> tuple[int, ...]:
    """Sizes for `dim` except 0, increasing, none below its minimum. `inner`: the last dim of the largest inputs."""
    general = REDUCED_SIZES if dim.reduced else INNER_SIZES if inner else BATCH_SIZES if dim.batch else PLAIN_SIZES
    sizes = dim.sizes or general
    least = max(dim.minimum, 1)
    return tuple(size for size in sizes if size >= least) or (least,)


def work(contract: Contract, dims: Mapping[str, int]) -> float:
    """Operations, or elements of all inputs and outputs where those are more."""
    arrays = (*contract.inputs, *contract.outputs)
    known = {name: 1 for spec in arrays for name in spec.dims if isinstance(name, str)} | dict(dims)
    elements = sum(math.prod(spec.shape(known)) for spec in arrays)
    return max(contract.cost.operations(dims), float(elements))


def within(contract: Contract, dims: Mapping[str, int], budget: float) -> dict[str, int]:
    """`dims` made smaller, along their menus, until they lie within each other and the work within `budget`.

    Where nothing can be made smaller, the work stays above it.

    The largest dim that is not reduced goes first: long reductions are what makes rounding errors grow.
    A deterministic map of what was drawn: rejecting a draw would bend the distribution of the others.
    """
    clamped, sizes = fitted(contract, dims), menus(contract)
    while work(contract, clamped) > budget:
        lowered = [
            (not dim.reduced, clamped[dim.name], dim.name, smaller[-1])
            for dim in contract.dims
            if (smaller := [size for size in sizes[dim.name] if size < clamped[dim.name]])
        ]
        if not lowered:
            break
        _, _, name, size = max(lowered)
        clamped = fitted(contract, clamped | {name: size})
    return clamped


def fitted(contract: Contract, dims: Mapping[str, int]) -> dict[str, int]:
    """`dims` with each one that has to lie within another no larger than that (and at least its minimum)."""
    limits = {dim.name: dims[dim.within] for dim in contract.dims if dim.within}
    least = {dim.name: dim.minimum for dim in contract.dims}
    return {name: max(min(size, limits.get(name, size)), least[name]) for name, size in dims.items()}
