"""What a trial over every number of a format says: one wrong bit pattern is found and named, whatever it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from trial_cases import Array, Lab

EVERY = {"x": "bits(0)"}
DIMS = {"n": 65536}


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


def rounded(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A kernel that computes in float64 and rounds once."""

    def kernel(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return function(x.astype(np.float64)).astype(x.dtype)

    return kernel


def wrong_at(pattern: int, change: Callable[[Array], Any], function: Any = np.exp) -> Callable[[Array], Array]:
    """`function` correctly rounded, but for one bit pattern of the input."""

    def kernel(x: Array) -> Array:
        y = rounded(function)(x)
        here = x.view(np.uint16) == pattern
        y[here] = change(y[here])
        return y

    return kernel


def run(lab: Lab, kernel: Any, operator: str = "exp", dtype: str = "float16") -> dict[str, Any]:
    return lab.run(operator, kernel, EVERY, dtype=dtype, dims=DIMS, ladder=False)


def number(pattern: int, dtype: str = "float16") -> float:
    return float(np.array([pattern], np.uint16).view(dtype)[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_correct_rounding_is_seen_as_such(lab: Lab, dtype: str) -> None:
    if dtype == "bfloat16":
        from strategies.precision import precision

        def kernel(x: Array) -> Array:
            with np.errstate(all="ignore"):
                return precision(dtype).round(np.exp(x.astype(np.float64)))
    else:
        kernel = rounded(np.exp)
    row = run(lab, kernel, dtype=dtype)
    assert (row["correctly_rounded"], row["rounding_undecided"]) == (65536, 0)
    assert row["ulp_max"] <= 0.5
    assert (row["nonfinite_mismatch"], row["flagged"]) == (0, 0)
    assert "nonfinite_input" not in row
    assert row["certified"] > 0


@pytest.mark.parametrize(
    "pattern", [0x3C01, 0xC37F, 0x0001, 0x83FF, 0x0400, 0x8000, 0x0000], ids=lambda pattern: f"{pattern:#06x}"
)
def test_one_wrong_bit_pattern_is_named(lab: Lab, pattern: int) -> None:
    row = run(lab, wrong_at(pattern, lambda y: y + 3 * np.spacing(y)))
    assert row["correctly_rounded"] == 65535
    assert row["ulp_input"].hex() == number(pattern).hex()  # tells -0 from 0
    assert 2.5 <= row["ulp_max"] <= (6.5 if pattern == 0x83FF else 3.5)  # below 1 the ulp is half that of the result 1
    ulp = 2.0 ** (math.frexp(row["ulp_truth"])[1] - 11)
    assert row["ulp_max"] == pytest.approx(abs(row["ulp_value"] - row["ulp_truth"]) / ulp)
    assert (row["ulp_normal_input"] == row["ulp_input"]) == (pattern not in (0x0001, 0x83FF))


def test_one_ulp_beside_the_nearest_number_counts(lab: Lab) -> None:
    """exp(x) for x = 2^-11 lies near the middle of 1 and 1 + 2^-10: 0.5002 ulp is not correct rounding."""
    pattern = 0x1000
    assert number(pattern) == 2.0**-11
    row = run(lab, wrong_at(pattern, lambda y: 1.0))
    assert row["correctly_rounded"] == 65535
    assert 0.5 < row["ulp_max"] < 0.501
    assert row["ulp_input"] == 2.0**-11


@pytest.mark.parametrize(
    ("pattern", "value", "told"),
    [
        (0x7C00, 1.0, "1 instead of inf"),
        (0xFC00, np.nan, "nan instead of 0"),
        (0x7E00, 0.0, "0 instead of nan"),
        (0x3C00, np.inf, "inf instead of 2.718"),
        (0x7C01, 2.0, "2 instead of nan"),
    ],
    ids=["inf", "-inf", "NaN", "1", "signalling NaN"],
)
def test_a_wrong_nonfinite_value_is_named(lab: Lab, pattern: int, value: float, told: str) -> None:
    row = run(lab, wrong_at(pattern, lambda y: value))
    assert row["verdict"] == "nonfinite_mismatch"
    assert row["nonfinite_mismatch"] == 1
    assert str(row["detail"]).endswith(f"the first at {pattern}: {told}")
    assert str(row["nonfinite_input"]) == str(number(pattern))
    assert row["correctly_rounded"] == 65535
    assert row["ulp_max"] <= 0.5


def test_flushed_subnormals_are_told_from_normal_numbers(lab: Lab) -> None:
    def flushing(x: Array) -> Array:
        y = rounded(np.sqrt)(x)
        y[(x > 0) & (x < np.float16(2.0**-14))] = 0
        return y

    row = run(lab, flushing, "sqrt")
    assert row["ulp_max"] > 1000
    assert abs(row["ulp_input"]) < 2.0**-14
    assert row["ulp_normal_max"] <= 0.5
    assert row["correctly_rounded"] == 65536 - 1023
    assert math.isfinite(row["ulp_normal_input"])


def test_subnormal_results_are_no_normal_numbers_either(lab: Lab) -> None:
    def flushing(x: Array) -> Array:
        y = rounded(np.exp)(x)
        y[y < np.float16(2.0**-14)] = 0
        return y

    row = run(lab, flushing)
    assert row["ulp_max"] > 1000
    assert abs(row["ulp_input"]) > 1
    assert row["ulp_normal_max"] <= 0.5


def test_payloads_of_nan_do_not_matter(lab: Lab) -> None:
    def kernel(x: Array) -> Array:
        y = rounded(np.exp)(x)
        y[np.isnan(x)] = np.array([0xFE55], np.uint16).view(np.float16)[0]
        return y

    assert run(lab, kernel)["correctly_rounded"] == 65536


def test_other_inputs_have_no_such_columns(lab: Lab) -> None:
    row = lab.run("exp", rounded(np.exp))
    assert not row.keys() & {"correctly_rounded", "ulp_input", "rounding_undecided", "ulp_normal_max"}


def test_float64_has_no_count_of_rounded_results(lab: Lab) -> None:
    row = lab.run("exp", np.exp, {"x": "bits(4503599627370496)"}, dtype="float64", dims={"n": 100})
    assert "correctly_rounded" not in row
    assert row["ulp_input"] >= 2.0**-1022
