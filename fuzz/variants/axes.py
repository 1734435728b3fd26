"""Where the batch dim of an operator is, in its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fuzz.backends.base import Array, Unsupported
from fuzz.variants.base import Around
from strategies.contract import DimSpec, Shape


class Batch(Struct, frozen=True):
    """A dim whose slices are independent of each other."""

    dim: str
    size: int
    inputs: Mapping[str, int | None]
    """Its axis in each input; None where an input has none and goes with every slice."""
    outputs: tuple[int, ...]
    """Its axis in each output."""

    def shapes(self, shapes: Mapping[str, Shape], size: int) -> dict[str, Shape]:
        """Of the inputs at another batch size."""
        return {name: _resized(shape, self.inputs[name], size) for name, shape in shapes.items()}

    def output_shapes(self, shapes: Sequence[Shape], size: int) -> tuple[Shape, ...]:
        """Of the outputs at another batch size."""
        return tuple(_resized(shape, axis, size) for shape, axis in zip(shapes, self.outputs, strict=True))


def batch_of(around: Around) -> Batch:
    """The first batch dim that every output has. Unsupported where there is none, or nothing to divide."""
    contract = around.contract
    for dim in contract.dims:
        if not dim.batch:
            continue
        inputs = {spec.name: spec.dims.index(dim.name) if dim.name in spec.dims else None for spec in contract.inputs}
        if works_along(around, dim):
            continue
        outputs = _output_axes(around, dim)
        if outputs is not None:
            return Batch(dim.name, around.dims[dim.name], inputs, outputs)
    raise Unsupported("the operator has no batch dim that all its outputs have")


def part_of(values: Array, axis: int | None, start: int, stop: int) -> Array:
    """Slices start..stop-1 along an axis; all of what has none."""
    if axis is None:
        return values
    where = (slice(None),) * axis + (slice(start, stop),)
    part: Array = values[where]
    return part


def works_along(around: Around, dim: DimSpec) -> bool:
    """Whether the operator reduces this dim: of those that its attribute `axis` chooses from, the chosen one."""
    if not dim.reduced or not dim.batch:
        return dim.reduced
    along = around.request.attributes.get("axis")
    having = [spec.dims for spec in around.contract.inputs if dim.name in spec.dims]
    return isinstance(along, int) and any(along % len(dims) == dims.index(dim.name) for dims in having)


def _output_axes(around: Around, dim: DimSpec) -> tuple[int, ...] | None:
    """The axis of each output that has the size of the dim, whatever that is; None where one has none."""
    size = around.dims[dim.name]
    other = max(1, dim.minimum) if size != max(1, dim.minimum) else size + 1
    elsewhere = around.shapes_at({**around.dims, dim.name: other})
    found = []
    for here, there in zip(around.shapes, elsewhere, strict=True):
        if len(here) != len(there):
            return None
        differing = [axis for axis, pair in enumerate(zip(here, there, strict=True)) if pair[0] != pair[1]]
        if len(differing) != 1 or (here[differing[0]], there[differing[0]]) != (size, other):
            return None
        found += differing
    return tuple(found)


def _resized(shape: Shape, axis: int | None, size: int) -> Shape:
    return shape if axis is None else (*shape[:axis], size, *shape[axis + 1 :])
