"""`compare` keeps its level and the power that `plan` promises: the fast form of benchmarks/comparing.py."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from quality_modules import load

from results.comparison.trials import EVENTS, Trials

comparing = load("comparing")

REPETITIONS = 60
TRIALS = 8000


@pytest.fixture(scope="module")
def every() -> dict[str, Trials]:
    """Trials of two targets whose large errors have one cause, the inputs, and tails c/r as cancellation has."""
    rng = np.random.default_rng(4)
    cause = 2e-3 / rng.random(TRIALS)
    return {target: _target(cause, rng) for target in ("numpy:cpu", "torch:cpu")}


def _target(cause: np.ndarray, rng: np.random.Generator) -> Trials:
    relative = cause * rng.uniform(0.7, 1.4, TRIALS)
    marks = {"above 1e-1": relative > 0.1, "above 1e-2": relative > 0.01}
    events = {name: marks.get(name, np.zeros(TRIALS)).astype(np.int8) for name in EVENTS}
    keys = np.array([f"p/0/{index}" for index in range(TRIALS)], object)
    inputs = np.array([None] * TRIALS, object)
    bits = np.array([f"y={value}" for value in rng.integers(0, 2, TRIALS)], object)
    return Trials(keys, np.array(["p"] * TRIALS, object), events, rng.uniform(0.3, 0.9, TRIALS), inputs, bits)


def test_few_false_alarms_with_different_seeds(every: dict[str, Trials]) -> None:
    adjusted, unadjusted = comparing.level(every, 2000, REPETITIONS, np.random.default_rng(1))
    assert adjusted.kept
    assert not dataclasses.replace(unadjusted, high=adjusted.high, contrast=False).kept


def test_few_false_alarms_on_shared_trials(every: dict[str, Trials]) -> None:
    (line,) = comparing.exchanged(every, 2000, REPETITIONS, np.random.default_rng(2))
    assert line.kept


def test_a_doubled_rate_is_seen_as_often_as_planned(every: dict[str, Trials]) -> None:
    (line,) = comparing.power(every, REPETITIONS, np.random.default_rng(3))
    assert line.kept
    assert "planned for 6 tests" in line.case
