"""Metrics against a slow, obvious implementation in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.measure import Measurement, PairYardstick, Yardstick
from fuzz.oracle.bound import OutputTruth
from fuzz.oracle.models import Model
from results.columns import RUNGS
from strategies.precision import precision

Array = np.ndarray[Any, Any]
WIDE = {"float32": np.dtype(np.float64), "float64": np.dtype(np.longdouble)}
quick = settings(max_examples=150, deadline=None, derandomize=True, database=None)
widths = pytest.mark.parametrize(
    ("dtype", "wide"),
    [("float32", np.dtype(np.float64)), ("float64", np.dtype(np.longdouble)), ("float64", np.dtype(np.float64))],
    ids=["float32", "float64", "float64 screen"],
)


def exactly(x: Any) -> Fraction:
    return Fraction(*x.as_integer_ratio())


def ulp(v: Fraction, dtype: str) -> Fraction:
    p = precision(dtype)
    if v == 0:
        return Fraction(2) ** (p.minimum_exponent - p.digits + 1)
    exponent = v_exponent(abs(v))
    return Fraction(2) ** (max(exponent, p.minimum_exponent) - p.digits + 1)


def v_exponent(v: Fraction) -> int:
    """floor(log2 v)."""
    guess = v.numerator.bit_length() - v.denominator.bit_length()
    while Fraction(2) ** guess > v:
        guess -= 1
    while Fraction(2) ** (guess + 1) <= v:
        guess += 1
    return guess


def yardstick(
    value: Any, bound: Any, dtype: str, wide: Any = None, overflow: Any = None, parts: Any = None
) -> Yardstick:
    wide = WIDE[dtype] if wide is None else wide
    v = np.asarray(value, wide)
    tool = Yardstick(v.size, dtype, wide)
    tool.refresh(
        OutputTruth(v, parts or {0: np.asarray(bound, wide)}),
        lambda: np.zeros(v.shape, bool) if overflow is None else np.asarray(overflow),
    )
    return tool


def measure(output: Any, value: Any, bound: Any, dtype: str = "float32", **options: Any) -> Measurement:
    return yardstick(value, bound, dtype, **options).measure(np.asarray(output, dtype))


def ratio(a: Fraction, b: Fraction) -> float:
    """a / b as a float; 0/0 is 0."""
    if a == 0:
        return 0.0
    try:
        return float(a / b) if b else math.inf
    except OverflowError:
        return math.inf


def slow(output: Sequence[Any], value: Sequence[Any], bound: Sequence[Any], dtype: str) -> dict[str, Any]:
    """Figures of elements that are finite on both sides, one by one."""
    u = Fraction(precision(dtype).unit_roundoff)
    errors = [exactly(y) - exactly(v) for y, v in zip(output, value, strict=True)]
    rhos = [ratio(abs(e), u * exactly(b)) for e, b in zip(errors, bound, strict=True)]
    rels = [ratio(abs(e), abs(exactly(v))) for e, v in zip(errors, value, strict=True)]
    ulps = [ratio(abs(e), ulp(exactly(v), dtype)) for e, v in zip(errors, value, strict=True)]
    n = len(errors)
    return {
        "abs_max": float(max(map(abs, errors))),
        "abs_mean": float(sum(errors) / n),
        "rel": max(rels),
        "rels": rels,
        "above": tuple(sum(r > 10.0**-k for r in rels) for k in RUNGS),
        "ulp": max(ulps),
        "ulps": ulps,
        "rho": max(rhos),
        "rhos": rhos,
        "flagged": sum(r > 2 for r in rhos),
    }


def close(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-300)


def compare(m: Measurement, expected: dict[str, Any]) -> None:
    assert close(m.abs_max, expected["abs_max"])
    assert close(m.rel.largest, expected["rel"])
    assert close(m.ulp_max, expected["ulp"])
    assert close(m.rho.largest, expected["rho"])
    for spot, figures in ((m.rel, "rels"), (m.rho, "rhos")):
        assert close(expected[figures][spot.index], max(expected[figures]))
    assert close(expected["ulps"][m.ulp_index], expected["ulp"])
    near = [any(math.isclose(r, 10.0**-k, rel_tol=1e-9) for r in expected["rels"]) for k in RUNGS]
    for count, due, undecided in zip(m.above, expected["above"], near, strict=True):
        assert undecided or count == due
    if not any(math.isclose(r, 2, rel_tol=1e-9) for r in expected["rhos"]):
        assert m.flagged == expected["flagged"]


@st.composite
def cases(draw: st.DrawFn, dtype: str) -> tuple[Array, Array, Array]:
    """Truth of any magnitude, outputs at chosen distances, bounds around the error."""
    p = precision(dtype)
    n = draw(st.integers(1, 12))
    wide = WIDE[dtype]
    exponent = st.integers(p.minimum_exponent - p.digits + 2, p.maximum_exponent - 2)
    values, outputs, bounds = [], [], []
    for _ in range(n):
        e = draw(st.one_of(st.integers(-4, 4), exponent))
        mantissa = draw(st.sampled_from([0.0, 1.0, 1.0 + 2.0**-30, 1.999999999, 1.5, 1.3]))
        v = wide.type(mantissa) * np.ldexp(wide.type(1), e) * draw(st.sampled_from([1, -1]))
        steps = draw(st.sampled_from([0, 0, 1, 3, 1000]))
        y = np.dtype(dtype).type(v)
        with np.errstate(all="ignore"):
            for _ in range(min(steps, 3)):
                y = np.nextafter(y, np.dtype(dtype).type(np.inf))
            if steps == 1000:
                y = np.dtype(dtype).type(v * wide.type(1.001))
        values.append(v)
        outputs.append(y)
        bounds.append(
            abs(v) * wide.type(draw(st.sampled_from([0.5, 1.0, 7.0, 1e6])))
            + np.ldexp(wide.type(1), -900 if dtype == "float64" else -126)
        )
    return np.array(outputs, dtype), np.array(values, wide), np.array(bounds, wide)


@quick
@given(cases("float32"))
def test_float32_figures_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    compare(measure(output, value, bound), slow(output, value, bound, "float32"))


@quick
@given(cases("float64"))
def test_float64_figures_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case
    compare(measure(output, value, bound, "float64"), slow(output, value, bound, "float64"))


@quick
@given(cases("float64"))
def test_screens_measure_the_same(case: tuple[Array, Array, Array]) -> None:
    output, value, bound = case[0], case[1].astype(np.float64), case[2].astype(np.float64)
    m = measure(output, value, bound, "float64", wide=np.dtype(np.float64))
    compare(m, slow(output, value.astype(np.longdouble), bound.astype(np.longdouble), "float64"))


def test_signed_means_and_rms() -> None:
    m = measure([1.5, 2.0, 2.5, 4.0], [1.0, 2.0, 3.0, 3.0], [1.0, 1.0, 2.0, 4.0])
    u = 2.0**-24
    assert m.abs_mean == pytest.approx((0.5 + 0 - 0.5 + 1) / 4)
    assert m.abs_rms == pytest.approx(math.sqrt((0.25 + 0.25 + 1) / 4))
    assert m.rho_mean == pytest.approx((0.5 + 0 - 0.25 + 0.25) / 4 / u)
    assert (m.rel.index, m.rho.index, m.ulp_index) == (0, 0, 0)
    assert (m.rel.value, m.rel.truth, m.rel.amplification) == (1.5, 1.0, 1.0)


def test_figures_do_not_depend_on_what_was_measured_before() -> None:
    rng = np.random.default_rng(0)
    value = rng.normal(size=50)
    tool = yardstick(value, np.abs(value), "float32")
    first, other = (np.float32(value * (1 + e * rng.normal(size=50))) for e in (1e-6, 1e-2))
    spoilt = other.copy()
    spoilt[3] = np.nan
    once = tool.measure(first)
    tool.measure(other)
    tool.measure(spoilt)
    assert tool.measure(first) == once


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("end", [0.0, 1.0, 2.0, 2.0**-100, 1.5])
def test_ulp_at_binade_ends(dtype: str, end: float) -> None:
    """At a power of two the ulp is the one above it; zero has that of the subnormals."""
    p = precision(dtype)
    above, below = (np.nextafter(np.dtype(dtype).type(end), np.dtype(dtype).type(to)) for to in (9, -9))
    tiny = p.smallest_subnormal
    size = tiny if end == 0 else 2.0 ** (math.floor(math.log2(end)) - p.digits + 1)
    for neighbour in (above, below):
        m = measure([neighbour], [end], [abs(end) + 1e-30], dtype)
        assert m.ulp_max == abs(float(neighbour) - end) / size


@widths
def test_ulp_of_subnormal_truth(dtype: str, wide: Any) -> None:
    p = precision(dtype)
    v = 5 * p.smallest_subnormal
    m = measure([7 * p.smallest_subnormal], [v], [v / p.unit_roundoff], dtype, wide=wide)
    assert m.ulp_max == 2.0
    assert m.rel.largest == pytest.approx(0.4)
    low = 2.0 ** (p.minimum_exponent + 1)
    m = measure([low * (1 + 2 * p.unit_roundoff)], [low], [low], dtype, wide=wide)
    assert m.ulp_max == 1.0


@widths
def test_errors_of_tiny_numbers_count(dtype: str, wide: Any) -> None:
    """1 per mille of 1e-300 is as wrong as 1 per mille of 1, with and without a zero beside it."""
    small = 1e-300 if dtype == "float64" else 1e-37
    for beside in (1.0, 0.0):
        m = measure([small * 1.0011, beside], [small, beside], [small * 10, 1.0], dtype, wide=wide)
        assert m.rel.largest == pytest.approx(1.1e-3, rel=1e-3)
        assert m.rho.largest == pytest.approx(1.1e-4 / precision(dtype).unit_roundoff, rel=1e-3)
        assert m.rel.index == m.rho.index == 0
        assert m.above[:4] == (0, 0, 1, 1)


@widths
def test_zero_truth(dtype: str, wide: Any) -> None:
    m = measure([0.0, 1e-20, -0.0, 3.0], [0.0, 0.0, 0.0, 3.0], [0.0, 1.0, 0.0, 3.0], dtype, wide=wide)
    assert (m.rel.largest, m.rel.index) == (math.inf, 1)
    assert m.above == (1,) * 12
    assert not m.equal
    assert math.isfinite(m.rho.largest)
    m = measure([1e-20], [0.0], [0.0], dtype, wide=wide)
    assert m.rho.largest > 1e9
    assert m.flagged == 1
    m = measure([0.0, -0.0], [0.0, 0.0], [0.0, 0.0], dtype, wide=wide)
    assert (m.rel.largest, m.rho.largest, m.ulp_max, m.equal) == (0.0, 0.0, 0.0, True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_means_correctly_rounded(dtype: str) -> None:
    p = precision(dtype)
    unit = 2.0 * p.unit_roundoff
    wide = WIDE[dtype].type
    one = wide(1)
    half = wide(unit) / 2
    cases = [
        (1.0, one, True),
        (1.0 - unit / 2, one, False),  # half an ulp below a power of two, and not the nearest
        (1.0 + unit, one, False),
        (1.0, one + half, True),  # a tie goes to even
        (1.0 + unit, one + half, False),
        (1.0 + 2 * unit, one + 3 * half, True),
        (1.0 + unit, one + 3 * half, False),
        (1.0 + unit, one + half * wide(1.01), True),
        (1.0, one + half * wide(0.99), True),
        (1e-30, wide(0), False),
        (np.nan, wide(np.nan), True),
        (np.inf, wide(np.inf), True),
    ]
    for y, v, equal in cases:
        assert measure([y], [v], [1.0], dtype).equal is equal, (y, v)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_overflow_rounds_at_half_an_ulp_beyond_the_largest_number(dtype: str) -> None:
    p = precision(dtype)
    wide = WIDE[dtype].type
    largest = wide(p.largest)
    halfway = largest + np.ldexp(wide(1), p.maximum_exponent - p.digits)
    beyond, before = halfway * (1 + wide(2.0**-60)), halfway * (1 - wide(2.0**-60))
    if dtype == "float32":
        beyond, before = np.nextafter(halfway, np.inf), np.nextafter(halfway, 0)
    assert measure([np.inf], [beyond], [largest], dtype).nonfinite_mismatch == 0
    assert measure([np.inf], [halfway], [largest], dtype).nonfinite_mismatch == 0
    assert measure([np.inf], [before], [largest], dtype).nonfinite_mismatch == 1
    assert measure([p.largest], [largest], [largest], dtype).nonfinite_mismatch == 0
    assert measure([p.largest, np.inf], [largest, wide(np.inf)], [largest, 0], dtype).nonfinite_mismatch == 0
    assert measure([p.largest], [beyond], [largest], dtype).nonfinite_mismatch == 1


def test_nonfinite_values_are_compared_and_left_out() -> None:
    y = [np.nan, 1.0, np.nan, np.inf, -np.inf, np.inf, 1.5, np.inf, 2.0]
    v = [np.nan, np.nan, 1.0, np.inf, np.inf, 1.0, 1.0, np.nan, np.inf]
    m = measure(y, v, [1.0] * 9)
    assert m.nan_count == 2
    assert m.inf_count == 4
    assert m.nonfinite_mismatch == 6
    assert m.first_mismatch == 1
    assert (m.abs_max, m.abs_mean, m.rel.largest, m.rel.index) == (0.5, 0.5 / 9, 0.5, 6)
    assert m.rho.largest == pytest.approx(0.5 * 2**24)
    assert not m.equal


def test_mismatches_where_the_formula_overflows_are_explained() -> None:
    m = measure([np.inf, np.nan, 1.0], [1e30, 1.0, 1.0], [1.0] * 3, overflow=[True, False, False])
    assert (m.overflow_explained, m.nonfinite_mismatch, m.first_mismatch) == (1, 1, 1)
    assert not m.equal


def test_a_finite_error_is_explained_only_if_the_formula_makes_it_too() -> None:
    """1/inf is 0: an overflow inside can leave a finite result."""
    value, bound = np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0])
    tool = Yardstick(3, "float32", WIDE["float32"])
    tool.refresh(
        OutputTruth(value, {0: bound}),
        lambda: np.array([True, True, False]),
        lambda squares: np.array([0, 0, 0], np.float32),
    )
    m = tool.measure(np.array([0.0, 0.5, 0.0], np.float32))
    assert m.overflow_explained == 1  # the second differs from the formula's 0, the third does not overflow
    assert (m.flagged, m.nonfinite_mismatch) == (2, 0)
    assert m.rho.largest == pytest.approx(2**24)
    assert m.rho.index == 2


@pytest.mark.parametrize("hole", [np.inf, np.nan])
def test_elements_without_a_bound_are_counted_not_measured(hole: float) -> None:
    m = measure([1.5, 1.0, 2.0], [1.0, 1.0, 2.0], [hole, hole, 1.0])
    assert m.unbounded == 1
    assert m.rho.largest == 0.0
    assert m.abs_max == 0.5


def test_models_at_the_worst_element() -> None:
    n = 64
    value = np.array([1.0, 1.0])
    parts = {0: np.array([1.0, 1.0]), n: np.array([2.0, 2.0])}
    m = measure([1.0, 1.0 + 1e-3], value, None, parts=parts)
    e = float(np.float32(1.001)) - 1.0
    u = 2.0**-24
    assert m.rho.largest == pytest.approx(e / u / (1 + 2 * 8))
    assert m.rho_ideal == pytest.approx(e / u / 3)
    assert m.rho_tree == pytest.approx(e / u / (1 + 2 * 7))
    assert m.rho_sequential == pytest.approx(e / u / (1 + 2 * 64))
    assert m.rho_tree_max == pytest.approx(m.rho_tree)
    assert m.rho_sequential_max == pytest.approx(m.rho_sequential)


def test_the_largest_tree_rho_may_lie_elsewhere() -> None:
    n = 65536
    parts = {0: np.array([1.0, 1e6]), n: np.array([1.0, 1e-9])}
    u = 2.0**-24
    value = np.array([0.0, 0.0])
    output = [u * 230, u * 0.95e6]
    m = measure(output, value, None, parts=parts)
    assert m.rho.index == 1
    assert m.rho_tree_max == pytest.approx(230 / 18, rel=1e-3)
    assert m.rho_tree == pytest.approx(0.95, rel=1e-3)
    assert Model.TREE.h(n) == 17


def test_tree_rho_is_missing_only_where_it_cannot_matter() -> None:
    rng = np.random.default_rng(1)
    for n in (4, 256, 65536):
        for scale in (0.01, 0.3, 0.9, 1.5, 3.0):
            parts = {0: np.abs(rng.normal(size=20)), n: np.abs(rng.normal(size=20))}
            root = parts[0] + math.sqrt(n) * parts[n]
            tree = parts[0] + Model.TREE.h(n) * parts[n]
            error = scale * 2.0**-24 * root * rng.uniform(size=20)
            m = measure(error, np.zeros(20), None, parts=parts)
            rho_tree = float((np.float32(error).astype(float) / 2.0**-24 / tree).max())
            assert m.rho_tree_max is not None or rho_tree <= 4
            if m.rho_tree_max is not None:
                assert m.rho_tree_max == pytest.approx(rho_tree)


def test_empty_output() -> None:
    m = measure(np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 3)))
    assert (m.size, m.equal, m.rho.index) == (0, True, -1)


def test_shapes_do_not_matter() -> None:
    value = np.arange(1.0, 7.0).reshape(2, 3)
    assert measure(value * 1.01, value, value) == measure((value * 1.01).ravel(), value.ravel(), value.ravel())


@quick
@given(cases("float32"), st.integers(0, 2**32))
def test_pairs_are_those_of_exact_arithmetic(case: tuple[Array, Array, Array], seed: int) -> None:
    a, value, bound = case
    rng = np.random.default_rng(seed)
    b = np.where(rng.random(a.size) < 0.5, a, np.nextafter(a, np.float32(1)))
    m = PairYardstick(a.size, WIDE["float32"]).compare(a, b, yardstick(value, bound, "float32"))
    expected = slow(a, b.astype(np.float64), bound, "float32")
    assert close(m.abs_max, expected["abs_max"])
    assert close(m.rel.largest, expected["rel"])
    assert close(m.rho.largest, expected["rho"] / 2)
    assert m.above == expected["above"]
    assert m.equal == (expected["abs_max"] == 0)
    assert close(m.abs_mean, expected["abs_mean"])


def test_pairs_with_nonfinite_values() -> None:
    a = np.array([np.nan, np.inf, np.inf, np.nan, 0.0, 2.0, 1.0], np.float32)
    b = np.array([np.nan, np.inf, -np.inf, 1.0, 0.0, 1.0, 0.0], np.float32)
    m = PairYardstick(7, WIDE["float32"]).compare(a, b, yardstick(np.ones(7), np.ones(7), "float32"))
    assert m.nonfinite_mismatch == 2
    assert m.first_mismatch == 2
    assert (m.rel.largest, m.rel.index) == (math.inf, 6)
    assert m.above == (2,) * 12
    assert m.abs_max == 1.0
    assert not m.equal
    same = PairYardstick(2, WIDE["float32"]).compare(a[:2], b[:2], yardstick(np.ones(2), np.ones(2), "float32"))
    assert same.equal
    assert same.first_mismatch == -1


def test_pairs_where_the_truth_is_not_finite_have_no_rho() -> None:
    truth = yardstick([np.inf, 1.0], [0.0, 1.0], "float32")
    m = PairYardstick(2, WIDE["float32"]).compare(np.float32([1e38, 1]), np.float32([2e38, 1]), truth)
    assert m.rho.largest == 0.0
    assert m.rel.largest == pytest.approx(0.5)
