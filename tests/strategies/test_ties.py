"""Results next to rounding midpoints, by exact integer arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from strategies.contract import ContractError
from strategies.expressions import parse_recipe
from strategies.precision import PRECISIONS, precision
from strategies.sampling import stream

HOMES = tuple(PRECISIONS)
SIZE = 500


def drawn(text: str, home: str, inputs: tuple[str, ...] = ("x",)) -> list[list[Fraction]]:
    outs = [np.full(SIZE, np.nan, home) for _ in inputs]
    recipe = parse_recipe(text, inputs)
    recipe.check(home, [out.shape for out in outs])
    recipe.draw(stream("a test", 3, 0, 0), outs)
    return [[Fraction(float(value)) for value in out] for out in outs]


def from_midpoint(value: Fraction, digits: int) -> Fraction:
    """Distance of a positive number from the nearest midpoint of two numbers with so many digits, in ulps."""
    shift = digits - (value.numerator.bit_length() - value.denominator.bit_length())
    for exponent in (shift - 2, shift - 1, shift, shift + 1):
        scaled = value * Fraction(2) ** exponent
        if 2 ** (digits - 1) <= scaled < 2**digits:
            return abs(scaled - math.floor(scaled) - Fraction(1, 2))
    raise AssertionError(value)


@pytest.mark.parametrize("home", HOMES)
def test_quotients(home: str) -> None:
    p = precision(home)
    numerators, denominators = drawn("quotient_ties(3)", home, ("x", "y"))
    distances = [from_midpoint(x / y, p.digits) for x, y in zip(numerators, denominators, strict=True)]
    assert max(distances) <= 7 * Fraction(1, 2**p.digits)
    assert min(distances) > 0
    quotients = [float(x / y) for x, y in zip(numerators, denominators, strict=True)]
    assert p.smallest_normal < min(quotients)
    assert max(quotients) < p.largest
    assert len(set(zip(numerators, denominators, strict=True))) > SIZE / 2


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("k", [0, 40])
def test_square_roots(home: str, k: int) -> None:
    p = precision(home)
    (values,) = drawn(f"sqrt_ties({k})", home)
    for x in values:
        root = Fraction(math.isqrt(int(x * Fraction(4) ** 1300)), 2**1300)  # to more digits than any distance needs
        assert 0 < from_midpoint(root, p.digits) <= Fraction(8 * k + 1, 2 ** (p.digits + 2)) * Fraction(101, 100)
    exponents = np.frexp([float(x) for x in values])[1]
    assert exponents.max() - exponents.min() > (p.maximum_exponent - p.minimum_exponent) * 0.8


@pytest.mark.parametrize(
    ("home", "median"), [("bfloat16", 0.04), ("float16", 0.02), ("float32", 1e-3), ("float64", 1e-11)]
)
def test_reciprocals(home: str, median: float) -> None:
    p = precision(home)
    (values,) = drawn("reciprocal_ties()", home)
    distances = sorted(from_midpoint(1 / x, p.digits) for x in values)
    assert distances[0] > 0
    assert distances[-1] <= Fraction(1, 16)
    assert distances[SIZE // 2] <= median
    assert all(p.smallest_normal <= x <= p.largest and p.smallest_normal <= 1 / x <= p.largest for x in values)


def test_one_unit_in_the_last_place_decides_a_rounding() -> None:
    """What such inputs are for: a quotient by a rounded reciprocal is wrong on half of them, on others rarely."""
    outs = [np.empty(2000, np.float32) for _ in range(2)]
    wrong = []
    for text in ("quotient_ties(15)", "abs(normal(0,1))"):
        parse_recipe(text, ("x", "y")).draw(stream("a test", 3, 0, 0), outs)
        x, y = outs
        nearly = (x.astype(np.float64) * (1 / y.astype(np.float64) * (1 - 2.0**-40))).astype(np.float32)
        wrong.append(float(np.mean(nearly != x / y)))
    assert 0.3 < wrong[0] < 0.7
    assert wrong[1] < 0.01


def test_quotients_need_one_shape() -> None:
    with pytest.raises(ContractError, match="two inputs of one shape"):
        parse_recipe("quotient_ties(1)", ("x", "y")).check("float32", [(3,), (4,)])


def test_half_integers() -> None:
    for home in HOMES:
        (values,) = drawn("halves(-3,2)", home)
        assert set(values) == {Fraction(n, 2) for n in (-5, -3, -1, 1, 3)}
    with pytest.raises(ContractError, match="not exact in float16"):
        parse_recipe("halves(0,1025)", ("x",)).check("float16", [(3,)])
