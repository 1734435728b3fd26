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
        self.reach, self.share = np.full(len(genes), reach), np.full(len(genes), share)

    def __len__(self) -> int:
        return len(self.genes)

    @property
    def scores(self) -> Scores:
        best: Scores = self.lanes.max(axis=1)
        return best

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
        for child in np.argsort(scores, kind="stable"):  # the best child of a parent comes last
            line = parents[child]
            if scores[child] >= before[child]:
                self._place(int(line), genes[child], lanes[child])
                if better[child]:
                    self.reach[line], self.share[line] = reach[child], share[child]
        return better

    def migrate(self, genes: Keys, lanes: Scores, origin: int) -> None:
        """Take in an individual that does better here than all others, found while searching for another target."""
        worst = int(self.scores.argmin())
        self._place(worst, genes, lanes)
        self.origins[worst] = origin

    def halve(self) -> None:
        """Put copies of the better half in the place of the other."""
        order = np.argsort(-self.scores, kind="stable")
        kept, lost = order[: (len(self) + 1) // 2], order[(len(self) + 1) // 2 :]
        for array in (self.genes, self.lanes, self.origins, self.reach, self.share):
            array[lost] = array[kept[: len(lost)]]

    def _place(self, line: int, genes: Keys, lanes: Scores) -> None:
        self.genes[line], self.lanes[line] = genes, lanes
