"""Healthy pairs of functions are not accused by a check, planted faults are: the fast form of benchmarks/checks.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from quality_modules import load

checks, pairs = load("checks"), load("pairs_of_functions")
BY_NAME = {pair.name: pair for pair in pairs.PAIRS}
HEALTHY = ("rows torch", "layer norm offset", "deep net batch/single", "attention fused/spelt", "variance long")
PLANTED = ("planted: eps 1e-6 for 1e-5", "planted: bfloat16 inside", "planted: missing last term", "planted: exp - 1")


def right(name: str, folder: Path, trials: int, dtype: str | None = None) -> None:
    outcome = checks.checked(BY_NAME[name], trials, folder / "c", dtype)
    assert outcome.right, str(outcome.result)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_pair_is_not_accused(tmp_path: Path, name: str) -> None:
    right(name, tmp_path, 3, "float32")


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(tmp_path: Path, name: str) -> None:
    right(name, tmp_path, 2)


@pytest.mark.long
@pytest.mark.parametrize("name", list(BY_NAME))
def test_every_pair(tmp_path: Path, name: str) -> None:
    for dtype in [None] if BY_NAME[name].planted else ["float32", "float64"]:
        right(name, tmp_path / str(dtype), 5, dtype)
