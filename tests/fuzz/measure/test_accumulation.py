"""rho under the models of accumulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact_metrics import (
    measure,
)

from fuzz.oracle.models import Model


def test_models_at_the_worst_element() -> None:
    n = 64
    value = np.array([1.0, 1.0])
    parts = {0: np.array([1.0, 1.0]), n: np.array([2.0, 2.0])}
    m = measure([1.0, 1.0 + 1e-3], value, None, parts=parts)
    e = float(np.float32(1.001)) - 1.0
    u = 2.0**-24
    assert m.rho.largest == pytest.approx(e / u / (1 + 2 * 8))
    assert m.rho_ideal == pytest.approx(e / u / 3)
    assert m.rho_tree == pytest.approx(e / u / (1 + 2 * 7))
    assert m.rho_sequential == pytest.approx(e / u / (1 + 2 * 64))
    assert m.rho_tree_max == pytest.approx(m.rho_tree)
    assert m.rho_sequential_max == pytest.approx(m.rho_sequential)


def test_the_largest_tree_rho_may_lie_elsewhere() -> None:
    n = 65536
    parts = {0: np.array([1.0, 1e6]), n: np.array([1.0, 1e-9])}
    u = 2.0**-24
    value = np.array([0.0, 0.0])
    output = [u * 230, u * 0.95e6]
    m = measure(output, value, None, parts=parts)
    assert m.rho.index == 1
    assert m.rho_tree_max == pytest.approx(230 / 18, rel=1e-3)
    assert m.rho_tree == pytest.approx(0.95, rel=1e-3)
    assert Model.TREE.h(n) == 17


def test_tree_rho_is_missing_only_where_it_cannot_matter() -> None:
    rng = np.random.default_rng(1)
    for n in (4, 256, 65536):
        for scale in (0.01, 0.3, 0.9, 1.5, 3.0):
            parts = {0: np.abs(rng.normal(size=20)), n: np.abs(rng.normal(size=20))}
            root = parts[0] + math.sqrt(n) * parts[n]
            tree = parts[0] + Model.TREE.h(n) * parts[n]
            error = scale * 2.0**-24 * root * rng.uniform(size=20)
            m = measure(error, np.zeros(20), None, parts=parts)
            rho_tree = float((np.float32(error).astype(float) / 2.0**-24 / tree).max())
            assert m.rho_tree_max is not None or rho_tree <= 4
            if m.rho_tree_max is not None:
                assert m.rho_tree_max == pytest.approx(rho_tree)
