"""The verdict as a table: order of the questions and every threshold at its edge."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fuzz.judging.judge import Downcast, Evidence, Ladder, Probe, judge, suspicious
from fuzz.measure import Measurement, Spot
from fuzz.thresholds import (
    ACCEPT,
    COARSE_UNITS,
    DOWNCAST_RMS,
    FLAG,
    LOW_PRECISION_SHARE,
    ORDER,
    REPEATS,
    REPRESENTABLE_SHARE,
    WRONG_SLOPE,
    ill_conditioned_above,
)
from results.verdicts import VERDICTS

U = 2.0**-24
MORE = 1 + 1e-9


def measured(rho: float = 0.5, rel: float = 1e-7, **changed: Any) -> Measurement:
    return Measurement(
        **{
            "size": 10,
            "equal": False,
            "rho": Spot(rho, 3, 1.0, 1.0, 2.0),
            "rel": Spot(rel, 4, 1.0, 1.0, 9.0),
            "rho_tree": rho,
            "rho_sequential": rho,
            **changed,
        }
    )


def ladder(low: float = 1.0, high: float = 1.0, slope: float | None = 0.0, **changed: Any) -> Ladder:
    return structs.replace(Ladder("float64", high, low, high, slope), **changed)


def verdict(m: Measurement, **evidence: Any) -> str:
    result = judge(Evidence(measured=m, u=U, **evidence))
    assert result.verdict in VERDICTS
    assert result.detail
    return result.verdict


GENUINE = Downcast(0.0, 0.0, 1e-9, 1e-9, 0.0)
FLAGGED = FLAG * MORE


@pytest.mark.parametrize(
    ("m", "due"),
    [
        (measured(0.4, equal=True), "exact"),
        (measured(1.5, equal=True), "exact"),
        (measured(0.4), "rounding"),
        (measured(ACCEPT), "rounding"),
        (measured(ACCEPT * MORE), "borderline"),
        (measured(FLAG), "borderline"),
        (measured(0.4, rel=ill_conditioned_above(U)), "rounding"),
        (measured(0.4, rel=ill_conditioned_above(U) * MORE), "ill_conditioned"),
        (measured(0.4, rel=float("inf")), "ill_conditioned"),
        (measured(1.5, rel=0.1), "borderline"),
        (measured(0.4, rho_tree_max=ORDER), "rounding"),
        (measured(0.4, unbounded=1), "indeterminate"),
        (measured(0.4, overflow_explained=2), "rounding"),
        (measured(FLAGGED), "indeterminate"),
        (measured(0.4, nonfinite_mismatch=1), "nonfinite_mismatch"),
        (measured(1e9, nonfinite_mismatch=1, unbounded=1), "nonfinite_mismatch"),
    ],
)
def test_without_a_ladder(m: Measurement, due: str) -> None:
    assert verdict(m) == due
    assert verdict(m, void=True, reduces=True) == due


def test_a_healthy_ladder_changes_nothing() -> None:
    assert verdict(measured(0.4), ladder=ladder(0.4, FLAG)) == "rounding"
    assert verdict(measured(0.4, equal=True), ladder=ladder()) == "exact"


@pytest.mark.parametrize(
    ("evidence", "due"),
    [
        ({"flush_rho": FLAG}, "subnormals_flushed"),
        ({"flush_rho": FLAGGED}, "wrong"),
        ({"flush_rho": 0.1, "void": True}, "subnormals_flushed"),
        ({"void": True}, "indeterminate"),
        ({}, "wrong"),
        ({"reduces": True, "probe": Probe(0.1, 0.1, 0.0)}, "wrong"),
        ({"ladder": None}, "indeterminate"),
        ({"ladder": ladder(9, FLAGGED, WRONG_SLOPE * MORE)}, "wrong"),
        ({"ladder": ladder(9, FLAGGED, WRONG_SLOPE)}, "unstable"),
        ({"ladder": ladder(9, FLAG, 1.0)}, "unstable"),
        ({"ladder": ladder(9, 9, None)}, "unstable"),
    ],
)
def test_a_flagged_output(evidence: dict[str, Any], due: str) -> None:
    given = {"ladder": ladder(9.0, 1e9, 1.0, downcast=None)} | evidence
    assert verdict(measured(9.0), **given) == due


@pytest.mark.parametrize(
    ("sequential", "short", "due"),
    [(ACCEPT, FLAG, "accumulation_order"), (ACCEPT * MORE, FLAG, "subnormals_flushed"),
     (ACCEPT, FLAGGED, "subnormals_flushed")],
)  # fmt: skip
def test_many_roundings_come_before_a_flush_where_both_explain(sequential: float, short: float, due: str) -> None:
    m = measured(9.0, rho_sequential_max=sequential)
    probe = Probe(short, 0.1, 0.0)
    assert verdict(m, flush_rho=0.1, reduces=True, probe=probe, ladder=ladder(9.0, 0.1)) == due


def test_one_unbounded_element_does_not_hide_a_flagged_one() -> None:
    assert verdict(measured(9.0, unbounded=1), ladder=ladder(9, 1e9, 1.0)) == "wrong"


@pytest.mark.parametrize(
    ("downcast", "due"),
    [
        (structs.replace(GENUINE, representable=REPRESENTABLE_SHARE), "silent_downcast"),
        (structs.replace(GENUINE, representable=REPRESENTABLE_SHARE / MORE), "wrong"),
        (structs.replace(GENUINE, unchanged=REPRESENTABLE_SHARE), "silent_downcast"),
        (structs.replace(GENUINE, unchanged=REPRESENTABLE_SHARE / MORE), "wrong"),
        (Downcast(0, 0, DOWNCAST_RMS[0], DOWNCAST_RMS[1], 0.5), "silent_downcast"),
        (Downcast(0, 0, DOWNCAST_RMS[1], DOWNCAST_RMS[0], 0.5), "silent_downcast"),
        (Downcast(0, 0, DOWNCAST_RMS[0] / MORE, 0.1, 0.5), "wrong"),
        (Downcast(0, 0, 0.1, DOWNCAST_RMS[1] * MORE, 0.5), "wrong"),
        (Downcast(0, 0, DOWNCAST_RMS[1] * MORE, 0.1, 0.5), "wrong"),
        (Downcast(0, 0, 0.1, DOWNCAST_RMS[0] / MORE, 0.5), "wrong"),
        (Downcast(0, 0, 0.1, 0.1, REPEATS), "wrong"),
        (Downcast(0, 0, 0.1, 0.1, REPEATS - 1e-7), "silent_downcast"),
        (Downcast(0, 0, 0.1, 0.1, -0.3), "silent_downcast"),
        (None, "wrong"),
    ],
)
def test_silent_downcast_comes_before_wrong(downcast: Downcast | None, due: str) -> None:
    assert verdict(measured(0.4), ladder=ladder(0.4, 1e8, 1.0, downcast=downcast)) == due


def test_silent_downcast_needs_a_clean_low_and_a_flagged_high_rung() -> None:
    signs = structs.replace(GENUINE, representable=1.0)
    assert verdict(measured(FLAG), ladder=ladder(FLAG, FLAGGED, 1.0, downcast=signs)) == "silent_downcast"
    assert verdict(measured(9.0), ladder=ladder(9.0, 1e8, 1.0, downcast=signs)) == "wrong"
    assert verdict(measured(0.4), ladder=ladder(0.4, FLAG, 1.0, downcast=signs)) == "rounding"


def test_instability_that_only_float64_shows() -> None:
    assert verdict(measured(0.4), ladder=ladder(0.4, 2.5, 0.1)) == "unstable"
    assert verdict(measured(0.4), ladder=ladder(0.4, 2.5, 0.1), reduces=True, probe=None) == "unstable"


COARSE = [unit / U for unit, _ in COARSE_UNITS]


@pytest.mark.parametrize(
    ("probe", "changed", "due"),
    [
        (Probe(0.2, 0.2, 0.0), {"rho_sequential_max": ACCEPT}, "accumulation_order"),
        (Probe(FLAG, 0.2, 0.0), {"rho_sequential_max": ACCEPT}, "accumulation_order"),
        (Probe(FLAGGED, 0.2, 0.0), {"rho_sequential_max": 0.1}, "unstable"),
        (Probe(0.2, 0.2, 0.0), {"rho_sequential_max": ACCEPT * MORE}, "unstable"),
        (Probe(0.2, 0.2, 0.0), {"rho_sequential": 0.9}, "accumulation_order"),
        (Probe(0.2, 0.2, 0.0), {"rho_sequential": 1.1}, "unstable"),
        (Probe(9.0, COARSE[0], LOW_PRECISION_SHARE), {}, "low_precision"),
        (Probe(9.0, COARSE[1], LOW_PRECISION_SHARE), {}, "low_precision"),
        (Probe(9.0, COARSE[1] * MORE, 1.0), {}, "unstable"),
        (Probe(9.0, COARSE[0], LOW_PRECISION_SHARE / MORE), {}, "unstable"),
    ],
)
def test_reductions(probe: Probe, changed: dict[str, Any], due: str) -> None:
    m = measured(9.0, rho_tree_max=9.0, **({"rho_sequential": 5.0} | changed))
    assert verdict(m, ladder=ladder(9.0, 0.5, -0.1), reduces=True, probe=probe) == due


def test_the_order_of_addition_is_questioned_below_the_flag_too() -> None:
    m = measured(0.9, rho_tree_max=ORDER * MORE, rho_sequential_max=0.01)
    assert suspicious(m)
    good = Probe(0.2, 0.2, 0.0)
    assert verdict(m, ladder=ladder(0.9, 0.5, 0.0), reduces=True, probe=good) == "accumulation_order"


@pytest.mark.parametrize(
    ("m", "due"),
    [
        (measured(FLAG), False),
        (measured(FLAGGED), True),
        (measured(rho_tree_max=ORDER), False),
        (measured(rho_tree_max=ORDER * MORE), True),
        (measured(rho_tree_max=None), False),
        (measured(nonfinite_mismatch=1), True),
        (measured(overflow_explained=5), False),
    ],
)
def test_what_asks_for_the_ladder(m: Measurement, due: bool) -> None:
    assert suspicious(m) is due


def test_reasons_are_told() -> None:
    assert "why not" in judge(Evidence(measured=measured(9.0), u=U, no_ladder="why not")).detail
    assert "2 elements overflow" in judge(Evidence(measured=measured(overflow_explained=2), u=U)).detail
    lost = ladder(9.0, 9.0, 0.0, saturated=True)
    assert "no correct digit" in judge(Evidence(measured=measured(9.0), u=U, ladder=lost)).detail


def test_what_only_float64_shows_may_be_an_order_or_a_flush() -> None:
    high = Ladder("float64", 9.0, 0.5, 9.0, 0.1)
    for changed in ({"high_sequential": 0.5}, {"high_flushed": 0.5}):
        excused = structs.replace(high, **changed)
        assert judge(Evidence(measured=measured(0.5), u=U, ladder=excused, reduces=True)).verdict == "rounding"
    for kept in ({"high_sequential": 5.0}, {"high_flushed": 5.0}):
        assert judge(Evidence(measured=measured(0.5), u=U, ladder=structs.replace(high, **kept))).verdict == "unstable"
    assert judge(Evidence(measured=measured(0.5), u=U, ladder=structs.replace(high, high_sequential=0.5))).verdict == (
        "unstable"
    )  # without a reduction there is no order


def test_without_a_second_precision_a_benign_draw_tells_instability() -> None:
    assert judge(Evidence(measured=measured(9.0), u=U, benign_rho=0.5)).verdict == "unstable"
    assert judge(Evidence(measured=measured(9.0), u=U, benign_rho=5.0)).verdict == "indeterminate"
