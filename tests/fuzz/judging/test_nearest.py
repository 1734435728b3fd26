"""The number nearest to the truth: decided exactly where float64 is too close to call, left open where nothing is."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from fuzz.judging import nearest as module
from fuzz.judging.nearest import nearest
from fuzz.operators import operator
from fuzz.oracle.arithmetic import ArbArithmetic, Arithmetic, MpmathArithmetic
from fuzz.oracle.bound import OutputTruth
from fuzz.workbench import Bench, Rung
from strategies import make_problem, parse_recipe
from strategies.precision import precision


def rung_of(name: str, dtype: str, x: Any) -> tuple[Bench, Rung]:
    """A bench with the inputs set and the truth computed."""
    values = np.asarray(x).astype(dtype)
    contract = operator(name).contract
    problem = make_problem(contract, dims={"n": values.size}, home=dtype, recipes=[parse_recipe("constant(1)", ("x",))])
    bench = Bench(problem)
    rung = bench.rung(dtype)
    rung.arena.arrays["x"][...] = values
    rung.refresh()
    return bench, rung


def believe(rung: Rung, value: Any) -> None:
    """Put another truth in the place of the one computed."""
    rung.yardsticks[0].refresh(OutputTruth(value, {0: np.abs(value)}), lambda: np.zeros(value.size, bool))


def bits_of(values: Any) -> list[int]:
    return np.asarray(values).view(f"u{values.dtype.itemsize}").tolist()


@pytest.mark.parametrize("name", ["exp", "tanh", "log1p", "sin", "sigmoid"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_it_is_what_many_digits_give(name: str, dtype: str) -> None:
    functions = {
        "exp": mpmath.exp, "tanh": mpmath.tanh, "log1p": mpmath.log1p, "sin": mpmath.sin,
        "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    }  # fmt: skip
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-0.99, 9, 150), rng.uniform(-1, 1, 50) * 2.0 ** rng.integers(-14, 0, 50)])
    bench, rung = rung_of(name, dtype, x)
    found = nearest(bench, rung, 0, ArbArithmetic())
    with mpmath.workprec(300):
        exact = [functions[name](mpmath.mpf(float(v))) for v in rung.inputs()[0]]
        for number, true in zip(found.values, exact, strict=True):
            neighbours = (np.nextafter(number, number.dtype.type(s * np.inf)) for s in (-1, 1))
            assert all(abs(number - true) <= abs(float(other) - true) for other in neighbours)
    assert not found.undecided


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("margin", [2.0**14, 2.0**24])
def test_elements_near_a_middle_are_all_found(dtype: str, margin: float) -> None:
    """The test of the bits leaves none out: against the distance itself, in exact fractions, around many middles."""
    p, rng = precision(dtype), np.random.default_rng(3)
    whole = rng.integers(1, 2**p.digits, 300).astype(float)
    whole[:40] = [*range(1, 21), *(2.0**p.digits - k for k in range(1, 21))]
    exponents = rng.integers(p.minimum_exponent - p.digits + 1, p.maximum_exponent - p.digits + 1, 300)
    exponents[::2] = p.minimum_exponent - p.digits + 1
    steps = rng.choice([0.0, 0.5, 1, 1.01, 2, 2.01, 1e4], 300) * rng.choice([-1, 1], 300) * margin
    middles = np.ldexp(whole + 0.5, exponents)
    v = (middles + steps * np.spacing(middles)) * rng.choice([-1, 1], 300)
    due = []
    for position, number in enumerate(np.abs(v).tolist()):
        exponent = max(math.frexp(number)[1], p.minimum_exponent + 1) - p.digits
        place = Fraction(number) / Fraction(2) ** exponent
        if abs(place - math.floor(place) - Fraction(1, 2)) <= place * Fraction(margin) / 2**52:
            due.append(position)
    assert 100 < len(due) < 300
    assert module._Grid(v, p).near(margin) == due


def test_ball_arithmetic_decides_what_float64_cannot() -> None:
    """gelu(x) = x/2 + x^2/sqrt(2 pi) + ...: at an odd subnormal x float64 sees the middle, the exact value is above."""
    tiny = 2.0**-149
    x = [tiny, 3 * tiny, -tiny, -3 * tiny, 5 * tiny]
    bench, rung = rung_of("gelu", "float32", x)
    assert (rung.yardsticks[0].value == np.array(x) / 2).all()
    found = nearest(bench, rung, 0, ArbArithmetic())
    assert (found.values / np.float32(tiny)).tolist() == [1, 2, 0, -1, 3]
    assert not found.undecided
    for arithmetic in (None, MpmathArithmetic()):
        assert nearest(bench, rung, 0, arithmetic).undecided == ([0, 1, 2, 3, 4] if arithmetic is None else [])


def test_exact_ties_go_to_the_even_number() -> None:
    tiny = 2.0**-24
    bench, rung = rung_of("relu", "float16", [tiny, 3 * tiny])
    assert nearest(bench, rung, 0, ArbArithmetic()).values.tolist() == [tiny, 3 * tiny]
    half = _Halved()
    bench, rung = rung_of("gelu", "float16", [tiny, 3 * tiny, 5 * tiny, -3 * tiny])
    believe(rung, rung.inputs()[0].astype(np.float64) / 2)
    found = nearest(bench, rung, 0, half)
    assert (found.values.astype(float) / tiny).tolist() == [0, 2, 2, -2]


class _Halved(ArbArithmetic):
    """Arb, for which erfc is 1 everywhere: gelu becomes x/2, exactly."""

    def apply(self, primitive: str, *arguments: Any) -> Any:
        return self.number(1.0) if primitive == "erfc" else super().apply(primitive, *arguments)


def test_a_ball_on_both_sides_decides_nothing() -> None:
    bench, rung = rung_of("gelu", "float32", [2.0**-149, 1.0])
    found = nearest(bench, rung, 0, ArbArithmetic(bits=53))  # sees x/2 and a radius
    assert found.undecided == [0]
    assert found.rounded(found.values) == 1


def test_a_truth_that_errs_widens_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the truth is off by more than a quarter of the margin, elements further from a middle are decided, too."""
    x = np.linspace(0.5, 0.6, 4000)
    bench, rung = rung_of("exp", "float32", x)
    right = nearest(bench, rung, 0, ArbArithmetic())
    believe(rung, rung.yardsticks[0].value * (1 + 2.0**-35))
    assert not right.undecided
    spoiled = nearest(bench, rung, 0, ArbArithmetic())
    assert bits_of(spoiled.values) == bits_of(right.values)
    assert not spoiled.undecided
    believe(rung, rung.yardsticks[0].value * (1 + 2.0**-25))
    hopeless = nearest(bench, rung, 0, ArbArithmetic())
    assert 3000 < len(hopeless.undecided) < 4000
    monkeypatch.setattr(module, "MARGINS", (2.0**14,))
    assert bits_of(nearest(bench, rung, 0, ArbArithmetic()).values) != bits_of(right.values)


def test_beyond_the_work_allowed_elements_stay_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    bench, rung = rung_of("gelu", "float32", [2.0**-149] * 5)
    assert nearest(bench, rung, 0, ArbArithmetic()).undecided == [2, 3, 4]


@pytest.mark.parametrize("arithmetic", [None, ArbArithmetic()], ids=["none", "Arb"])
def test_nan_infinities_and_zeros(arithmetic: Arithmetic | None) -> None:
    bench, rung = rung_of("exp", "float16", [np.nan, np.inf, -np.inf, 0.0, -0.0, 20.0, -30.0])
    found = nearest(bench, rung, 0, arithmetic)
    assert found.values.astype(str).tolist() == ["nan", "inf", "0.0", "1.0", "1.0", "inf", "0.0"]
    assert not found.undecided
    zeros = np.array([np.nan, np.inf, -0.0, 1, 1, np.inf, 0.0], np.float16)
    assert found.rounded(zeros) == 7
    assert found.rounded(np.roll(zeros, 1)) == 1  # the second 1


def test_the_largest_number_and_infinity() -> None:
    """65520 is the middle between the largest float16 and 2^16: at and above it results round to infinity."""
    bench, rung = rung_of("exp", "float16", [11.0859375, 11.09375])
    assert nearest(bench, rung, 0, ArbArithmetic()).values.tolist() == [65248.0, np.inf]
