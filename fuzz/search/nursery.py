"""The seeds of a search: of as many as there are, those are kept from which pools begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fuzz.search.keys import Keys
from fuzz.search.pool import Pool

Places = NDArray[np.intp]
Niches = Callable[[Keys, Places], NDArray[np.int64]]
"""(genes, origins) -> a number for each individual, the same for those of one niche."""

ROOM = 8
"""Multiple of a pool's size that seeds may grow to before most are dropped."""
FRESH, FRESH_GENES = 1024, 2**21
"""Most individuals, and genes, of which parts are taken later: 16 MB."""


class Nursery:
    """Takes the seeds as they are evaluated; `size` is that of a pool, of which there is one for each target."""

    def __init__(self, size: int, targets: int, niches: Niches) -> None:
        self._size, self._targets, self._niches = size, targets, niches
        self._genes: list[Keys] = []
        self._origins: list[Places] = []
        self._lanes: list[NDArray[np.float64]] = []
        self._fresh: list[Keys] = []

    def add(self, genes: Keys, origins: Places, lanes: NDArray[np.float64]) -> None:
        """Seeds with their scores by target, individual and lane."""
        self._genes.append(genes)
        self._origins.append(origins)
        self._lanes.append(lanes)
        if sum(map(len, self._genes)) > ROOM * self._size * self._targets:
            self._prune()

    def keep_fresh(self, genes: Keys, share: int, random: np.random.Generator) -> None:
        """Keep some of the individuals of a draw, of which there are `share`: parts of them are taken later."""
        most = min(FRESH, max(1, FRESH_GENES // genes.shape[1]))
        there = sum(map(len, self._fresh))
        count = min(max(1, most // share), most - there)
        self._fresh.append(genes[random.permutation(len(genes))[:count]])

    @property
    def fresh(self) -> Keys:
        """At least one individual."""
        kept = np.concatenate(self._fresh) if self._fresh else self._genes[0][:0]
        return kept if len(kept) else np.concatenate(self._genes)[:1]

    def pools(self, reach: float, share: float) -> Sequence[Pool]:
        """The pool of each target."""
        genes, origins, lanes = self._together()
        pools = []
        for target in range(self._targets):
            chosen = self._best(genes, origins, lanes[target])
            pools.append(Pool(genes[chosen], lanes[target][chosen], origins[chosen], reach, share))
        return pools

    def _together(self) -> tuple[Keys, Places, NDArray[np.float64]]:
        return np.concatenate(self._genes), np.concatenate(self._origins), np.concatenate(self._lanes, axis=1)

    def _prune(self) -> None:
        """Drop what no pool would begin with, whatever comes after it."""
        genes, origins, lanes = self._together()
        best = [self._best(genes, origins, lanes[target]) for target in range(self._targets)]
        kept = np.unique(np.concatenate(best))
        self._genes, self._origins, self._lanes = [genes[kept]], [origins[kept]], [lanes[:, kept]]

    def _best(self, genes: Keys, origins: Places, lanes: NDArray[np.float64]) -> Places:
        """The best individual of every niche, then the best of the others."""
        order = np.argsort(-lanes.max(axis=1), kind="stable")
        _, first = np.unique(self._niches(genes, origins)[order], return_index=True)
        first = np.sort(first)
        rest = np.setdiff1d(np.arange(len(order)), first, assume_unique=True)
        chosen: Places = order[np.concatenate([first, rest])[: self._size]]
        return chosen
