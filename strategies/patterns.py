"""The recipe that draws nothing: every number of a format, block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import structs

from strategies.contract import ContractError, Shape
from strategies.distributions import LARGEST_EXACT_INTEGER
from strategies.precision import DType, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, register


@register("bits", example="bits(0)")
class Bits(Recipe, frozen=True):
    """Element i of n (C order) of draw k is the number with the bit pattern (start + n j + i) modulo 2**w: every number
    of the home dtype (w bits wide) once in 2**w/n draws, infinities and every NaN included. No randomness.

    j is k modulo ceil(2**w/n); where that is a power of two, with its binary digits reversed, so that the first draws
    spread over the whole format.
    """

    start: int = 0

    def validate(self) -> None:
        if len(self.fills) > 1:
            raise ParameterError(f"bits fills one input, not {', '.join(self.fills)}: use one bits() for each")
        if not 0 <= self.start <= LARGEST_EXACT_INTEGER:
            raise ParameterError(f"start of bits is {self.start}: use a bit pattern from 0 to 2**53", "start")

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        if self.start >= patterns(home):
            width = 8 * precision(home).numpy.itemsize
            raise ContractError(f"start of {self} is no bit pattern of {home}: use one below 2**{width}")

    def at(self, index: int, home: DType, shapes: Sequence[Shape]) -> Bits:
        (shape,) = shapes
        size = math.prod(shape)
        return structs.replace(self, start=(self.start + size * _place(index, blocks(home, size))) % patterns(home))

    def support(self, home: DType) -> Support:
        return -math.inf, math.inf

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        word = np.dtype(f"u{out.dtype.itemsize}")
        numbers = np.arange(out.size, dtype=np.uint64)
        numbers += np.uint64(self.start)
        out.reshape(-1).view(word)[...] = numbers.astype(word)  # modulo 2**w


def patterns(home: DType) -> int:
    """Bit patterns of a format, 2**w."""
    return int(2 ** (8 * precision(home).numpy.itemsize))


def blocks(home: DType, size: int) -> int:
    """Draws of `size` elements that hold every bit pattern of a format; 1 for empty ones."""
    return -(-patterns(home) // size) if size else 1


def _place(index: int, count: int) -> int:
    """Which of `count` blocks draw `index` is."""
    index %= count
    digits = count.bit_length() - 1
    if count != 2**digits or not digits:
        return index
    return int(f"{index:0{digits}b}"[::-1], 2)
