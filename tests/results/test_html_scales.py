"""Axes: where values lie and what the ticks say, at every edge."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.contents.rates import RateLine
from results.html.forest import axis
from results.html.scale import LogScale, log_scale, percent_tick, power
from results.statistics import rate_interval

AXIS = LogScale(-2, 2, 100.0, 500.0)


def test_decades_are_evenly_spaced() -> None:
    assert [AXIS.at(v) for v in (0.01, 0.1, 1.0, 10.0, 100.0)] == pytest.approx([100, 200, 300, 400, 500])


def test_values_outside_lie_at_the_ends() -> None:
    assert AXIS.at(0.0) == AXIS.at(1e-300) == AXIS.at(5e-324) == 100
    assert AXIS.at(math.inf) == AXIS.at(1e300) == 500


@pytest.mark.parametrize("value", [math.nan, -1.0, -math.inf])
def test_what_has_no_logarithm_has_no_place(value: float) -> None:
    with pytest.raises(ValueError, match="no place"):
        AXIS.at(value)


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([], (-1, 1)),
        ([0.0, math.nan, math.inf], (-1, 1)),
        ([1.0], (-1, 1)),
        ([10.0, 1000.0], (1, 3)),
        ([9.99, 1001.0], (0, 4)),
        ([5e-324, 1.7e308], (-324, 309)),
        ([0.0, 1e-8, 1e-2], (-8, -2)),
    ],
)
def test_an_axis_holds_its_values(values: list[float], ends: tuple[int, int]) -> None:
    scale = log_scale(values, 0.0, 1.0)
    assert (scale.low, scale.high) == ends


@given(st.integers(-324, 308), st.integers(1, 632), st.integers(3, 12))
def test_ticks_are_few_and_inside(low: int, length: int, most: int) -> None:
    scale = LogScale(low, low + length, 0.0, 1.0)
    ticks = scale.ticks(most)
    assert len(ticks) <= most
    assert all(low <= tick <= low + length for tick in ticks)
    assert len({later - tick for tick, later in itertools.pairwise(ticks)}) <= 1


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True)))
def test_every_positive_value_is_inside(values: list[float]) -> None:
    scale = log_scale([v for v in values if not v < 0], 10.0, 20.0)
    assert scale.high - scale.low >= 2
    for value in values:
        if value > 0 and math.isfinite(value):
            assert scale.low - 1e-6 <= math.log10(value) <= scale.high + 1e-6


def test_short_axes_have_labels_between_decades() -> None:
    assert [name for _, name in LogScale(-1, 1, 0.0, 1.0).marks()] == ["0.1", "0.2", "0.5", "1", "2", "5", "10"]
    assert [name for _, name in LogScale(-9, -8, 0.0, 1.0).marks()] == ["10⁻⁹", "2·10⁻⁹", "5·10⁻⁹", "10⁻⁸"]
    assert all(name not in ("2", "5") for _, name in LogScale(-2, 2, 0.0, 1.0).marks())


def test_labels() -> None:
    assert [power(k) for k in (-12, -2, 0, 3, 4, 308)] == ["10⁻¹²", "0.01", "1", "1000", "10⁴", "10³⁰⁸"]
    assert [percent_tick(k) for k in (0, -1, -2, -3, -5)] == ["100 %", "10 %", "1 %", "0.1 %", "0.001 %"]


def test_rates_have_a_common_axis_that_ends_at_all_trials() -> None:
    lines = [RateLine("target", "a", rate_interval(0, 5000)), RateLine("target", "b", rate_interval(32, 5000))]
    scale = axis(lines)
    assert (scale.low, scale.high) == (-4, 0)
    assert axis([RateLine("target", "a", rate_interval(0, 10))]).low < -1
