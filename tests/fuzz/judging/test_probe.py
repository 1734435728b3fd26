"""The short-reduction probe: which dims are cut, and what it says about accumulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.judging.probe import shortened
from fuzz.thresholds import LOW_PRECISION_ELEMENTS
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


@pytest.mark.parametrize(
    ("operator", "dims", "attributes", "cut"),
    [
        ("batch_norm_training", {"N": 3, "C": 4, "H": 5, "W": 6}, {}, {"N": 2, "H": 1, "W": 1}),
        ("batch_norm_training", {"N": 3, "C": 4, "H": 2, "W": 6}, {}, {"N": 2, "H": 1, "W": 1}),
        ("batch_norm_training", {"N": 2, "C": 1, "H": 100, "W": 1}, {}, {"N": 2, "H": 1, "W": 1}),
        ("conv2d", {"N": 1, "C": 3, "O": 2, "H": 5, "W": 5, "KH": 3, "KW": 3}, {}, {"C": 2, "KH": 1, "KW": 1}),
        ("avg_pool2d", {"N": 1, "C": 1, "H": 9, "W": 9}, {"kernel": 3}, None),
    ],
)
def test_several_dims_that_are_summed_together_are_cut(
    lab: Lab, operator: str, dims: dict[str, int], attributes: dict[str, int], cut: dict[str, int] | None
) -> None:
    short = shortened(Bench(lab.problem(operator, attributes=attributes, dims=dims)))
    if cut is None:
        assert short is None
        return
    assert short is not None
    assert {name: size for name, size in dict(short.dims).items() if name in cut} == cut


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


@pytest.mark.parametrize(
    ("n", "due"), [(LOW_PRECISION_ELEMENTS - 1, "unstable"), (LOW_PRECISION_ELEMENTS, "low_precision")]
)
def test_few_elements_do_not_say_that_all_are_affected(lab: Lab, n: int, due: str) -> None:
    """An error of half a TF32 unit, in float32 alone."""
    row = lab.run("exp", lambda x: np.exp(x) * x.dtype.type(1 + 2.0**-12 * (x.dtype == np.float32)), dims={"n": n})
    assert row["verdict"] == due
