"""The text of a call under a variant does what the engine does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.backends.extraction import Unspellable
from fuzz.reproduction.variant_text import Around, lines
from fuzz.variants.axes import Batch

Array = np.ndarray[Any, Any]
NAMES = {"x": "x", "w": "w"}
SHAPES = {"x": (7, 4), "w": (4, 3)}


def _run(name: str, batch: Batch | None = None, shape: tuple[int, ...] = (7, 4)) -> tuple[Array, Array, list[Array]]:
    """What the text gives, what is due, and the arrays that `compute` saw as x."""
    seen: list[Array] = []

    def compute(x: Array, w: Array) -> Array:
        seen.append(x)
        return x.sum(axis=1) if x.ndim > 2 else x @ w

    ranks = {"x": len(shape), "w": 2}
    batch = batch or Batch("n", 7, {"x": 0, "w": None}, (0,))
    body = "\n".join(f"    {line}" for line in lines(name, Around(NAMES, ranks, batch, 0)))
    scope: dict[str, Any] = {"np": np, "compute": compute}
    exec(f"def varied(x, w):\n{body}", scope)
    random = np.random.default_rng(3)
    x, w = random.standard_normal(shape), random.standard_normal((4, 3))
    found = scope["varied"](x.copy(), w)
    return found, compute(x, w), seen[:-1]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("batch[3]", [3, 3, 1]),
        ("batch[n-1]", [6, 1]),
        ("length[2]", [2, 5]),
        ("padding[2]", [9]),
        ("position[3]", [10]),
    ],
)
def test_pieces_and_longer_batches(name: str, sizes: list[int]) -> None:
    found, due, seen = _run(name)
    np.testing.assert_allclose(found, due, rtol=1e-12)
    assert [len(x) for x in seen] == sizes


def test_a_batch_along_another_axis() -> None:
    batch = Batch("n", 4, {"x": 1, "w": 0}, (0,))
    lines_ = lines("batch[3]", Around(NAMES, {"x": 2, "w": 2}, batch, 0))
    assert "x[:, start:stop].copy()" in lines_[1]
    assert "w[start:stop].copy()" in lines_[1]


@pytest.mark.parametrize(("layout", "stride"), [("strided", 2), ("F", 7), ("negative", -1)])
def test_layouts(layout: str, stride: int) -> None:
    found, due, (x,) = _run(f"layout[{layout}]")
    np.testing.assert_allclose(found, due, rtol=1e-12)
    assert x.strides[-1] // x.itemsize == stride


def test_channels_last_is_about_four_dims() -> None:
    found, due, (x,) = _run("layout[channels_last]", shape=(2, 3, 4, 5))
    np.testing.assert_allclose(found, due, rtol=1e-12)
    assert x.strides[1] == x.itemsize


@pytest.mark.parametrize("name", ["repeat[8]", "threads[2]", "permuted[reversed]", "layout[transposed]", "batch[vmap]"])
def test_what_has_no_text_says_so(name: str) -> None:
    with pytest.raises(Unspellable):
        _run(name)
