"""Functions of one number: cells of the number line, of which the best are looked at ever more closely.

Rounding scatters the error of a function around a curve of its own. Where the curve is high, the largest error is a
matter of how many of the numbers there are tried; children of one good number stay too near to it to find the place.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fuzz.search.keys import Keys
from strategies.precision import DType, precision

CELLS_OF_BINADE = 7
"""log2: a cell holds 65,536 numbers of float32."""
LEAST_BITS = 8
"""Narrower formats have so few numbers that a grid and its neighbours will do."""
CELLS = 512
"""How many are looked at first."""


class Zoom:
    """The largest score of each cell, by target."""

    def __init__(self, home: DType, targets: int) -> None:
        self.bits = precision(home).digits - 1 - CELLS_OF_BINADE
        self._best: list[dict[int, float]] = [{} for _ in range(targets)]

    @property
    def useful(self) -> bool:
        return self.bits >= LEAST_BITS

    def add(self, keys: Keys, scores: NDArray[np.float64]) -> None:
        """Scores by target and number."""
        cells, places = np.unique(keys >> self.bits, return_inverse=True)
        for target, best in enumerate(self._best):
            largest = np.zeros(len(cells))
            np.maximum.at(largest, places, scores[target])
            for cell, score in zip(cells.tolist(), largest.tolist(), strict=True):
                best[cell] = max(score, best.get(cell, 0.0))

    def first(self, target: int) -> NDArray[np.int64]:
        """The cells to begin with, the best first."""
        return self._sorted(self._best[target], target)[:CELLS]

    def better_half(self, cells: NDArray[np.int64], target: int) -> NDArray[np.int64]:
        """The better ones, by all that was tried in them."""
        kept = {cell: self._best[target].get(cell, 0.0) for cell in cells.tolist()}
        return self._sorted(kept, target)[: max(1, len(cells) // 2)]

    def numbers(self, cells: NDArray[np.int64], count: int, random: np.random.Generator) -> Keys:
        """So many keys, each anywhere in any of the cells."""
        chosen = cells[random.integers(0, len(cells), count)]
        return (chosen << self.bits) + random.integers(0, 1 << self.bits, count)

    @staticmethod
    def _sorted(best: Mapping[int, float], target: int) -> NDArray[np.int64]:
        return np.array(sorted(best, key=lambda cell: (-best[cell], cell)), np.int64)
