"""Numbers beside the edges of a format: the edges are what they are called, and draws stay where they should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strategies.contract import ContractError
from strategies.elements import number_at, ordinal
from strategies.expressions import RecipeError, parse_recipe
from strategies.precision import PRECISIONS, precision
from strategies.sampling import stream
from strategies.thresholds import edges, exp_range, overflow_bound

HOMES = tuple(PRECISIONS)
NATIVE = ("float16", "float32", "float64")


def drawn(text: str, home: str, size: int = 4000) -> np.ndarray:
    out = np.full(size, np.nan, home)
    recipe = parse_recipe(text, ("x",))
    recipe.check(home, [out.shape])
    recipe.draw(stream("a test", 2, 0, 0), [out])
    return out


def beside(home: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The edge called `what` and the number after it."""
    x = dict(edges(home))[what]
    after = number_at(ordinal(x, home) + 1, home)
    return np.array(x, home), np.array(after, home)


@pytest.mark.parametrize("home", NATIVE)
def test_edges_are_where_the_arithmetic_changes(home: str) -> None:
    """NumPy's own arithmetic, operations that IEEE 754 requires to be correctly rounded."""
    tiny = np.array(precision(home).smallest_normal, home)
    one = np.array(1, home)
    with np.errstate(all="ignore"):
        for what, holds in {
            "the largest subnormal number": lambda x: x < tiny,
            "x*x is 0": lambda x: x * x == 0,
            "x*x is subnormal": lambda x: x * x < tiny,
            "x*x is finite": lambda x: np.isfinite(x * x),
            "1/x overflows": lambda x: np.isinf(one / x),
            "1/x is normal": lambda x: one / x >= tiny,
            "1 + x is 1": lambda x: one + x == one,
            "every integer up to x is a number": lambda x: x - one + one == x and x - (x - one) == one,
        }.items():
            x, after = beside(home, what)
            assert holds(x), what
            assert not holds(after), what


@pytest.mark.parametrize("home", [home for home in HOMES if home != "float64"])
def test_the_overflow_bound_is_the_least_number_that_rounds_to_infinity(home: str) -> None:
    p = precision(home)
    bound = float(overflow_bound(p))
    assert np.isinf(p.round(bound))
    assert p.round(np.nextafter(bound, 0)) == p.largest


@pytest.mark.parametrize("home", HOMES)
def test_edges_of_exp(home: str) -> None:
    """Against mpmath, with the rounding of the format written out."""
    mpmath = pytest.importorskip("mpmath")
    p = precision(home)
    with mpmath.workprec(200):
        top = mpmath.mpf(2) ** p.maximum_exponent * (2 - mpmath.mpf(2) ** -p.digits)
        x, after = (float(value) for value in beside(home, "exp x is finite"))
        assert mpmath.exp(x) < top <= mpmath.exp(after)
        x, after = (float(value) for value in beside(home, "exp -x is normal"))
        assert mpmath.exp(-x) >= p.smallest_normal > mpmath.exp(-after)
        x, after = (float(value) for value in beside(home, "exp -x is not 0"))
        assert mpmath.exp(-x) > mpmath.mpf(p.smallest_subnormal) / 2 >= mpmath.exp(-after)
    assert exp_range("float32") == (-103.97207641601562, 88.72283172607422)


@pytest.mark.parametrize("home", HOMES)
def test_edges_and_both_signs_and_all_neighbours_are_drawn(home: str) -> None:
    wanted = set()
    last = ordinal(precision(home).largest, home)
    for _, value in edges(home):
        for sign in (1, -1):
            wanted |= {min(max(sign * ordinal(value, home) + j, -last), last) for j in (-1, 0, 1)}
    assert {ordinal(float(x), home) for x in drawn("edges(1)", home)} == wanted


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(("a", "b"), [(0, math.inf), (-1, 1), (2, 1000), (-math.inf, -0.5)])
def test_edges_with_neighbours_outside_are_left_out(home: str, a: float, b: float) -> None:
    sample = drawn(f"edges(3,{a},{b})", home).astype(float)
    assert sample.min() >= a
    assert sample.max() <= b
    assert len(set(sample.tolist())) >= 7


def test_an_interval_without_edges_is_refused() -> None:
    with pytest.raises(ContractError, match="no edge of float32 lies within"):
        drawn("edges(0,1.25,1.5)", "float32")
    with pytest.raises(RecipeError, match="edges needs a < b"):
        parse_recipe("edges(0,1,1)", ("x",))


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(("c", "k"), [(1.0, 2), (0.0, 3), (-8.0, 0), (3.0, 5)])
def test_near_draws_exactly_the_numbers_within_k_places(home: str, c: float, k: int) -> None:
    sample = drawn(f"near({c},{k})", home)
    step = {number_at(ordinal(c, home) + j, home) for j in range(-k, k + 1)}
    assert set(sample.astype(float).tolist()) == step
    if home in NATIVE:
        up = np.array(c, home)
        for _ in range(k):
            up = np.nextafter(up, np.array(np.inf, home))
        assert float(up) == max(step)
    assert not np.signbit(sample[sample == 0]).any()


def test_near_the_largest_number_infinity_is_left_out() -> None:
    largest = precision("float16").largest
    assert set(drawn(f"near({largest},2)", "float16").astype(float)) == {65504.0, 65472.0, 65440.0}


@pytest.mark.parametrize("home", HOMES)
def test_binades_are_all_visited_at_their_ends(home: str) -> None:
    p = precision(home)
    sample = drawn("binades(0)", home, 40_000).astype(float)
    mantissas, exponents = np.frexp(sample)
    assert set(mantissas) == {0.5}
    assert {exponents.min() - 1, exponents.max() - 1} == {p.minimum_exponent, p.maximum_exponent}
    around = drawn("binades(1)", home).astype(float)
    assert {float(m) for m in np.frexp(around[around >= 2 * p.smallest_normal])[0]} == {
        0.5,
        0.5 + p.unit_roundoff,
        1 - p.unit_roundoff,
    }


def test_ordinals_count_numbers() -> None:
    for home in HOMES:
        p = precision(home)
        assert ordinal(0.0, home) == ordinal(-0.0, home) == 0
        assert ordinal(-p.smallest_subnormal, home) == -1
        assert number_at(2, home) == 2 * p.smallest_subnormal
        assert number_at(ordinal(p.largest, home), home) == p.largest
