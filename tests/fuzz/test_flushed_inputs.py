"""Subnormal inputs read as zero: log, 1/x and 1/sqrt(x) are then infinite, and that is what the verdict says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.backends import BACKENDS
from fuzz.backends.base import EVERY_FLOAT
from fuzz.judging.judge import Evidence, judge
from fuzz.measure import Measurement
from fuzz.oracle.plain import without_subnormals
from fuzz.targets import Target
from fuzz.thresholds import FLAG
from strategies.precision import precision

INPUTS = "abs(subnormal())"
MIXED = "uniform(0,2.4e-38)"
"""float32: about half of it subnormal."""
FORMULAS: dict[str, Callable[[Array], Array]] = {
    "log": np.log,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def flushing(formula: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        least = x.dtype.type(precision(x.dtype.name).smallest_normal)
        return formula(np.where(np.abs(x) < least, np.copysign(x.dtype.type(0), x), x)).astype(x.dtype)

    return kernel


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("operator", FORMULAS)
def test_a_kernel_that_reads_subnormals_as_zero(lab: Lab, operator: str, dtype: str) -> None:
    lab.backend.operator(operator, name="kernel", dtypes=EVERY_FLOAT)(flushing(FORMULAS[operator]))
    row = lab.trial(lab.problem(operator, {"x": INPUTS}, dtype=dtype), Target("lab", "cpu", dtype)).rows[0]
    assert row["verdict"] == "subnormals_flushed", row["detail"]


@pytest.mark.parametrize("operator", FORMULAS)
def test_normal_numbers_beside_them_are_measured(lab: Lab, operator: str) -> None:
    formula = FORMULAS[operator]
    row = lab.run(operator, flushing(formula), {"x": MIXED})
    assert row["verdict"] == "subnormals_flushed", row["detail"]
    assert 0 < row["nonfinite_mismatch"] < row["elements"]
    off = lab.run(operator, flushing(lambda x: formula(x) * x.dtype.type(1.01)), {"x": MIXED})
    assert off["verdict"] == "nonfinite_mismatch"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda y: np.where(np.isinf(y), np.nan, y),
        lambda y: -y,
        lambda y: np.where(np.arange(y.size) == np.isfinite(y).argmax(), np.inf, y),
        lambda y: np.full_like(y, -np.inf),
    ],
    ids=["NaN", "sign", "a normal number, too", "everywhere"],
)
def test_another_pattern_is_a_mismatch(lab: Lab, wrong: Callable[[Array], Array]) -> None:
    row = lab.run("log", flushing(lambda x: wrong(np.log(x)).astype(x.dtype)), {"x": MIXED})
    assert row["verdict"] == "nonfinite_mismatch"


@pytest.mark.parametrize("operator", FORMULAS)
def test_jax_on_the_cpu(operator: str) -> None:
    if BACKENDS["jax"].missing() is not None:
        pytest.skip("jax is not installed")
    BACKENDS["jax"].warm_up()
    with Lab() as lab:
        problem = lab.problem(operator, {"x": INPUTS})
        row = lab.trial(problem, Target("jax", "cpu", "float32")).rows[0]
        assert row["verdict"] != "nonfinite_mismatch", row["detail"]


def test_the_judge_wants_both_the_pattern_and_the_rest() -> None:
    measured = Measurement(size=4, equal=False, nonfinite_mismatch=2, first_mismatch=1)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "nonfinite_mismatch"),
        ({"like_flushed": True}, "nonfinite_mismatch"),
        ({"flush_rho": 0.5}, "nonfinite_mismatch"),
        ({"like_flushed": True, "flush_rho": 2 * FLAG}, "nonfinite_mismatch"),
        ({"like_flushed": True, "flush_rho": FLAG}, "subnormals_flushed"),
    ]
    for evidence, verdict in cases:
        assert judge(Evidence(measured=measured, u=2.0**-24, **evidence)).verdict == verdict


def test_zeros_keep_the_sign_of_what_they_replace() -> None:
    (read,) = without_subnormals([np.array([-1e-40, 1e-40, -1.5, 2.0**-126], np.float32)], "float32")
    assert read.tolist() == [0.0, 0.0, -1.5, 2.0**-126]
    assert np.signbit(read).tolist() == [True, False, True, False]
