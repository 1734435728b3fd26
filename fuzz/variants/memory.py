"""How the elements of an array lie in memory."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from fuzz.backends.base import Array
from strategies.contract import Shape


class Memory(Struct, frozen=True):
    """`raw` is the shape of the contiguous buffer behind an array of a shape, `view` that array within the buffer."""

    name: str
    doc: str
    raw: Callable[[Shape], Shape]
    view: Callable[[Array, Shape], Array]


CONTIGUOUS = Memory("contiguous", "row-major, without gaps", lambda shape: shape, lambda raw, shape: raw)
