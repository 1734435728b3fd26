"""What an operator's policy leaves open is not judged, and everything beside it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.operators import OPERATORS


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def ignoring_nan(x: Array, *, axis: int) -> Array:
    return np.nanmax(x, axis=axis)


def test_argmax_of_nan_is_open_and_max_of_nan_is_not(lab: Lab) -> None:
    dims = {"rows": 40, "n": 8}
    nan = {"x": "special(normal(0,1),0.05)"}
    row = lab.run("argmax", ignoring_nan, nan, dims=dims)
    assert row["verdict"] in ("rounding", "exact"), row["detail"]
    assert lab.run("max", ignoring_nan, nan, dims=dims)["verdict"] == "nonfinite_mismatch"
    off = lab.run("argmax", lambda x, axis: np.nanmin(x, axis=axis), nan, dims=dims)
    assert off["verdict"] not in ("rounding", "exact")


def folded(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    scale = gamma / np.sqrt(var + x.dtype.type(eps))
    shift = beta - mean * scale
    return x * scale.reshape(-1, 1, 1) + shift.reshape(-1, 1, 1)


@pytest.mark.parametrize("infinite", ["gamma", "beta", "mean", "var"])
def test_infinite_parameters_may_be_folded(lab: Lab, infinite: str) -> None:
    inputs = {infinite: "constant(inf)", "x": "offset(5,1)", "mean": "constant(1)"} | {infinite: "constant(inf)"}
    row = lab.run("batch_norm", folded, inputs)
    assert row["verdict"] in ("rounding", "exact"), row["detail"]


def test_nan_in_parameters_still_has_to_propagate(lab: Lab) -> None:
    def ignoring(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
        return folded(x, mean, var, np.nan_to_num(gamma), beta, eps=eps)

    assert lab.run("batch_norm", ignoring, {"gamma": "constant(nan)"})["verdict"] == "nonfinite_mismatch"


def test_every_policy_that_leaves_something_open_says_so() -> None:
    for name, operator in OPERATORS.items():
        open_: Any = operator.contract.unspecified
        assert bool(open_) == ("not judged" in operator.contract.nonfinite), name
        assert {kind for _, kind in open_} <= {"nan", "inf", "huge", "tiny"}
        assert {spec.name for spec in operator.contract.inputs} >= {given for given, _ in open_}


@pytest.mark.parametrize("size", ["1e-25", "1e25"])
def test_three_operands_may_be_multiplied_in_any_order(lab: Lab, size: str) -> None:
    def last_two_first(x: Array, e: Array, s: Array) -> Array:
        return np.einsum("btrc,ric->btic", x, e[:, :, None] * s)

    inputs = {"x": "normal(0,1)", "e": f"constant({size})", "s": f"constant({size})"}
    row = lab.run("einsum_low_rank", last_two_first, inputs, dims={"B": 2, "T": 2, "R": 3, "C": 2, "I": 2})
    assert row["verdict"] in ("rounding", "exact", "ill_conditioned"), row["detail"]


def test_what_underflows_in_another_order_is_not_judged(lab: Lab) -> None:
    def last_two_first(x: Array, e: Array, s: Array) -> Array:
        return np.einsum("btrc,ric->btic", x, e[:, :, None] * s)

    inputs = {"x": "constant(1e20)", "e": "constant(1e-22)", "s": "uniform(1e-21,3e-21)"}
    row = lab.run("einsum_low_rank", last_two_first, inputs, dims={"B": 2, "T": 2, "R": 3, "C": 2, "I": 2})
    assert row["verdict"] in ("rounding", "exact", "ill_conditioned", "borderline"), row["detail"]


def test_what_overflows_in_another_order_is_not_judged_where_the_formula_stays_finite(lab: Lab) -> None:
    def products_first(x: Array, e: Array, s: Array) -> Array:
        terms: Array = np.einsum("btrc,ri->btric", x, e) * s
        return np.sum(terms, axis=2)

    inputs = {"x": "constant(1)", "e": "ramp(-40,40)", "s": "constant(1e37)"}
    row = lab.run("einsum_low_rank", products_first, inputs, dims={"B": 2, "T": 2, "R": 2, "C": 2, "I": 1})
    assert row["verdict"] in ("rounding", "exact", "ill_conditioned"), row["detail"]
