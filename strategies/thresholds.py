"""Edge values of a format, each defined by its property and found by bisection: exact on every machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

from msgspec import Struct

from strategies.elements import number_at, ordinal
from strategies.precision import DType, Precision, precision

_DECIMAL = Context(prec=60, Emax=10**6, Emin=-(10**6))
"""Decimal's exp is correctly rounded, in software: 60 digits decide where exp x of a binary number passes a bound."""
_EXP_DECIDED = 2048
"""exp of it overflows every format, exp of minus it is 0."""


class Edge(Struct, frozen=True):
    """The largest positive number x of a format for which `holds` (which must be true below it, and false beyond)."""

    what: str
    holds: Callable[[Fraction, Precision], bool]


def _exact(value: float) -> Fraction:
    return Fraction(value)


def overflow_bound(p: Precision) -> Fraction:
    """From here on, rounding to nearest gives infinity (IEEE 754-2019, 4.3.1)."""
    return Fraction(2) ** p.maximum_exponent * (2 - Fraction(1, 2**p.digits))


def _vanishes(p: Precision) -> Fraction:
    """Up to here, rounding to nearest even gives 0."""
    return _exact(p.smallest_subnormal) / 2


def _exp(x: Fraction) -> Fraction:
    return Fraction(_DECIMAL.exp(_DECIMAL.divide(Decimal(x.numerator), Decimal(x.denominator))))


EDGES: tuple[Edge, ...] = (
    Edge("the smallest number", lambda x, p: x <= _exact(p.smallest_subnormal)),
    Edge("the largest subnormal number", lambda x, p: x < _exact(p.smallest_normal)),
    Edge("x*x is 0", lambda x, p: x * x <= _vanishes(p)),
    Edge("x*x is subnormal", lambda x, p: x * x < _exact(p.smallest_normal)),
    Edge("x*x is finite", lambda x, p: x * x < overflow_bound(p)),
    Edge("1/x overflows", lambda x, p: x * overflow_bound(p) <= 1),
    Edge("1/x is normal", lambda x, p: x * _exact(p.smallest_normal) <= 1),
    Edge("exp x is finite", lambda x, p: x < _EXP_DECIDED and _exp(x) < overflow_bound(p)),
    Edge("exp -x is normal", lambda x, p: x < _EXP_DECIDED and _exp(-x) >= _exact(p.smallest_normal)),
    Edge("exp -x is not 0", lambda x, p: x < _EXP_DECIDED and _exp(-x) > _vanishes(p)),
    Edge("1 + x is 1", lambda x, p: x <= _exact(p.unit_roundoff)),
    Edge("1", lambda x, p: x <= 1),
    Edge("every integer up to x is a number", lambda x, p: x <= 2**p.digits),
    Edge("x is finite", lambda x, p: True),
)
"""Where a format ends, or where a usual step of a formula leaves it."""


@functools.cache
def edges(home: DType) -> tuple[tuple[str, float], ...]:
    """(what, number) for every row of `EDGES`."""
    return tuple((edge.what, _last(edge, home)) for edge in EDGES)


def exp_range(home: DType) -> tuple[float, float]:
    """The numbers between which exp x is neither 0 nor infinite."""
    known = dict(edges(home))
    return -known["exp -x is not 0"], known["exp x is finite"]


def _last(edge: Edge, home: DType) -> float:
    p = precision(home)
    low, high = 1, ordinal(p.largest, home)
    while low < high:
        middle = (low + high + 1) // 2
        if edge.holds(_exact(number_at(middle, home)), p):
            low = middle
        else:
            high = middle - 1
    return number_at(low, home)
