"""The search itself: seeds, then children of the best, evaluation after evaluation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fuzz.search.anatomy import Anatomy
from fuzz.search.keys import Keys
from fuzz.search.mutation import MOVES, Children, Ground, Move
from fuzz.search.nursery import Nursery
from fuzz.search.objective import Objective
from fuzz.search.pool import ADOPTED, Pool
from fuzz.search.seeds import GRID_SHARE, drawn, ends, grid, landmarks, populations
from fuzz.search.zoom import Zoom
from strategies.contract import Contract
from strategies.precision import precision
from strategies.problem import Problem
from strategies.recipe import Recipe

SEED_SHARE = 0.2
"""Of all evaluations, those that draw from recipes."""
POOL = (32, 512)
"""Fewest and most individuals of a pool."""
DRAWN_AT_ONCE = 64
"""Sets of recipes that are drawn together."""
ZOOM_SHARE = 0.5
"""Of the evaluations after the seeds of a function of one number, those that look closely at parts of it."""
LEAST_TRIED = 16
"""Numbers of each cell at first, on average: with fewer its best says nothing."""
KEPT_LANES = 0.25
"""Best lanes of a parent that a child of changed lanes keeps as they are."""
LANES_ONLY, SHARED_ONLY = 0.6, 0.3
"""Share of children with lanes in which only these change, and only what they share."""
FORGET = 0.98
"""Weight of an evaluation against the next, in judging how useful a move is."""
LEAST = 0.02
"""Share of children that every move gets, useful or not."""


class Champion(Struct):
    """The individuals of the evaluation with the largest score of one target."""

    score: float
    genes: Keys
    origin: int
    """Which recipes the best of them stems from; -1: the grid."""
    individual: int
    evaluations: int
    """Evaluations until it was found."""


class Evolution:
    """A search with a fixed number of evaluations. A pure function of its arguments, kernels being deterministic."""

    def __init__(
        self,
        contract: Contract,
        problem: Problem,
        anatomy: Anatomy,
        objective: Objective,
        targets: int,
        evaluations: int,
        seed: int,
        random: np.random.Generator,
        watch: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._contract, self._problem, self.anatomy, self._objective = contract, problem, anatomy, objective
        self._watch = watch
        self._targets, self._evaluations, self._seed, self._random = targets, evaluations, seed, random
        self.recipes: list[tuple[Recipe, ...]] = []
        self.champions = [Champion(0.0, np.empty((0, 0), np.int64), -1, 0, 0) for _ in range(targets)]
        self.done = 0
        self._zoom = Zoom(problem.home, targets) if anatomy.pointwise and anatomy.genes == 1 else None
        low, high = zip(*(ends(spec, problem.home) for spec in contract.inputs), strict=True)
        self._low, self._high = self._of_genes(low), self._of_genes(high)
        self._lane = anatomy.lane_of_genes()
        self._moves = list(MOVES.values())
        self._credit = np.ones(len(self._moves))
        self._tries = np.ones(len(self._moves))

    def run(self) -> Sequence[Champion]:
        """The champion of each target; its score is 0 where nothing had an error at all."""
        nursery = self._nursery()
        share = min(1.0, 2.0 / self.anatomy.genes)
        pools = nursery.pools(reach=precision(self._problem.home).digits / 2.0, share=share)
        ground = Ground(
            home=self._problem.home,
            random=self._random,
            columns=tuple(self.anatomy.columns[spec.name] for spec in self._contract.inputs),
            lane=self._lane,
            landmarks=tuple(landmarks(spec, self._problem.home) for spec in self._contract.inputs),
            fresh=nursery.fresh,
            mates=nursery.fresh,
        )
        if self._zoom is not None and self._zoom.useful:
            self._look_closely(self._zoom, pools)
        halvings = self._halvings(len(pools[0]))
        while self.done < self._evaluations:
            while halvings and self.done >= halvings[0]:
                halvings.pop(0)
                for pool in pools:
                    pool.halve()
            self._generation(pools, self.done % self._targets, ground)
        return self.champions

    def arrays(self, champion: Champion) -> Mapping[str, Any]:
        """The inputs in which a champion was found: views, valid until the next evaluation."""
        self.anatomy.write(champion.genes, self._objective.arrays)
        return self._objective.arrays

    def _look_closely(self, zoom: Zoom, pools: Sequence[Pool]) -> None:
        """Successive halving of cells for each target in turn; its pool takes in what is better than all it has."""
        share = int(ZOOM_SHARE * (self._evaluations - self.done)) // self._targets
        for target, pool in enumerate(pools):
            cells = zoom.first(target)
            rounds = len(cells).bit_length()
            if share * self.anatomy.individuals < LEAST_TRIED * rounds * len(cells):
                return
            for number in range(rounds):
                for _ in range(share * (number + 1) // rounds - share * number // rounds):
                    keys = zoom.numbers(cells, self.anatomy.individuals, self._random)[:, None]
                    self._evaluate(keys, np.full(len(keys), -1))
                cells = zoom.better_half(cells, target)
            found = self.champions[target]
            if found.score > pool.scores.max():
                pool.migrate(found.genes[found.individual], np.array([found.score]), found.origin)

    def _halvings(self, size: int) -> list[int]:
        """Evaluations after which the worse half of a pool is given up: as often as leaves one hill, evenly spaced."""
        rounds = int(np.log2(size))
        left = self._evaluations - self.done
        return [self.done + left * (number + 1) // (rounds + 1) for number in range(rounds)]

    def _nursery(self) -> Nursery:
        """The first evaluations: a grid where individuals are numbers, then draws of recipes."""
        a, most = self.anatomy, self._evaluations
        least, largest = POOL
        nursery = Nursery(min(max(least, 4 * a.individuals), largest), self._targets, self._niches)
        wanted = max(1, int(SEED_SHARE * most))
        if a.pointwise:
            points = grid(
                self._contract.inputs, self._problem.home, int(GRID_SHARE * most * a.individuals), self._random
            )
            for start in range(0, len(points), a.individuals):
                self._sow(nursery, points[start : start + a.individuals], -1)
        for number, recipes in zip(range(min(wanted, most - self.done)), self._populations(), strict=False):
            self.recipes.append(recipes)
            genes = drawn(self._contract, self._problem, recipes, self._seed, self._objective.arrays, a)
            nursery.keep_fresh(genes, wanted, self._random)
            self._sow(nursery, genes, number)
        return nursery

    def _sow(self, nursery: Nursery, genes: Keys, origin: int) -> None:
        origins = np.full(len(genes), origin)
        lanes = self._evaluate(genes, origins)
        nursery.add(genes, origins, lanes[:, : len(genes)])

    def _populations(self) -> Iterator[tuple[Recipe, ...]]:
        for chunk in itertools.count():
            yield from populations(self._contract, self._problem, self._seed, chunk, DRAWN_AT_ONCE)

    def _niches(self, genes: Keys, origins: Places) -> NDArray[np.int64]:
        """A niche is a set of recipes; of one number, its sign and exponent."""
        if genes.shape[1] == 1:
            binades: NDArray[np.int64] = np.abs(genes[:, 0]) >> (precision(self._problem.home).digits - 1)
            return np.sign(genes[:, 0]) * (1 + binades)
        numbers: dict[tuple[Recipe, ...], int] = {}
        of_recipes = [numbers.setdefault(recipes, len(numbers)) for recipes in self.recipes]
        return np.array([*of_recipes, -1])[origins]

    def _evaluate(self, genes: Keys, origins: Places) -> Lanes:
        """Scores of every target, individual and lane; the champions are kept."""
        np.clip(genes, self._low, self._high, out=genes)
        whole = np.resize(genes, (self.anatomy.individuals, genes.shape[1]))  # nothing of what was there before
        self.anatomy.write(whole, self._objective.arrays)
        self._watch(self._objective.arrays)
        lanes = self._objective.scores(self.anatomy)
        self.done += 1
        scores = lanes[:, : len(genes)].max(axis=2)
        if self._zoom is not None:
            self._zoom.add(genes[:, 0], scores)
        for target, champion in enumerate(self.champions):
            best = int(scores[target].argmax())
            if scores[target, best] > champion.score:
                found = Champion(float(scores[target, best]), whole, int(origins[best]), best, self.done)
                self.champions[target] = found
        return lanes

    def _generation(self, pools: Sequence[Pool], target: int, ground: Ground) -> None:
        """One evaluation of children of one target's pool."""
        random, pool = self._random, pools[target]
        ground.mates = pool.genes
        parents = pool.parents(self.anatomy.individuals, random)
        children = self._children(pool, parents)
        moves = self._choose(len(parents))
        for number, move in enumerate(self._moves):
            if (lines := np.flatnonzero(moves == number)).size:
                self._apply(move, children, lines, ground)
        origins = pool.origins[parents]
        lanes = self._evaluate(children.genes, origins)
        better = pool.offer(parents, children.genes, lanes[target], children.reach, children.share)
        self._credit = FORGET * self._credit + np.bincount(moves[better], minlength=len(self._moves))
        self._tries = FORGET * self._tries + np.bincount(moves, minlength=len(self._moves))
        for other, neighbour in enumerate(pools):
            scores = lanes[other].max(axis=1)
            best = int(scores.argmax())
            if other != target and scores[best] > neighbour.scores.max():
                neighbour.migrate(children.genes[best], lanes[other, best], int(origins[best]))

    def _children(self, pool: Pool, parents: Places) -> Children:
        """Copies of the parents, the genes that may change, and their own sizes of steps."""
        random, a = self._random, self.anatomy
        genes = pool.genes[parents]
        digits = precision(self._problem.home).digits
        reach = np.clip(pool.reach[parents] + random.normal(0.0, ADOPTED, len(parents)), 1.0, digits + 4.0)
        share = pool.share[parents] * np.exp2(random.normal(0.0, ADOPTED, len(parents)))
        share = np.clip(share, 1.0 / a.genes, 1.0)
        allowed = np.ones(genes.shape, bool)
        if a.lanes > 1:
            kind = random.random(len(parents))
            for child in np.flatnonzero(kind < LANES_ONLY):
                allowed[child] = self._lanes_renewed(genes[child], pool.lanes[parents[child]])
            only_shared = (kind >= LANES_ONLY) & (kind < LANES_ONLY + SHARED_ONLY)
            allowed[np.ix_(only_shared, self._lane >= 0)] = False
        return Children(genes=genes, allowed=allowed, reach=reach, share=share)

    def _lanes_renewed(self, genes: Keys, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Put copies of the best lanes in the place of the others; the genes of the copies."""
        a = self.anatomy
        order = np.argsort(-scores, kind="stable")
        kept = max(1, int(KEPT_LANES * a.lanes))
        lanes = genes[a.shared :].reshape(a.lanes, a.each)
        ranks = (kept * self._random.random(a.lanes - kept) ** 2).astype(np.intp)
        lanes[order[kept:]] = lanes[order[ranks]]
        changed: NDArray[np.bool_] = np.isin(self._lane, order[kept:])
        return changed

    def _choose(self, count: int) -> Places:
        """Moves by their share of improvements, every one now and then."""
        useful = self._credit / self._tries
        weights = LEAST + (1.0 - LEAST * len(useful)) * useful / useful.sum()
        return self._random.choice(len(useful), count, p=weights / weights.sum()).astype(np.intp)

    def _apply(self, move: Move, children: Children, lines: Places, ground: Ground) -> None:
        some = Children(
            genes=children.genes[lines],
            allowed=children.allowed[lines],
            reach=children.reach[lines],
            share=children.share[lines],
        )
        move(some, ground)
        children.genes[lines] = some.genes

    def _of_genes(self, by_input: Sequence[int]) -> NDArray[np.int64]:
        """A number for each input as one for each gene."""
        spread = np.empty(self.anatomy.genes, np.int64)
        for spec, value in zip(self._contract.inputs, by_input, strict=True):
            spread[self.anatomy.columns[spec.name]] = value
        return spread


Places = NDArray[np.intp]
Lanes = NDArray[np.float64]
