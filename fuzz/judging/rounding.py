"""Which results that have to be correctly rounded, or to be one of the operands, are not, and by how much."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fuzz.backends.base import Array
from fuzz.judging.judge import Misrounded
from fuzz.measure.ulp import largest_ulp
from fuzz.oracle.element import evaluate
from fuzz.oracle.exact import ExactArithmetic
from fuzz.oracle.plain import plain
from fuzz.workbench import Bench, Rung
from strategies.precision import precision

DECIDED = 64
"""Candidates decided exactly a trial; one is enough for the verdict, the others give the size."""


def misrounded(bench: Bench, rung: Rung, output: int, values: Array) -> Misrounded | None:
    """The misrounded elements of `values`, or None. Zeros of either sign are one value here.

    In float32 the truth in float64 rounds to the right number: 53 >= 2 * 24 + 2 bits make rounding twice harmless for
    + - * / and sqrt (Figueroa 1995), also where the result is subnormal. In float64 the truth is no such help, so
    everything that differs from it or from NumPy's own float64 is decided with fractions.
    """
    flat, value = values.reshape(-1), rung.yardsticks[output].value
    with np.errstate(all="ignore"):
        nearest = value.astype(values.dtype)
        size = np.abs(flat - value) / np.spacing(np.abs(nearest))
    differs = candidates = (flat != nearest) & ~(np.isnan(flat) & np.isnan(nearest))
    if rung.dtype == "float64":
        own = plain(bench.program, rung.inputs(), rung.dtype)[output].reshape(-1)
        differs = (flat != own) & ~(np.isnan(flat) & np.isnan(own))
        candidates = candidates | differs
    positions = np.flatnonzero(candidates)
    positions = positions[np.argsort(-size[positions])][:DECIDED].tolist()
    errors = {p: _error(bench, rung, output, np.unravel_index(p, values.shape), flat[p]) for p in positions}
    if not any(errors.values()):
        return None
    worst = max(errors, key=lambda p: errors[p])
    agreed = all(bool(ulps) == bool(differs[p]) for p, ulps in errors.items())  # so what was not decided counts, too
    count = np.count_nonzero(differs) if agreed else np.count_nonzero(list(errors.values()))
    return Misrounded(int(count), errors[worst], worst)


def altered(rung: Rung, output: int, values: Array) -> Misrounded | None:
    """The elements of a selection (max, relu, clip, sign) that are not the number selected, or None.

    It is a number of the format, or a limit rounded to it. Zeros of either sign are one value here.
    """
    flat, truth = values.reshape(-1), rung.yardsticks[output].value
    with np.errstate(all="ignore"):
        selected = precision(rung.dtype).round(truth)
        differs = (flat != selected) & ~(np.isnan(flat.astype(np.float64)) & np.isnan(truth))
        differs &= ~rung.unspecified(output)
        if not differs.any():
            return None
        error = np.abs(flat.astype(truth.dtype) - truth)
    count = int(np.count_nonzero(differs))
    infinite = np.flatnonzero(differs & ~np.isfinite(error))
    if infinite.size:  # a finite number for an infinite one
        return Misrounded(count, math.inf, int(infinite[0]), selects=True)
    ulps, worst = largest_ulp(error, truth, np.flatnonzero(differs), precision(rung.dtype))
    return Misrounded(count, ulps, worst, selects=True)


def _error(bench: Bench, rung: Rung, output: int, at: tuple[Any, ...], value: Any) -> float:
    """The error of one element in ulp of the exact value; 0 when it is the nearest number, ties to even."""
    p, exact_arithmetic = precision(rung.dtype), ExactArithmetic()
    try:
        exact = evaluate(bench.program, output, tuple(map(int, at)), rung.inputs(), exact_arithmetic).value
    except (ZeroDivisionError, ValueError, OverflowError):  # the exact value, or an input, is no number
        return math.inf
    nearest = exact_arithmetic.rounded(exact)
    with np.errstate(all="ignore"):
        right = p.numpy.type(nearest)
    if value == right:
        return 0.0
    if not (math.isfinite(value) and math.isfinite(right)):
        return math.inf
    exponent = max(math.frexp(nearest)[1] - 1, p.minimum_exponent) if exact else p.minimum_exponent
    return float(abs(Fraction(float(value)) - exact) / Fraction(2) ** (exponent - p.digits + 1))
