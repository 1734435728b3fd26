"""Recipes whose exact results lie next to the midpoint of two numbers of the home dtype: hard to round correctly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from strategies.contract import ContractError, Shape
from strategies.midpoints import Integers, quotients, reciprocals, roots
from strategies.precision import DType, Precision, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, register

MOST = 2**16
"""Of k: solutions of one equation each."""


def _require_k(recipe: Recipe, k: int) -> None:
    if not 0 <= k <= MOST:
        raise ParameterError(f"k of {recipe.kind} is {k}: use 0 to {MOST}", "k")


def _scaled(out: Array, significands: Integers, exponents: Integers) -> None:
    """out = significand * 2**exponent, exact."""
    out[...] = precision(out.dtype.name).round(np.ldexp(significands.astype(np.float64), exponents.astype(np.int32)))


def _positive(home: DType) -> Support:
    p = precision(home)
    return p.smallest_normal, p.largest


@register("sqrt_ties", example="sqrt_ties(1000)")
class SqrtTies(Recipe, frozen=True):
    """x > 0 whose square root lies within about (8k+1) * 2**-(p+2) ulp of a midpoint (p digits; never on one): x =
    X * 2**s is uniform on the solutions of z*z = 4 X * 2**s + 8j + 1, z odd of p + 1 bits and |j| <= k, times 4**e, e
    uniform where x is normal."""

    k: int

    def validate(self) -> None:
        _require_k(self, self.k)

    def support(self, home: DType) -> Support:
        return _positive(home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        p = precision(out.dtype.name)
        significands, shifts = roots(p.digits, self.k)
        which = stream.integers(0, significands.size, size=out.shape, dtype=np.int64)
        half = p.maximum_exponent // 2 - 1
        exponents = 2 * (stream.integers(-half, half, size=out.shape, dtype=np.int64, endpoint=True) - (p.digits - 1))
        exponents += shifts[which]
        _scaled(out, significands[which], exponents)


@register("reciprocal_ties", example="reciprocal_ties()")
class ReciprocalTies(Recipe, frozen=True):
    """x > 0 whose reciprocal lies within 1/16 ulp of a midpoint, most of them far nearer (never on one): significand
    uniform on up to 256 such (float64: within 1e-9 ulp), exponent uniform where x and 1/x are normal."""

    def support(self, home: DType) -> Support:
        return _positive(home)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        p = precision(out.dtype.name)
        table = reciprocals(p.digits)
        which = stream.integers(0, table.size, size=out.shape, dtype=np.int64)
        _scaled(out, table[which], _exponents(stream, out, p, p.maximum_exponent - 2))


@register("quotient_ties", example="quotient_ties(15)")
class QuotientTies(Recipe, frozen=True):
    """Two inputs x,y > 0 whose quotient x/y lies within (2k+1) * 2**-p ulp of a midpoint (p digits; never on one): y
    has a uniform odd significand of p bits, x solves 2**(p+1) X = Y z +- r, z odd of p + 1 bits, r uniform on the odd
    numbers up to 2k + 1; both exponents uniform over half of the range, so that the quotient is normal."""

    joins: ClassVar[int] = 2

    k: int

    def validate(self) -> None:
        _require_k(self, self.k)

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        super().check(home, shapes)
        if shapes and shapes[0] != shapes[1]:
            raise ContractError(f"{self} needs two inputs of one shape, got {shapes[0]} and {shapes[1]}: choose others")

    def support(self, home: DType) -> Support:
        return _positive(home)

    def draw(self, stream: np.random.Generator, outs: Sequence[Array]) -> None:
        numerator, denominator = outs
        p = precision(denominator.dtype.name)
        y = stream.integers(2 ** (p.digits - 2), 2 ** (p.digits - 1), size=denominator.shape, dtype=np.int64) * 2 + 1
        r = stream.integers(0, self.k, size=denominator.shape, dtype=np.int64, endpoint=True) * 2 + 1
        quarter = p.maximum_exponent // 4
        _scaled(denominator, y, _exponents(stream, denominator, p, quarter))
        _scaled(numerator, quotients(y, r, p.digits), _exponents(stream, numerator, p, quarter))


def _exponents(stream: np.random.Generator, out: Array, p: Precision, reach: int) -> Integers:
    """Exponents of integers of p digits that put their values between 2**-reach and 2**(reach+1)."""
    return stream.integers(-reach, reach, size=out.shape, dtype=np.int64, endpoint=True) - (p.digits - 1)
