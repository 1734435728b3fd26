"""The same rows at another place of a longer array, or in arrays of other lengths.

Kernels work through an array in blocks as wide as a vector register, and do what is left over in another way: a shift
moves elements from the one into the other.
"""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import Array, Unsupported
from fuzz.variants.axes import batch_of, part_of
from fuzz.variants.base import Around, Family, Wrapped
from fuzz.variants.batches import pieces
from fuzz.variants.values import counted


def beside(around: Around, before: int, behind: int) -> Wrapped:
    """The batch in a longer one: so many rows before it and behind it, copies of its own, which are cut off again."""
    batch = batch_of(around)
    if not batch.size:
        raise Unsupported(f"the batch ({batch.dim}) is empty: there are no rows to put beside it")
    inputs = around.request.inputs
    size = before + batch.size + behind
    rows = np.arange(-before, batch.size + behind) % batch.size
    part = around.parts.get(
        batch.shapes({name: array.shape for name, array in inputs.items()}, size),
        batch.output_shapes(around.shapes, size),
    )

    def call() -> tuple[Array, ...]:
        for name, values in inputs.items():
            axis = batch.inputs[name]
            part.fill(name, values if axis is None else np.take(values, rows, axis))
        return tuple(
            part_of(result, axis, before, before + batch.size)
            for result, axis in zip(part.call(), batch.outputs, strict=True)
        )

    return Wrapped(call)


def _length(around: Around, value: str) -> Wrapped:
    batch, first = batch_of(around), int(value)
    if not 0 < first < batch.size:
        raise Unsupported(f"the batch ({batch.dim}) has {batch.size}")
    return pieces(around, batch, [first, batch.size - first])


PADDING = Family(
    "padding",
    "so many more rows behind the batch, cut off again",
    "batch_variant",
    ("1", "7"),
    counted("number of rows"),
    lambda around, value: beside(around, 0, int(value)),
)
POSITION = Family(
    "position",
    "the batch (of elementwise operators: the elements) so many places later in a longer array",
    "position_variant",
    ("1", "3", "8"),
    counted("number of places"),
    lambda around, value: beside(around, int(value), 0),
)
LENGTH = Family(
    "length",
    "the first so many rows (elements) in an array of their own, the others in another",
    "position_variant",
    ("1", "5", "17"),
    counted("number of rows"),
    _length,
)
FAMILIES = (PADDING, POSITION, LENGTH)
