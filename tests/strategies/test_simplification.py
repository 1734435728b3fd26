"""Hypothesis' shrinker over vectors of indices: where it ends, and that it always does so."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import core

from strategies.iid import HypothesisChanged
from strategies.simplification import Indices, simplified


def test_the_simplest_vector_that_holds() -> None:
    assert simplified((3, 5, 2, 0), lambda v: v[0] + v[1] >= 4) == (0, 4, 0, 0)
    assert simplified((1, 0), lambda v: True) == (0, 0)
    assert simplified((1, 4), lambda v: False) == (1, 4)
    assert simplified((0, 0), lambda v: False) == (0, 0)


@pytest.mark.parametrize(
    ("start", "least"),
    [((12,), (7,)), ((1, 0, 12), (1, 0, 0)), ((12, 12, 12), (0, 11, 5)), ((5, 9, 2, 7, 3, 12), (5, 0, 1, 7, 0, 3))],
)
def test_thresholds_are_met_exactly(start: Indices, least: Indices) -> None:
    assert simplified(start, lambda v: all(a >= b for a, b in zip(v, least, strict=True))) == least


def test_the_same_questions_every_time_and_none_twice() -> None:
    def asked() -> list[Indices]:
        found: list[Indices] = []

        def holds(vector: Indices) -> bool:
            found.append(vector)
            return sum(vector) % 3 != 0 and sum(vector) > 5

        simplified((7, 3, 12, 5, 9), holds)
        return found

    first = asked()
    assert len(first) > 5
    assert (7, 3, 12, 5, 9) not in first
    assert len(set(first)) == len(first)
    assert all(asked() == first for _ in range(5))


def test_random_steps_have_one_order_and_nothing_is_left_behind() -> None:
    seeds: set[int | None] = set()

    def holds(vector: Indices) -> bool:
        seeds.add(core.global_force_seed)
        return True

    simplified((3, 3), holds)
    assert seeds == {0}
    assert core.global_force_seed is None


def test_a_version_that_does_not_shrink_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(*arguments: object, **options: object) -> None:
        raise hypothesis.errors.NoSuchExample("x")

    monkeypatch.setattr(hypothesis, "find", find)
    with pytest.raises(HypothesisChanged, match="does not shrink what is stored under a secondary key"):
        simplified((3, 3), lambda v: True)
