"""The individuals of a search that are best for one target. A child competes with its parent alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fuzz.search.keys import Keys

Places = NDArray[np.intp]
Scores = NDArray[np.float64]

LEADERS = 0.5
"""Share of the children that stem from the better individuals; the others from any, so that no hill is given up."""
ADOPTED = 2.0
"""log2 of the factor by which the steps of a child may differ from its parent's, one standard deviation."""


class Pool:
    """Lines are individuals. Each climbs a hill of its own: its children replace it where they are no worse."""

    def __init__(self, genes: Keys, lanes: Scores, origins: Places, reach: float, share: float) -> None:
        self.genes, self.lanes, self.origins = genes.copy(), lanes.copy(), origins.copy()
        self.scores: Scores = lanes.max(axis=1)
        self.reach, self.share = np.full(len(genes), reach), np.full(len(genes), share)

    def __len__(self) -> int:
        return len(self.genes)

    def parents(self, count: int, random: np.random.Generator) -> Places:
        """Lines of `count` parents."""
        order = np.argsort(-self.scores, kind="stable")
        led = order[(len(self) * random.random(count) ** 3).astype(np.intp)]
        return np.where(random.random(count) < LEADERS, led, random.integers(0, len(self), count)).astype(np.intp)

    def offer(self, parents: Places, genes: Keys, lanes: Scores, reach: Scores, share: Scores) -> NDArray[np.bool_]:
        """Let children (lines as of `parents`) take the place of their parents; which of them were better."""
        scores = lanes.max(axis=1)
        before = self.scores[parents]
        better: NDArray[np.bool_] = scores > before
        order = np.lexsort((-scores, parents))
        best = order[np.unique(parents[order], return_index=True)[1]]
        taken = best[scores[best] >= before[best]]
        self._place(parents[taken], genes[taken], lanes[taken])
        improved = taken[better[taken]]
        self.reach[parents[improved]], self.share[parents[improved]] = reach[improved], share[improved]
        return better

    def migrate(self, genes: Keys, lanes: Scores, origin: int) -> None:
        """Take in an individual that does better here than all others, found while searching for another target."""
        worst = np.array([self.scores.argmin()])
        self._place(worst, genes, lanes)
        self.origins[worst] = origin

    def halve(self) -> None:
        """Put copies of the better half in the place of the other."""
        order = np.argsort(-self.scores, kind="stable")
        kept, lost = order[: (len(self) + 1) // 2], order[(len(self) + 1) // 2 :]
        for array in (self.genes, self.lanes, self.scores, self.origins, self.reach, self.share):
            array[lost] = array[kept[: len(lost)]]

    def _place(self, lines: Places, genes: Keys, lanes: Scores) -> None:
        self.genes[lines], self.lanes[lines] = genes, lanes
        self.scores[lines] = lanes.max(axis=-1)
