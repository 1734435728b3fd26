"""The summands of a reduction in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from fuzz.backends.base import Array, Unsupported
from fuzz.variants.axes import works_along
from fuzz.variants.base import Around, Family, Wrapped
from fuzz.variants.values import one_of
from strategies.contract import DimSpec

REVERSED, SHUFFLED = "reversed", "shuffled"
_SEED = 20_26
"""Of the shuffle, and of the numbers on which the formula is tried: the same everywhere."""
_AGREE = 1e-6
"""Relative difference of the formula in float64 up to which an order does not matter to it."""


class Order(Struct, frozen=True):
    """A permutation of a dim: its axis in each input and output, None where one does not have it."""

    places: Array
    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]

    def changed(self, arrays: Sequence[Array]) -> list[Array]:
        """Inputs in this order."""
        return [_taken(array, self.places, axis) for array, axis in zip(arrays, self.inputs, strict=True)]

    def back(self, arrays: Sequence[Array]) -> list[Array]:
        """Outputs in the order of before."""
        inverse = np.argsort(self.places)
        return [_taken(array, inverse, axis) for array, axis in zip(arrays, self.outputs, strict=True)]


def _permuted(around: Around, value: str) -> Wrapped:
    order = _order(around, value)
    inputs = around.request.inputs
    part = around.parts.get({name: array.shape for name, array in inputs.items()}, around.shapes)

    def call() -> tuple[Array, ...]:
        for name, values in zip(inputs, order.changed(tuple(inputs.values())), strict=True):
            part.fill(name, values)
        return tuple(order.back(part.call()))

    return Wrapped(call)


def _order(around: Around, value: str) -> Order:
    """Of the first dim that is summed over in any order. Unsupported where there is none."""
    random = np.random.Generator(np.random.PCG64(_SEED))
    trial = [random.uniform(0.5, 1.5, array.shape) for array in around.request.inputs.values()]
    for dim in around.contract.dims:
        size = around.dims[dim.name]
        if size < 2 or not _summed(around, dim):
            continue
        places = np.arange(size)[::-1] if value == REVERSED else random.permutation(size)
        order = _along(around, dim, places)
        if order is None:
            continue
        here, there = around.formula(trial), order.back(around.formula(order.changed(trial)))
        if all(np.allclose(a, b, rtol=_AGREE, atol=_AGREE, equal_nan=True) for a, b in zip(here, there, strict=True)):
            return order
    raise Unsupported("the operator has no dim of two terms or more that may be summed in any order")


def _summed(around: Around, dim: DimSpec) -> bool:
    """Whether it is summed over, by the contract: marked so, or in several inputs and in no output."""
    if dim.reduced:
        return works_along(around, dim)
    shared = sum(dim.name in spec.dims for spec in around.contract.inputs) > 1
    return shared and not any(dim.name in spec.dims for spec in around.contract.outputs)


def _along(around: Around, dim: DimSpec, places: Array) -> Order | None:
    """The permutation along a dim; None where an output has it in another form."""
    inputs = tuple(spec.dims.index(dim.name) if dim.name in spec.dims else None for spec in around.contract.inputs)
    elsewhere = around.shapes_at({**around.dims, dim.name: around.dims[dim.name] + 1})
    outputs: list[int | None] = []
    for here, there in zip(around.shapes, elsewhere, strict=True):
        differing = [axis for axis, pair in enumerate(zip(here, there, strict=False)) if pair[0] != pair[1]]
        if len(here) != len(there) or len(differing) > 1:
            return None
        if differing and (here[differing[0]], there[differing[0]]) != (places.size, places.size + 1):
            return None
        outputs.append(differing[0] if differing else None)
    return Order(places, inputs, tuple(outputs))


def _taken(array: Array, places: Array, axis: int | None) -> Array:
    return array if axis is None else np.take(array, places, axis)


PERMUTED = Family(
    "permuted",
    "the summands of a reduction in another order: reversed, or shuffled (always alike)",
    "position_variant",
    (REVERSED, SHUFFLED),
    one_of(REVERSED, SHUFFLED),
    _permuted,
)
FAMILIES = (PERMUTED,)
