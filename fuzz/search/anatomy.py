"""Which parts of the input arrays can be changed independently of each other: what an individual of the search is.

A dim is independent if each of its slices of the inputs reaches only its own slice of every output. That is asked of
the traced program, so it holds for every axis attribute and no operator declares it. Slices along the independent dims
that all inputs have are *individuals*: one evaluation of the arrays evaluates all of them (every element of an
elementwise operator, every row of a sum). Where the largest input has further independent dims, an individual falls
into *lanes* (the rows of a layer_norm), and the inputs without these dims (its gamma and beta) are *shared* by them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fuzz.oracle.spread import spread
from fuzz.search.keys import Keys, keys_of, values_of
from fuzz.workbench import Bench

Places = NDArray[np.intp]


class Anatomy(Struct, frozen=True):
    """How the elements of inputs and outputs belong to individuals. The genes of an individual are the shared ones,
    then lane after lane."""

    individuals: int
    lanes: int
    shared: int
    """Genes that all lanes share."""
    each: int
    """Genes of a lane."""
    places: Mapping[str, Places]
    """By input: flat positions in its array, one line for each individual in the order of `columns`."""
    columns: Mapping[str, Places]
    """By input: the genes it holds."""
    outputs: tuple[Places, ...]
    """By output: flat positions, those of lane 0 of individual 0 first."""

    @property
    def genes(self) -> int:
        return self.shared + self.lanes * self.each

    @property
    def pointwise(self) -> bool:
        """Whether each input gives an individual one number."""
        return all(len(columns) == 1 for columns in self.columns.values())

    def lane_of_genes(self) -> NDArray[np.intp]:
        """Lane of every gene; -1 for shared ones."""
        return np.concatenate([np.full(self.shared, -1), np.repeat(np.arange(self.lanes), self.each)]).astype(np.intp)

    def read(self, arrays: Mapping[str, Any]) -> Keys:
        """Genes (individuals x genes) of the inputs in `arrays`."""
        genes = np.zeros((self.individuals, self.genes), np.int64)
        for name, places in self.places.items():
            genes[:, self.columns[name]] = keys_of(arrays[name].reshape(-1)[places])
        return genes

    def write(self, genes: Keys, arrays: Mapping[str, Any]) -> None:
        """Inverse of `read`."""
        for name, places in self.places.items():
            array = arrays[name]
            array.reshape(-1)[places] = values_of(genes[:, self.columns[name]], array.dtype.name)

    def by_lane(self, output: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Largest of `values` (flat) of an output for each individual and lane."""
        grouped = values[self.outputs[output]].reshape(self.individuals * self.lanes, -1)
        largest: NDArray[np.float64] = grouped.max(axis=1, initial=0.0)
        return largest.reshape(self.individuals, self.lanes)


def anatomy(bench: Bench) -> Anatomy:
    """The anatomy of a problem shape."""
    axes = _independent(bench)
    dims = {spec.name: spec.dims for spec in bench.contract.inputs}
    largest = max(bench.input_shapes, key=lambda name: math.prod(bench.input_shapes[name]))
    grouping = [dim for dim in axes if all(dim in names for names in dims.values())]
    laning = [dim for dim in axes if dim in dims[largest] and dim not in grouping]
    sizes = dict(bench.problem.dims)
    individuals, lanes = (math.prod(sizes[dim] for dim in chosen) for chosen in (grouping, laning))
    ordered = {
        name: _ordered(shape, [dims[name].index(d) for d in (*grouping, *(laning if _has(dims[name], laning) else ()))])
        for name, shape in bench.input_shapes.items()
    }
    with_lanes = [name for name in ordered if laning and _has(dims[name], laning)] or list(ordered)
    per_lane = {name: ordered[name].size // (individuals * lanes) for name in with_lanes}
    shared = {name: ordered[name].size // individuals for name in ordered if name not in with_lanes}
    columns: dict[str, Places] = {}
    start = 0
    for name, count in shared.items():
        columns[name] = np.arange(start, start + count)
        start += count
    each, offset = sum(per_lane.values()), start
    for name, count in per_lane.items():
        within = np.arange(lanes)[:, None] * each + np.arange(count)[None, :] + offset
        columns[name] = within.reshape(-1)
        offset += count
    return Anatomy(
        individuals=individuals,
        lanes=lanes,
        shared=start,
        each=each,
        places={name: ordered[name].reshape(individuals, -1) for name in ordered},
        columns={name: columns[name] for name in ordered},
        outputs=tuple(
            _ordered(shape, [axes[dim][number] for dim in (*grouping, *laning)]).reshape(-1)
            for number, shape in enumerate(bench.output_shapes)
        ),
    )


def _has(names: Sequence[str | int], wanted: Sequence[str]) -> bool:
    return all(name in names for name in wanted)


def _ordered(shape: Sequence[int], first: Sequence[int]) -> Places:
    """Flat positions of an array, the axes `first` leading."""
    rest = [axis for axis in range(len(shape)) if axis not in first]
    return np.arange(math.prod(shape)).reshape(shape).transpose([*first, *rest])


def _independent(bench: Bench) -> dict[str, tuple[int, ...]]:
    """Independent dims, with the axis of each output that goes with them. Dims of size 1 are not looked at."""
    bound = bench.rung(bench.problem.home).bound
    bound([np.zeros(shape) for shape in bench.input_shapes.values()])
    values = [frame.value for frame in bound.frames]
    found: dict[str, tuple[int, ...]] = {}
    for dim, size in bench.problem.dims:
        if size > 1:
            reached = [_reached(bench, values, dim, at) for at in (0, size - 1)]
            axes = [_axis(shape, size, [r[n] for r in reached]) for n, shape in enumerate(bench.output_shapes)]
            if all(axis is not None for axis in axes):
                found[dim] = tuple(axis for axis in axes if axis is not None)
    return found


def _reached(bench: Bench, values: Sequence[Any], dim: str, at: int) -> list[Any]:
    """Elements of the outputs that slice number `at` of the inputs reaches."""
    masks = [np.zeros(node.shape, bool) for node in bench.program.nodes]
    for mask, name in zip(masks, bench.program.inputs, strict=False):
        names = bench.contract.input(name).dims
        if dim in names:
            np.moveaxis(mask, names.index(dim), 0)[at] = True
    return spread(bench.program, masks, values)


def _axis(shape: Sequence[int], size: int, reached: Sequence[Any]) -> int | None:
    """The axis along which the first and the last slice of a dim reach their own slice of an output and no more."""
    for axis, extent in enumerate(shape):
        if extent == size:
            own = [np.zeros(shape, bool) for _ in reached]
            for mask, at in zip(own, (0, size - 1), strict=True):
                np.moveaxis(mask, axis, 0)[at] = True
            if all(np.array_equal(r, mask) for r, mask in zip(reached, own, strict=True)):
                return axis
    return None
