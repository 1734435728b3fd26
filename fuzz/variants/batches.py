"""The batch in pieces, in one piece with more beside it, or as the library's own loop over it."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import Array, Unsupported
from fuzz.variants.axes import Batch, batch_of, part_of
from fuzz.variants.base import Around, Family, Wrapped
from fuzz.variants.parts import Part
from fuzz.variants.settings import with_option
from fuzz.variants.values import whole

MOST_CALLS = 256
"""Pieces of a batch: more calls than this would measure the calling."""
ALL_BUT_ONE = "n-1"
LIBRARY = ("vmap", "map")
"""The library's own loops over slices of one, where a backend has them as its option `batch`."""


def _size(text: str) -> str:
    return text if text in (ALL_BUT_ONE, *LIBRARY) else whole(text, "batch size")


def pieces(around: Around, batch: Batch, sizes: list[int]) -> Wrapped:
    """The batch in consecutive pieces of these sizes, put together again."""
    shapes = {name: array.shape for name, array in around.request.inputs.items()}
    parts: list[Part] = [
        around.parts.get(batch.shapes(shapes, n), batch.output_shapes(around.shapes, n)) for n in sizes
    ]
    whole_outputs: list[Array] = []

    def call() -> tuple[Array, ...]:
        filled: set[int] = set()
        start = 0
        for size, part in zip(sizes, parts, strict=True):
            for name, values in around.request.inputs.items():
                axis = batch.inputs[name]
                if axis is not None or id(part) not in filled:
                    part.fill(name, part_of(values, axis, start, start + size))
            filled.add(id(part))
            results = part.call()
            if not start:
                whole_outputs[:] = _room(whole_outputs, around, results)
            for target, axis, result in zip(whole_outputs, batch.outputs, results, strict=True):
                part_of(target, axis, start, start + size)[...] = result
            start += size
        return tuple(whole_outputs)

    return Wrapped(call)


def _room(before: list[Array], around: Around, results: tuple[Array, ...]) -> list[Array]:
    """Arrays for the whole outputs, of the dtypes that the kernel gives."""
    if [array.dtype for array in before] == [result.dtype for result in results]:
        return before
    return [np.empty(shape, result.dtype) for shape, result in zip(around.shapes, results, strict=True)]


def _batch(around: Around, value: str) -> Wrapped:
    if value in LIBRARY:
        return with_option(around, "batch", value)
    batch = batch_of(around)
    size = batch.size - 1 if value == ALL_BUT_ONE else int(value)
    if not 0 < size < batch.size:
        raise Unsupported(f"the batch ({batch.dim}) has {batch.size}")
    if -(-batch.size // size) > MOST_CALLS:
        raise Unsupported(f"pieces of a batch ({batch.dim}) of {batch.size}: more than {MOST_CALLS} calls")
    full, rest = divmod(batch.size, size)
    return pieces(around, batch, [size] * full + [rest] * bool(rest))


BATCH = Family(
    "batch",
    "the batch in pieces of so many, the last one smaller; n-1: all but one, and that one by itself; vmap, map: slices "
    "of one in the library's own loop",
    "batch_variant",
    ("1", "2", "3", "4", "8", "16", "32", "64", ALL_BUT_ONE, *LIBRARY),
    _size,
    _batch,
)
FAMILIES = (BATCH,)
