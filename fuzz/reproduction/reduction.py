"""Smaller and rounder inputs on which a specimen still fails in the same way, by about as much."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fuzz.backends.base import Array
from fuzz.region import elementwise
from fuzz.reproduction.specimen import RHO, Examiner, Failing, Specimen
from strategies.contract import Contract

DECADE = 10.0
"""A failure smaller than the first by more is another one."""
SHAPES = 60
"""Shapes tried at most: a kernel is compiled for each."""
SECONDS = 60.0
"""A reduction takes no longer: what it has reached by then is kept."""
LENGTHS = (1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65)
"""Lengths tried for arrays of one repeated element: below, at and above the widths of vectors."""
PLACES = 12
"""Where in a dim a shorter piece is looked for."""
DIGITS = (1, 2, 3, 4, 5, 6, 7)

Holds = Callable[[Specimen], "Failing | None"]


class Stage(NamedTuple):
    """A specimen and how it fails."""

    specimen: Specimen
    failing: Failing


def stages(examiner: Examiner, first: Specimen, failing: Failing, kinds: tuple[str, ...]) -> list[Stage]:
    """The specimen itself, then the shortest arrays found, then these with rounder numbers."""
    deadline = time.monotonic() + SECONDS
    shapes = {first.problem.dims}

    def holds(specimen: Specimen) -> Failing | None:
        shapes.add(specimen.problem.dims)
        if time.monotonic() > deadline or len(shapes) > SHAPES:
            return None
        try:
            found = examiner.examine(specimen, kinds, failing.output)
        except (ValueError, TypeError, IndexError, ArithmeticError):  # no problem of this operator
            return None
        return found if found is not None and _alike(found, failing) else None

    contract = examiner.bench(first).contract
    shorter = _one_element if elementwise(contract) else _fewer_slices
    found = [Stage(first, failing)]
    found.append(shorter(contract, *found[-1], holds))
    found.append(_rounder(*found[-1], holds))
    return found


def _alike(found: Failing, first: Failing) -> bool:
    if found.kind != first.kind:
        return False
    return math.isinf(found.size) or found.size >= first.size / DECADE or found.kind != RHO


def _one_element(contract: Contract, specimen: Specimen, failing: Failing, holds: Holds) -> Stage:
    """The failing element alone, or as often as it takes (a vector body), or the shortest piece around it."""
    flat = {name: values.reshape(-1) for name, values in specimen.arrays.items()}
    size = next(iter(flat.values())).size
    at = max(failing.position, 0)
    name_of_dim = contract.dims[0].name
    for length in (n for n in LENGTHS if n == 1 or n < size):
        repeated = {name: np.full(length, values[at], values.dtype) for name, values in flat.items()}
        candidate = specimen.with_arrays(repeated, {name_of_dim: length})
        if (found := holds(candidate)) is not None:
            return Stage(candidate, found)
    best = Stage(specimen, failing)
    length = size
    while length > 1:
        length //= 2
        start = min(
            max(best.failing.position - length // 2, 0), max(next(iter(best.specimen.arrays.values())).size - length, 0)
        )
        piece = {name: values[start : start + length].copy() for name, values in best.specimen.arrays.items()}
        candidate = specimen.with_arrays(piece, {name_of_dim: length})
        if (found := holds(candidate)) is None:
            break
        best = Stage(candidate, found)
    return best


def _fewer_slices(contract: Contract, specimen: Specimen, failing: Failing, holds: Holds) -> Stage:
    """Fewer indices of every dim: one where the element's slice has one, else halves as long as the failure stays."""
    best = Stage(specimen, failing)
    progress = True
    while progress:
        progress = False
        for name, size in sorted(best.specimen.problem.dims, key=lambda item: -item[1]):
            for start, stop in _pieces(contract, name, size):
                candidate = _cut(contract, best.specimen, name, start, stop)
                if candidate is not None and (found := holds(candidate)) is not None:
                    best, progress = Stage(candidate, found), True
                    break
    return best


def _pieces(contract: Contract, name: str, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of indices to keep, the shortest first, each length at several places: the kernel is the same there."""
    dim = next(d for d in contract.dims if d.name == name)
    least = max(dim.minimum, 1)
    tried: set[tuple[int, int]] = set()
    half = max(-(-size // 2), least)
    eighth = max(-(-size // 8), least)
    for length in (least, least + 1, eighth, half, size - 1):
        if least <= length < size:
            for place in range(PLACES):
                start = (size - length) * place // (PLACES - 1)
                if (start, start + length) not in tried:
                    tried.add((start, start + length))
                    yield start, start + length


def _cut(contract: Contract, specimen: Specimen, name: str, start: int, stop: int) -> Specimen | None:
    """The specimen with indices start..stop of the dim `name`; None where sizes would contradict."""
    dims = dict(specimen.problem.dims) | {name: stop - start}
    for dim in contract.dims:
        if dim.within and dims[dim.name] > dims[dim.within]:
            return None
    arrays: dict[str, Array] = {}
    for spec in contract.inputs:
        window = tuple(slice(start, stop) if dim == name else slice(None) for dim in spec.dims)
        arrays[spec.name] = np.ascontiguousarray(specimen.arrays[spec.name][window])
    return specimen.with_arrays(arrays, dims)


def _rounder(specimen: Specimen, failing: Failing, holds: Holds) -> Stage:
    """Inputs of ones or zeros where that is enough, else with as few digits as keep the failure."""
    best = Stage(specimen, failing)
    for name in specimen.arrays:
        for values in _simpler(best.specimen.arrays, name):
            candidate = best.specimen.with_arrays({**best.specimen.arrays, name: values})
            if (found := holds(candidate)) is not None:
                best = Stage(candidate, found)
                break
    return best


def _simpler(arrays: Mapping[str, Array], name: str) -> Iterator[Array]:
    values = arrays[name]
    if len(arrays) > 1 and np.isfinite(values).all():
        for constant in (0.0, 1.0):
            yield np.full_like(values, constant)
    wide = values.astype(np.float64)
    for digits in DIGITS:
        text = [f"{value:.{digits}g}" for value in wide.reshape(-1)]
        with np.errstate(all="ignore"):
            rounded = np.array([float(t) for t in text]).reshape(wide.shape).astype(values.dtype)
        if not np.array_equal(rounded, values, equal_nan=True):
            yield rounded
