"""When a variant is to blame: the rule of docs/decisions/021-variants.md, case by case."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.judging.judge import Judgement
from fuzz.judging.second_look import NEAR, nearby
from fuzz.judging.variation import Side, State, against_truth, opinion
from fuzz.measure import Measurement, Spot
from fuzz.thresholds import ACCEPT, FLAG, ill_conditioned_above
from strategies.precision import precision

U = 2.0**-24
RIGHT, ORDER, OPEN, BAD = (Side(state, f"is {state.name}") for state in State)


def _pair(rho: float, mismatch: int = 0, equal: bool = False, rel: float = 1e-6) -> Measurement:
    return Measurement(size=10, equal=equal, rho=Spot(rho, 3), nonfinite_mismatch=mismatch, rel=Spot(rel, 3))


@pytest.mark.parametrize("one", [RIGHT, ORDER, OPEN, BAD])
@pytest.mark.parametrize("other", [RIGHT, ORDER, OPEN, BAD])
@pytest.mark.parametrize("rho", [0.1, ACCEPT, FLAG])
def test_within_two_roundings_nobody_is_to_blame(one: Side, other: Side, rho: float) -> None:
    for rel in (1e-6, 1e3 * ill_conditioned_above(U)):  # a small or a large share of the result: next to a zero
        found = opinion(_pair(rho, rel=rel), one, other, bitwise=False)
        assert (found.verdict, found.suspect) == ("rounding", False)


@pytest.mark.parametrize("pair", [_pair(FLAG * 1.01), _pair(0.1, mismatch=1)])
def test_beyond_them_exactly_one_bad_side_is_suspect(pair: Measurement) -> None:
    assert opinion(pair, RIGHT, BAD, bitwise=False).suspect
    assert opinion(pair, BAD, RIGHT, bitwise=False).suspect
    assert opinion(pair, ORDER, BAD, bitwise=False).suspect


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (BAD, BAD, None),
        (RIGHT, OPEN, "indeterminate"),
        (BAD, OPEN, "indeterminate"),
        (RIGHT, ORDER, "accumulation_order"),
        (RIGHT, RIGHT, "rounding"),
    ],
)
def test_beyond_them_other_pairs_of_sides_are_not(one: Side, other: Side, verdict: str | None) -> None:
    for plain, varied in ((one, other), (other, one)):
        found = opinion(_pair(50.0), plain, varied, bitwise=False)
        assert (found.verdict, found.suspect) == (verdict, False)


def test_where_one_number_only_is_right_any_difference_is_beyond() -> None:
    assert opinion(_pair(0.1), RIGHT, BAD, bitwise=True).suspect
    assert not opinion(_pair(0.1), BAD, BAD, bitwise=True).suspect
    assert not opinion(_pair(0.0, equal=True), RIGHT, BAD, bitwise=True).suspect


def test_an_output_under_a_variant_has_no_finding_of_its_own() -> None:
    rounded = Judgement("rounding", "rho 0.1")
    assert against_truth(rounded, RIGHT) == rounded
    assert against_truth(rounded, BAD) is None
    verdicts = [found.verdict for side in (ORDER, OPEN) if (found := against_truth(rounded, side))]
    assert verdicts == ["accumulation_order", "indeterminate"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_inputs_nearby_are_a_little_smaller_and_of_the_same_kind(dtype: str) -> None:
    given = np.array([1.0, -2.5, 0.0, -0.0, np.inf, np.nan, 1e-3, -7e3] * 50, precision(dtype).numpy)
    near = nearby(given, np.random.default_rng(1)).astype(np.float64)
    values = given.astype(np.float64)
    numbers = np.isfinite(values) & (values != 0)
    np.testing.assert_array_equal(near[~numbers], values[~numbers])
    shares = near[numbers] / values[numbers]
    slack = 2.0 * precision(dtype).unit_roundoff
    assert (shares <= 1.0).all()
    assert (shares >= (1.0 - NEAR) * (1.0 - slack)).all()
    assert np.unique(shares).size > 2
    assert near.dtype == np.float64
