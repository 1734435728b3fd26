"""What counts as a large error, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from search_cases import bench_of

from fuzz.execution import Ran
from fuzz.search.anatomy import anatomy
from fuzz.search.objective import Kind, Objective
from fuzz.targets import parse_target
from fuzz.workbench import Bench
from strategies.precision import precision

U = 2.0**-24


def scores(
    name: str, dims: dict[str, int], x: Any, outputs: Callable[..., Any], kind: Kind = Kind.RHO, home: str = "float32"
) -> Any:
    """Scores of a target that returns `outputs(x)`, by individual."""
    bench = bench_of(name, dims, home=home)
    target = parse_target("numpy", home)

    def run(bench: Bench, target: Any, purpose: str) -> Ran:
        values = bench.rung(target.dtype).inputs()[0]
        return Ran((outputs(values).astype(precision(home).numpy),), 0.0, target.implementation(name))

    objective = Objective(bench, [target], run, kind)
    objective.arrays["x"][...] = x
    return objective.scores(anatomy(bench))[0].max(axis=1)


def test_rho_is_that_of_the_ideal_model() -> None:
    """A sum of ones is charged n u for its inputs and n u for one rounding, however long it is."""
    n = 1024
    found = scores("sum", {"rows": 2, "n": n}, 1.0, lambda x: x.sum(axis=1) * (1 + np.array([0, 2**-20])))
    assert found == pytest.approx([0.0, 2**-20 * n / (2 * n * U)], rel=1e-3)


def test_an_error_below_the_flag_line_counts_by_its_size() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    once = scores("tanh", {"n": 4}, x, lambda x: np.tanh(x.astype(np.float64)) * (1 + U * np.arange(4)))
    assert 0 < once[1] < once[2] < once[3] < 2


def test_flushing_alone_is_no_error() -> None:
    x = np.array([1e-39, 1.17e-38, 1.0, 2.0**-126], np.float32)
    flushed = scores("relu", {"n": 4}, x, lambda x: np.where(np.abs(x) < 2.0**-126, 0, np.maximum(x, 0)))
    assert flushed.max() <= 1 / 8
    assert scores("relu", {"n": 4}, x, lambda x: np.maximum(x, 0) + 2.0**-120).max() > 1


def test_nonfinite_results_and_overflow_of_the_formula_have_no_size() -> None:
    x = np.array([1.0, 2.0, 1e38, 3.0], np.float32)
    found = scores("tanh", {"n": 4}, x, lambda x: np.array([np.nan, np.inf, 1.0, 0.99505475]))
    assert (found < 1).all()
    big = np.full((2, 4), 3e38, np.float32)
    assert (scores("sum", {"rows": 2, "n": 4}, big, lambda x: np.array([np.inf, 1e38])) == 0).all()


def test_ulps_are_those_of_the_table() -> None:
    x = np.array([1.0, 1.5, 1e-40, 2.0], np.float32)
    found = scores("relu", {"n": 4}, x, lambda x: x + np.array([2.0**-23, 2.0**-22, 0, 0], np.float32), Kind.ULP)
    assert found == pytest.approx([1, 2, 0, 0])
    none = scores("relu", {"n": 4}, x, lambda x: np.where(x < 1e-38, 0, x), Kind.ULP)
    assert none[2] == pytest.approx(1e-40 / 2.0**-149, rel=1e-3)


def test_a_target_that_takes_no_part_scores_nothing() -> None:
    bench = bench_of("tanh", {"n": 4})
    target = parse_target("numpy", "float32")

    def run(*_: Any) -> Ran:
        raise AssertionError("it ran")

    assert (Objective(bench, [target], run, Kind.RHO, without={0}).scores(anatomy(bench)) == 0).all()
