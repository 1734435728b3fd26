"""Moves change what they may, as their names say."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.search.keys import keys_of, values_of
from fuzz.search.mutation import MOVES, Children, Ground

LINES, GENES = 64, 12


def ground(seed: int = 0) -> Ground:
    random = np.random.default_rng(seed)
    other = keys_of(random.normal(0, 1, (32, GENES)).astype(np.float32))
    columns = (np.arange(8), np.arange(8, GENES))
    points = (keys_of(np.array([-16.6, 0.0], np.float32)), keys_of(np.array([1.0], np.float32)))
    return Ground(
        home="float32",
        random=random,
        columns=columns,
        lane=np.zeros(GENES, np.intp),
        landmarks=points,
        fresh=other[:16],
        mates=other[16:],
    )


def children(share: float = 0.2, reach: float = 6.0) -> Children:
    genes = keys_of(np.random.default_rng(9).normal(0, 1, (LINES, GENES)).astype(np.float32))
    return Children(
        genes=genes.copy(),
        allowed=np.ones(genes.shape, bool),
        reach=np.full(LINES, reach),
        share=np.full(LINES, share),
    )


@pytest.mark.parametrize("name", MOVES)
def test_a_move_leaves_alone_what_it_may_not_change(name: str) -> None:
    c, g = children(), ground()
    c.allowed[:, ::2] = False
    c.allowed[0] = False
    before = c.genes.copy()
    MOVES[name](c, g)
    assert np.array_equal(c.genes[~c.allowed], before[~c.allowed])
    assert (c.genes != before).any(axis=1).mean() > 0.3
    assert np.isfinite(values_of(c.genes, "float32")).all()


def test_steps_are_no_larger_than_their_reach() -> None:
    c = children(reach=6.0)
    before = c.genes.copy()
    MOVES["step"](c, ground())
    moved = np.abs(c.genes - before)
    assert 32 < moved.max() <= 64
    assert (moved == 1).any()
    assert 0.1 < (moved > 0).mean() < 0.3


def test_exponents_and_significands_move_apart() -> None:
    for name, field in (("binade", 2**23 - 1), ("scale", 2**23 - 1), ("flip", ~(2**23 - 1)), ("sign", 2**31 - 1)):
        c = children()
        before = c.genes.copy()
        MOVES[name](c, ground())
        assert np.array_equal(np.abs(c.genes) & field, np.abs(before) & field), name


def test_a_balanced_input_cancels() -> None:
    c = children()
    MOVES["balance"](c, ground())
    values = values_of(c.genes, "float32").astype(np.float64)
    sums = [np.abs(values[:, part].sum(axis=1)) for part in (slice(0, 8), slice(8, 12))]
    assert (np.minimum(*sums) < 1e-5).all()


def test_landmarks_are_those_of_the_input() -> None:
    c = children()
    before = c.genes.copy()
    MOVES["landmark"](c, ground())
    first = values_of(c.genes, "float32")[:, :8][(c.genes != before)[:, :8]]
    second = values_of(c.genes, "float32")[:, 8:][(c.genes != before)[:, 8:]]
    assert {round(float(value), 3) for value in first} == {-16.6, 0.0}
    assert {round(float(value), 3) for value in second} == {1.0}
