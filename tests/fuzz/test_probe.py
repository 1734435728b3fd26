"""The short-reduction probe: which dims are cut, and what it says about accumulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.probe import shortened
from fuzz.workbench import Bench


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


@pytest.mark.parametrize(
    ("operator", "attributes", "cut"),
    [
        ("matmul", {}, {"K": 2}),
        ("sum", {"axis": -1}, {"n": 2}),
        ("sum", {"axis": 0}, {"rows": 2}),
        ("softmax", {"axis": -1}, {"n": 2}),
        ("softmax", {"axis": 0}, {"rows": 2}),
        ("layer_norm", {}, {"n": 2}),
    ],
)
def test_only_the_dim_that_is_summed_is_cut(
    lab: Lab, operator: str, attributes: dict[str, int], cut: dict[str, int]
) -> None:
    problem = lab.problem(
        operator, attributes=attributes, dims={"M": 5, "K": 9, "N": 6} if operator == "matmul" else {"rows": 9, "n": 7}
    )
    short = shortened(Bench(problem))
    assert short is not None
    assert dict(short.dims) == dict(problem.dims) | cut
    assert (short.operator, short.attributes, short.recipes) == (problem.operator, problem.attributes, problem.recipes)


def rounded_to_bfloat16(x: Array) -> Array:
    return ((x.view(np.uint32) + np.uint32(1 << 15)) & np.uint32(0xFFFF0000)).view(np.float32)


def test_a_long_chain_of_additions_is_a_choice_not_a_defect(lab: Lab) -> None:
    """Equal terms round alike: a sequential sum exceeds the sqrt(n) bound, never the n bound."""
    row = lab.run(
        "sum",
        lambda x, *, axis: np.cumsum(x, axis=axis, dtype=x.dtype)[:, -1],
        {"x": "constant(0.1)"},
        dims={"rows": 3, "n": 5000},
    )
    assert row["rho_max"] > 2
    assert row["verdict"] == "accumulation_order"
    assert "sequential addition" in row["detail"]


def test_coarse_inputs_stay_coarse_with_two_terms(lab: Lab) -> None:
    def coarse(a: Array, b: Array) -> Array:
        return a @ b if a.dtype == np.float64 else rounded_to_bfloat16(a) @ rounded_to_bfloat16(b)

    row = lab.run("matmul", coarse, {"a": "uniform(0,1)", "b": "uniform(0,1)"})
    assert row["verdict"] == "low_precision"
    assert "2^-8" in row["detail"]


def test_cancellation_inside_is_no_matter_of_order(lab: Lab) -> None:
    def one_pass(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
        mean = x.mean(-1, keepdims=True)
        var = np.maximum((x * x).mean(-1, keepdims=True) - mean * mean, 0)
        return (x - mean) / np.sqrt(var + x.dtype.type(eps)) * gamma + beta

    assert lab.run("layer_norm", one_pass, {"x": "offset(300,1)"})["verdict"] == "unstable"
