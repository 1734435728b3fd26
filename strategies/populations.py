"""Populations worth trying for one input, as recipe expressions, the simplest first: what `FAMILIES` is made of.

They need not stay in the input's domain: `strategies.families` makes them positive, or drops them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from strategies.contract import Spec
from strategies.precision import Precision
from strategies.thresholds import edges as edges_of
from strategies.thresholds import exp_range

NEAR_ULPS = 16
"""Half width of the interval around a landmark, in ulps of the landmark: a few numbers on either side."""


def _number(value: float) -> str:
    return repr(float(value))


def _inward(spec: Spec, p: Precision) -> tuple[float, float]:
    """The domain's ends as numbers of the format that lie inside it; infinite where it has no end."""
    low, high = (p.numpy.type(end) for end in (spec.domain.low, spec.domain.high))
    if float(low) < spec.domain.low:
        low = np.nextafter(low, p.numpy.type(math.inf))
    if float(high) > spec.domain.high:
        high = np.nextafter(high, p.numpy.type(-math.inf))
    return float(low), float(high)


def default(spec: Spec, p: Precision) -> Iterable[str]:
    return (spec.default,)


def normal(spec: Spec, p: Precision) -> Iterable[str]:
    return ("normal(0,1)", "normal(1,1)", "normal(0,0.01)", "normal(0,100)")


def uniform(spec: Spec, p: Precision) -> Iterable[str]:
    low, high = _inward(spec, p)
    yield from ("uniform(0,1)", "uniform(-1,1)", "uniform(-100,100)", "ramp(-8,8)")
    if math.isfinite(low) and math.isfinite(high):
        yield f"uniform({_number(low)},{_number(high)})"
        yield f"ramp({_number(low)},{_number(high)})"
    elif math.isfinite(low):
        yield f"uniform({_number(low)},{_number(low + 1)})"
    elif math.isfinite(high):
        yield f"uniform({_number(high - 1)},{_number(high)})"


def magnitudes(spec: Spec, p: Precision) -> Iterable[str]:
    for low, high in ((1e-3, 1e3), (1e-9, 1e9), (p.smallest_normal, p.largest)):
        yield f"signed(loguniform({_number(low)},{_number(high)}))"
    if (high := min(1.0, _inward(spec, p)[1])) > 1e-9:
        yield f"signed(loguniform(1e-9,{_number(high)}))"


def offset(spec: Spec, p: Precision) -> Iterable[str]:
    return tuple(f"offset(1e{power})" for power in range(1, 8))


def constant(spec: Spec, p: Precision) -> Iterable[str]:
    yield from ("constant(0)", "constant(1)", "constant(-1)", "constant(0.1)", "constant(1e4)")
    yield from (f"constant({_number(end)})" for end in _inward(spec, p) if math.isfinite(end))


def integers(spec: Spec, p: Precision) -> Iterable[str]:
    return ("integers(0,1)", "integers(-8,8)", "integers(-1000,1000)", f"integers({-(2**p.digits)},{2**p.digits})")


def sparse(spec: Spec, p: Precision) -> Iterable[str]:
    return ("sparse(normal(0,1),0.5)", "sparse(normal(0,1),0.9)", "sparse(normal(0,1),0.99)")


def tiny(spec: Spec, p: Precision) -> Iterable[str]:
    yield f"signed(loguniform({_number(p.smallest_normal)},{_number(p.smallest_normal * 2.0**p.digits)}))"
    root = 2.0 ** (p.minimum_exponent // 2)  # squares underflow below it
    yield f"signed(loguniform({_number(root / 16)},{_number(root * 16)}))"
    yield "subnormal()"


def huge(spec: Spec, p: Precision) -> Iterable[str]:
    root = 2.0 ** ((p.maximum_exponent + 1) // 2)  # squares overflow from here on
    yield f"signed(loguniform({_number(root / 16)},{_number(root * 16)}))"
    yield f"signed(loguniform({_number(p.largest / 4)},{_number(p.largest)}))"


def landmark(spec: Spec, p: Precision) -> Iterable[str]:
    for landmark in spec.landmarks:
        at = landmark.at
        if math.isfinite(at) and abs(at) <= p.largest / 2:
            reach = NEAR_ULPS * max(abs(at) * 2.0 ** (1 - p.digits), p.smallest_subnormal)
            yield f"uniform({_number(at - reach)},{_number(at + reach)})"
            yield f"uniform({_number(at - abs(at) / 64)},{_number(at + abs(at) / 64)})"
            yield f"constant({_number(at)})"


def heavy(spec: Spec, p: Precision) -> Iterable[str]:
    return ("student(3)", "student(1)", "sparse(student(1),0.9)")


def tails(spec: Spec, p: Precision) -> Iterable[str]:
    """From the outermost landmarks on, where a function follows its asymptote; everywhere from 8 on otherwise."""
    marks = [m.at for m in spec.landmarks if m.at and abs(m.at) <= p.largest / 4]
    for end in sorted({*(m for m in (min(marks), max(marks)))}, key=abs) if marks else (-8.0, 8.0):
        yield f"uniform({_number(min(end, 2 * end))},{_number(max(end, 2 * end))})"
        yield f"uniform({_number(min(end, end / 2))},{_number(max(end, end / 2))})"
    yield "normal(0,30)"


def grid(spec: Spec, p: Precision) -> Iterable[str]:
    """The active range: between the outermost landmarks, and where exp x is neither 0 nor infinite."""
    low, high = exp_range(p.name)
    yield "grid(-8,8)"
    yield f"grid({_number(low)},{_number(high)})"
    yield f"grid({_number(high - 1)},{_number(high + 1)})"
    marks = [m.at for m in spec.landmarks if abs(m.at) <= p.largest / 2]
    if marks:
        reach = max(1.0, (max(marks) - min(marks)) / 8)
        yield f"grid({_number(min(marks) - reach)},{_number(max(marks) + reach)})"
    low, high = _inward(spec, p)
    if math.isfinite(low) and math.isfinite(high):
        yield f"grid({_number(low)},{_number(high)})"


def edges(spec: Spec, p: Precision) -> Iterable[str]:
    """All edges in one array, and arrays beside a single one (of either sign: exp -x has its own)."""
    low, high = (_number(end) for end in _inward(spec, p))
    yield from (f"edges({k},{low},{high})" for k in (0, 1, 16))
    yield "signed(binades(1))"
    yield from (f"signed(near({_number(value)},4))" for _, value in edges_of(p.name))


def ties(spec: Spec, p: Precision) -> Iterable[str]:
    return ("halves(-8,8)", "sqrt_ties(1000)", "signed(reciprocal_ties())")


def alternating(spec: Spec, p: Precision) -> Iterable[str]:
    """Sums that cancel, along the last axis and, where there is another, along the first."""
    for axis in (-1, 0)[: len(spec.dims)]:
        yield f"alternating(normal(0,1),0.001,{axis})"
        yield f"alternating(normal(0,1),{_number(4 * p.unit_roundoff)},{axis})"
        yield f"alternating(signed(loguniform(0.001,1000)),0,{axis})"


def matrices(spec: Spec, p: Precision) -> Iterable[str]:
    """Rows and columns nearly dependent; rows with one element."""
    if len(spec.dims) >= 2:
        yield from (f"conditioned({_number(c)})" for c in (1e2, 1e4, 0.5 / p.unit_roundoff))
    if spec.dims:
        yield "onehot(normal(0,1))"


def special(spec: Spec, p: Precision) -> Iterable[str]:
    return ("special(normal(0,1),0.01)", "special(normal(0,1),0.5)")
