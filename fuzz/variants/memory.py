"""How the elements of an array lie in memory."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from fuzz.backends.base import Array, Unsupported
from strategies.contract import Shape

IMAGE = 4
"""Dims of (N, C, H, W)."""


class Memory(Struct, frozen=True):
    """`raw` is the shape of the contiguous buffer behind an array of a shape, `view` that array within the buffer.

    What of the buffer is no element of the array is NaN: a kernel that reads on as if there were no gaps meets it.
    """

    name: str
    doc: str
    raw: Callable[[Shape], Shape]
    view: Callable[[Array, Shape], Array]
    rank: int = 1
    """Dims that an array needs to lie otherwise than without it; of fewer it lies as ever."""


def _same(shape: Shape) -> Shape:
    return shape


def _of_rank(least: int, raw: Callable[[Shape], Shape]) -> Callable[[Shape], Shape]:
    return lambda shape: raw(shape) if len(shape) >= least else shape


CONTIGUOUS = Memory("contiguous", "row-major, without gaps", _same, lambda raw, shape: raw)

MEMORIES: dict[str, Memory] = {
    memory.name: memory
    for memory in (
        Memory(
            "strided",
            "every other element of rows twice as long",
            _of_rank(1, lambda shape: (*shape[:-1], 2 * shape[-1])),
            lambda raw, shape: raw[..., ::2] if shape else raw,
        ),
        Memory(
            "offset",
            "one element behind an address that 64 divides",
            lambda shape: (math.prod(shape) + 1,),
            lambda raw, shape: raw[1:].reshape(shape),
            rank=0,
        ),
        Memory(
            "F",
            "column-major",
            lambda shape: shape[::-1],
            lambda raw, shape: raw.T,
            rank=2,
        ),
        Memory(
            "negative",
            "the last dim from its end to its start: negative strides",
            _same,
            lambda raw, shape: raw[..., ::-1] if shape else raw,
        ),
        Memory(
            "channels_last",
            "of four dims (N, C, H, W), C the one that varies fastest",
            lambda shape: (shape[0], shape[2], shape[3], shape[1]) if len(shape) == IMAGE else shape,
            lambda raw, shape: raw.transpose(0, 3, 1, 2) if len(shape) == IMAGE else raw,
            rank=IMAGE,
        ),
    )
}
"""By name, as variants and `Backend.layouts` write them."""


def memory_for(name: str, shapes: list[Shape]) -> Memory:
    """The layout, where it is another one than plain for any of the shapes. Unsupported where it is not."""
    memory = MEMORIES[name]
    exactly = name == "channels_last"
    if not any(len(shape) == memory.rank if exactly else len(shape) >= memory.rank for shape in shapes):
        raise Unsupported(f"there are no inputs of {memory.rank} dims")
    return memory
