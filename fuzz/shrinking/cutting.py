"""Fewer indices of dims: the slice of one output element, one element repeated, then ddmin over every dim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fuzz.backends.base import Array
from fuzz.judging.region import elementwise
from fuzz.operators import operator
from fuzz.reproduction.specimen import Specimen
from fuzz.shrinking.ddmin import ddmin
from fuzz.shrinking.search import Search
from strategies.contract import Contract

LENGTHS = (1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65)
"""Lengths tried for arrays of one repeated element: below, at and above the widths of vectors."""

QUESTIONS = 300
"""For one dim, at most: a failure carried by a few indices is found in fewer, and others need theirs."""


def cut_dims(search: Search) -> None:
    """Reduce the dims of the best case as far as the failure stays."""
    contract = operator(search.best.specimen.problem.operator).contract
    alone = any(search.holds(candidate) for candidate in one_element(contract, search))
    if not alone and elementwise(contract) and any(search.holds(one) for one in repeated(contract, search)):
        return  # of equal elements as few as it takes
    before = None
    while before != search.best.specimen.problem.dims:
        before = search.best.specimen.problem.dims
        for name, _ in sorted(before, key=lambda item: (-item[1], item[0])):
            _fewer(contract, search, name)


def one_element(contract: Contract, search: Search) -> Iterator[Specimen]:
    """What the failing output element depends on at most, read off the names of dims: the smallest first."""
    specimen, seen = search.best
    place = _index(contract, specimen, seen.output, seen.position)
    dims = {dim.name: dim for dim in contract.dims}
    for chosen in (
        list(place),
        [name for name in place if not dims[name].reduced],
        [name for name in place if dims[name].batch],
        [name for name in place if dims[name].batch and not dims[name].reduced],
    ):
        cut = {name: [place[name]] for name in chosen if dict(specimen.problem.dims)[name] > 1}
        if cut and (candidate := taken(contract, specimen, cut)) is not None:
            yield candidate


def repeated(contract: Contract, search: Search) -> Iterator[Specimen]:
    """The failing element of an elementwise operator as often as a vector body may need it."""
    specimen, seen = search.best
    name, at = contract.dims[0].name, max(seen.position, 0)
    size = dict(specimen.problem.dims)[name]
    for length in (n for n in LENGTHS if n < size):
        yield specimen.with_arrays(
            {key: np.full(length, values.reshape(-1)[at], values.dtype) for key, values in specimen.arrays.items()},
            {name: length},
        )


def taken(contract: Contract, specimen: Specimen, kept: Mapping[str, Sequence[int]]) -> Specimen | None:
    """The specimen with some indices of some dims; None where sizes would contradict the contract."""
    dims = dict(specimen.problem.dims) | {name: len(indices) for name, indices in kept.items()}
    for dim in contract.dims:
        if dims[dim.name] < dim.minimum or (dim.within and dims[dim.name] > dims[dim.within]):
            return None
    arrays: dict[str, Array] = {}
    for spec in contract.inputs:
        values = specimen.arrays[spec.name]
        for axis, name in enumerate(spec.dims):
            if isinstance(name, str) and name in kept:
                values = np.take(values, np.asarray(kept[name], np.intp), axis)
        arrays[spec.name] = np.array(values, order="C", copy=True)
    return specimen.with_arrays(arrays, dims)


def _fewer(contract: Contract, search: Search, name: str) -> None:
    specimen = search.best.specimen
    dim = next(d for d in contract.dims if d.name == name)
    size = dict(specimen.problem.dims)[name]

    def holds(indices: list[int]) -> bool:
        candidate = taken(contract, specimen, {name: indices})
        return candidate is not None and search.holds(candidate)

    with search.step(QUESTIONS):
        ddmin(range(size), holds, max(dim.minimum, 1))


def _index(contract: Contract, specimen: Specimen, output: str, position: int) -> dict[str, int]:
    """Where an output element lies, by dim; empty where its shape cannot be read off the contract."""
    dims = dict(specimen.problem.dims)
    spec = next((spec for spec in contract.outputs if spec.name == output), None)
    if spec is None or position < 0 or any(isinstance(dim, str) and dim not in dims for dim in spec.dims):
        return {}
    shape = spec.shape(dims)
    if position >= np.prod(shape, dtype=np.int64):
        return {}
    at = np.unravel_index(position, shape)
    return {dim: int(i) for dim, i in zip(spec.dims, at, strict=True) if isinstance(dim, str)}
