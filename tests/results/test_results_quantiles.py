"""Exact quantiles found in buckets are those of all numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from synthetic_rows import make_row

import results
from results.quantiles import LEVELS, quantiles
from results.spreads import PARTS, interval

EDGES = [
    0.0, 5e-324, 2.0**-1001, 2.0**-1000, 1e-300, 0.25, 0.3125, 1.0, 1.25, 1.5, 1.75, 2.0, 2.0**60, 2.0**1023,
    1.7976931348623157e308, math.inf, math.nan,
]  # fmt: skip


def numbers(kind: str) -> list[float]:
    rng = np.random.default_rng(8)
    if kind == "edges":
        beside = [np.nextafter(x, to) for x in EDGES for to in (0, 1e308) if math.isfinite(x)]
        return [float(x) for x in (*EDGES, *beside) for _ in range(int(rng.integers(1, 4)))]
    if kind == "one":
        return [0.3]
    if kind == "ties":
        return rng.choice([0.0, 1e-7, 2e-7, math.nan], 997).tolist()
    if kind == "tiny":  # the smallest bucket, below it zeros
        return rng.choice([-0.0, 0.0, 0.0, *5e-324 * np.arange(1, 9), 1e-310, 2.0**-1001], 997).tolist()
    return (10.0 ** rng.normal(-5, 3, 2000)).tolist()


@pytest.mark.parametrize("kind", ["edges", "one", "ties", "tiny", "random"])
def test_they_are_those_of_all_numbers(campaign: Callable[..., Path], kind: str) -> None:
    values = numbers(kind)
    rows = [make_row(n, "numpy:cpu", rel_max=x, rho_max=1.0) for n, x in enumerate(values)]
    rows += [make_row(n, "torch:cpu", rel_max=None, rho_max=x * 3) for n, x in enumerate(values)]
    opened = results.open(campaign(rows))
    numpy, torch = quantiles(opened)
    assert torch.relative == ()
    assert numpy.rho == (1.0,) * len(LEVELS)
    for found, column, target in ((numpy.relative, "rel_max", "numpy:cpu"), (torch.rho, "rho_max", "torch:cpu")):
        query = f"SELECT quantile_disc({column}, {list(LEVELS)}) AS q FROM trials WHERE target = '{target}'"
        np.testing.assert_array_equal(found, opened.records(query)[0]["q"])


def test_every_number_is_counted_in_its_bucket(campaign: Callable[..., Path]) -> None:
    values = [x for x in numbers("edges") if 2.0**-1000 <= x < math.inf]
    opened = results.open(campaign([make_row(n, rel_max=x) for n, x in enumerate(values)]))
    for line in opened.tallied("SELECT bucket, n FROM spreads WHERE figure = 'relative'"):
        low, high = interval(line["bucket"])
        assert high == low + 2.0 ** (line["bucket"] // PARTS) / PARTS
        assert line["n"] == sum(low <= x < high for x in values)
