"""Cells of the number line: which are looked at, and that a narrow hill of noise is climbed to its top."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.search.keys import keys_of
from fuzz.search.zoom import CELLS, Zoom
from strategies.precision import DType


def noise(keys: np.ndarray) -> np.ndarray:
    """A fixed number from 0 to 1 for each key."""
    return (keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)).astype(np.float64) / 2.0**24


@pytest.mark.parametrize(
    ("home", "useful"), [("float64", True), ("float32", True), ("float16", False), ("bfloat16", False)]
)
def test_only_wide_formats_have_cells(home: DType, useful: bool) -> None:
    assert Zoom(home, 1).useful is useful


def test_the_best_cells_come_first_and_stay() -> None:
    zoom = Zoom("float32", 2)
    keys = (np.arange(2 * CELLS) << zoom.bits) + 5
    scores = np.stack([np.arange(2.0 * CELLS), -np.arange(2.0 * CELLS) + 2000])
    zoom.add(keys, scores)
    assert zoom.first(0).tolist() == list(range(2 * CELLS - 1, CELLS - 1, -1))
    assert zoom.first(1).tolist() == list(range(CELLS))
    assert zoom.better_half(zoom.first(0), 0).tolist() == list(range(2 * CELLS - 1, CELLS + CELLS // 2 - 1, -1))
    assert zoom.better_half(np.array([7]), 0).tolist() == [7]


def test_numbers_lie_in_the_cells_on_both_sides_of_zero() -> None:
    zoom, random = Zoom("float32", 1), np.random.default_rng(1)
    cells = np.unique(keys_of(np.array([-1.5, 1e-40, 3.0], np.float32)) >> zoom.bits)
    keys = zoom.numbers(cells, 3000, random)
    assert set((keys >> zoom.bits).tolist()) == set(cells.tolist())
    assert len(np.unique(keys)) > 2900


def test_halving_finds_the_hill_that_single_numbers_do_not_show() -> None:
    """Noise up to 1 everywhere, 0.2 more in one cell of 1,024."""
    zoom, random = Zoom("float32", 1), np.random.default_rng(2)
    hill = 777

    def score(keys: np.ndarray) -> np.ndarray:
        return noise(keys) + 0.2 * ((keys >> zoom.bits) == hill)

    keys = random.integers(0, 1024 << zoom.bits, 20_000)
    zoom.add(keys, score(keys)[None])
    cells = zoom.first(0)
    assert hill in cells
    while len(cells) > 1:
        keys = zoom.numbers(cells, 20_000, random)
        zoom.add(keys, score(keys)[None])
        cells = zoom.better_half(cells, 0)
    assert cells.tolist() == [hill]
