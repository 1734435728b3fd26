"""The precision ladder through whole trials: slope, saturation, downcasts, missing rungs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

from fuzz.backends.base import Unsupported
from fuzz.judging.ladder import _correlation, _slope
from fuzz.measure import Yardstick
from fuzz.oracle.bound import OutputTruth


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_wrong_formula_has_slope_one_from_either_side(lab: Lab, dtype: str) -> None:
    row = lab.run("exp", lambda x: np.exp(x) * x.dtype.type(1 + 1e-4), dtype=dtype)
    assert row["verdict"] == "wrong"
    assert row["rung_slope"] == pytest.approx(1.0, abs=0.01)
    assert row["rung_dtype"] == ("float64" if dtype == "float32" else "float32")
    assert row["known_by"] == (
        "float64" if dtype == "float32" else f"longdouble ({np.finfo(np.longdouble).nmant} bits)"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_instability_has_slope_zero(lab: Lab, dtype: str) -> None:
    row = lab.run("softplus", lambda x: np.log(1 + np.exp(x)), {"x": "uniform(-12,-4)"}, dtype=dtype)
    assert row["verdict"] == "unstable"
    assert abs(row["rung_slope"]) < 0.3


def test_a_rung_that_does_not_exist_leaves_the_class_open(lab: Lab) -> None:
    def narrow_only(x: Array) -> Array:
        if x.dtype != np.float32:
            raise Unsupported("float32 only")
        return np.exp(x) * np.float32(1.01)

    row = lab.run("exp", narrow_only)
    assert row["verdict"] == "indeterminate"
    assert "float32 only" in row["detail"]
    assert "rung_dtype" not in row


def test_a_healthy_float32_kernel_without_float64_is_healthy(lab: Lab) -> None:
    def narrow_only(x: Array) -> Array:
        if x.dtype != np.float32:
            raise Unsupported("float32 only")
        return np.exp(x)

    assert lab.run("exp", narrow_only)["verdict"] == "rounding"


def test_without_a_request_a_healthy_trial_climbs_nothing(lab: Lab) -> None:
    seen = []

    def kernel(x: Array) -> Array:
        seen.append(x.dtype.name)
        return np.exp(x)

    row = lab.run("exp", kernel, ladder=False)
    assert seen == ["float32"]
    assert "rung_rho" not in row
    seen.clear()
    assert "rung_rho" in lab.run("exp", kernel)
    assert "float64" in seen


def test_inputs_of_the_other_rung_round_to_those_at_home_and_fill_the_significand(lab: Lab) -> None:
    seen: dict[str, Array] = {}

    def kernel(x: Array) -> Array:
        seen.setdefault(x.dtype.name, x.copy())
        return np.exp(x)

    lab.run("exp", kernel)
    np.testing.assert_array_equal(seen["float64"].astype(np.float32), seen["float32"])
    assert np.mean(seen["float64"] != seen["float32"]) > 0.99


def test_the_inputs_of_the_campaign_survive_the_ladder(lab: Lab) -> None:
    """All targets of a trial see the same inputs, whatever the ladder of an earlier one did."""
    rows = [
        lab.run("exp", lambda x, c=c: np.exp(x) * x.dtype.type(c), name=f"times{i}", trials=3)
        for i, c in enumerate((1.01, 1.0))
    ]
    assert rows[0]["input_digest"] == rows[1]["input_digest"]
    assert rows[1]["verdict"] == "rounding"


@pytest.mark.parametrize(
    ("kernel", "due"),
    [
        (lambda x: np.exp(x.astype(np.float32)).astype(x.dtype), "silent_downcast"),
        (lambda x: np.exp(x.astype(np.float32).astype(x.dtype)), "silent_downcast"),
        (lambda x: np.exp(x).astype(np.float32).astype(x.dtype) * x.dtype.type(1 + 2.0**-52), "silent_downcast"),
        (lambda x: np.exp(x) * x.dtype.type(1 + 2.0**-25), "wrong"),
        (lambda x: np.exp(x), "rounding or exact"),  # NumPy's exp depends on the processor
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_downcasts_and_small_constants_are_told_apart(
    lab: Lab, kernel: Callable[..., Any], due: str, dtype: str
) -> None:
    assert lab.run("exp", kernel, dtype=dtype)["verdict"] in due.split(" or ")


def tool(value: Array, dtype: str, wide: Any) -> Yardstick:
    made = Yardstick(value.size, dtype, np.dtype(wide))
    made.refresh(OutputTruth(value.astype(wide), {0: np.abs(value).astype(wide)}), lambda: np.zeros(value.size, bool))
    return made


def test_slope_takes_the_flagged_elements_and_ignores_saturated_ones() -> None:
    value = np.ones(5)
    low, high = tool(value, "float32", np.float64), tool(value, "float64", np.longdouble)
    rho_low, rho_high = np.array([1.0, 8.0, 8.0, 8.0, 1e9]), np.array([9e9, 8.0, 8.0, 16.0, 1e18])
    slope, saturated = _slope(rho_low, rho_high, low, high)
    assert slope == 0.0  # the median of 0, 0 and 1/29
    assert not saturated
    slope, saturated = _slope(np.array([0, 0, 0, 0, 1e9]), np.array([0, 0, 0, 0, 1e18]), low, high)
    assert saturated
    assert slope == pytest.approx(np.log2(1e9) / 29)
    assert _slope(np.ones(5), np.ones(5), low, high) == (None, False)
    slope, _ = _slope(np.ones(5), np.array([1, 1, 1, 1, 2.0**29]), low, high)
    assert slope == 1.0
    slope, _ = _slope(np.full(5, 8.0), np.zeros(5), low, high)  # exact in float64 is no evidence of anything
    assert slope is not None
    assert slope < -1


def test_correlation() -> None:
    a = np.array([1.0, -2.0, 3.0])
    assert _correlation(a, 2 * a) == pytest.approx(1.0)
    assert _correlation(a, -a) == pytest.approx(-1.0)
    assert _correlation(a, np.array([2.0, 1.0, 0.0])) == 0.0
    assert _correlation(a, np.zeros(3)) == 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_float32_sum_inside_float64_is_a_downcast_however_it_is_ordered(lab: Lab, dtype: str) -> None:
    """Adding up term by term, it exceeds the ideal bound already in float32: the order explains that rung."""

    def one_by_one(x: Array, *, axis: int) -> Array:
        return np.cumsum(x.astype(np.float32), axis=axis, dtype=np.float32)[:, -1].astype(x.dtype)

    row = lab.run("sum", one_by_one, {"x": "constant(0.1)"}, dims={"rows": 1, "n": 4096}, dtype=dtype)
    if dtype == "float32":
        assert row["rho_max"] > 2
    assert row["verdict"] == "silent_downcast"


def test_a_wrong_factor_is_none_although_an_order_explains_the_lower_rung(lab: Lab) -> None:
    def biased(x: Array, *, axis: int) -> Array:
        return np.cumsum(x, axis=axis)[:, -1] * x.dtype.type(1 + 1e-5)

    row = lab.run("sum", biased, {"x": "constant(0.1)"}, dims={"rows": 1, "n": 4096})
    assert row["verdict"] == "wrong"
