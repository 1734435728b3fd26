"""Where the formula itself overflows inside, what it gives then is no defect, however small the error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

HUGE = {"x": "signed(loguniform(1e18,3e20))", "gamma": "constant(3e-5)", "beta": "constant(271.5)"}
"""x * x overflows: the normalised values become 0, and beta is left."""


def layer_norm(x: Array, gamma: Array, beta: Array, *, eps: float) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + x.dtype.type(eps)) * gamma + beta


def test_an_error_between_one_and_two_bounds_is_not_taken_for_an_order_of_addition() -> None:
    with Lab() as lab:
        row = lab.run("layer_norm", layer_norm, HUGE, dims={"rows": 4, "n": 4096})
    assert row["verdict"] in ("rounding", "exact", "ill_conditioned")
    assert "overflow in the formula" in row["detail"]


@pytest.mark.parametrize("factor", [1.001, 1.0 + 1e-5])
def test_what_the_formula_does_not_give_is_still_a_defect(factor: float) -> None:
    def off(x: Array, gamma: Array, beta: Array, *, eps: float) -> Any:
        return layer_norm(x, gamma, beta, eps=eps) * x.dtype.type(factor)

    with Lab() as lab:
        row = lab.run("layer_norm", off, HUGE, dims={"rows": 4, "n": 4096})
    assert row["verdict"] in ("wrong", "unstable", "nonfinite_mismatch")
