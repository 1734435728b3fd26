"""Metrics of small outputs in exact fractions, and outputs to measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from fuzz.measure import Measurement, Yardstick
from fuzz.oracle.bound import OutputTruth
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
