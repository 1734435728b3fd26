"""Intervals hold the truth and tests raise few false alarms: the fast form of benchmarks/coverage.py."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any

import pytest
from quality_modules import load

load("coverage")
coverage_lines = load("coverage_lines")

REPETITIONS = {"tails": 80}
"""A return level takes milliseconds; the other simulations are repeated 250 times."""


@lru_cache
def lines(name: str) -> tuple[Any, ...]:
    return tuple(coverage_lines.lines(name, REPETITIONS.get(name, 250)))


@pytest.mark.parametrize("name", list(coverage_lines.SIMULATIONS))
def test_figures_keep_their_bounds(name: str) -> None:
    found = lines(name)
    assert [line for line in found if not line.kept] == []
    assert any(line.bound for line in found)


@pytest.mark.parametrize("name", ["published", "pairs", "clusters", "many_tests", "watched", "biases", "factors"])
def test_what_one_should_not_do_fails(name: str) -> None:
    """Each contrast lies outside the bounds of what stands in its place, which shows that bounds can be missed."""
    found = lines(name)
    contrasts = [line for line in found if line.contrast]
    assert contrasts
    for line in contrasts:
        asked = next(other for other in found if other.bound and other.measure == line.measure)
        assert not dataclasses.replace(line, low=asked.low, high=asked.high, contrast=False).kept


def test_the_same_seed_gives_the_same_lines() -> None:
    assert coverage_lines.lines("plans", 50) == coverage_lines.lines("plans", 50)
    assert coverage_lines.lines("plans", 50) != coverage_lines.lines("plans", 60)
