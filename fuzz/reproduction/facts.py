"""What a script states about the failing element: the truth and how it is known, the bound, one ulp."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.judging.adjudicate import UNDEFINED
from fuzz.oracle.arithmetic import adjudicator
from fuzz.oracle.element import evaluate
from fuzz.oracle.exact import ExactArithmetic
from fuzz.oracle.slices import slice_size
from fuzz.reproduction.specimen import MISROUNDED, Examiner, Failing, Specimen
from fuzz.workbench import Bench, Rung
from strategies.precision import Precision, precision

DIGITS = 25
"""Of the truth: enough for a thousandth of an ulp of float64."""
WORK = 500_000
"""Scalar operations up to which an element is evaluated in software arithmetic, a few seconds."""
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?")


class Facts(Struct, frozen=True):
    """Facts of one element of one output."""

    at: tuple[int, ...]
    truth: str
    """Decimal digits, or nan, inf, -inf."""
    known_by: str
    bound: float
    """E, in units of the unit roundoff."""
    ulp: Fraction
    """One unit in the last place of the truth."""
    nearest: float | None = None
    """The correctly rounded result, where one is due."""

    @property
    def amplification(self) -> float:
        """E / |truth|."""
        size = abs(float(self.truth))
        return self.bound / size if size and math.isfinite(size) else math.inf


def facts(examiner: Examiner, specimen: Specimen, failing: Failing) -> Facts | None:
    """What is known of the failing element; None where the whole call fails."""
    if failing.position < 0:
        return None
    bench = examiner.bench(specimen)
    rung = bench.rung(specimen.target.dtype)
    shape = bench.output_shapes[failing.output]
    at = tuple(int(i) for i in np.unravel_index(failing.position, shape))
    truth, known_by = _truth(bench, rung, failing.output, at, failing.position)
    p = precision(specimen.target.dtype)
    nearest = _nearest(bench, rung, failing.output, at) if failing.kind == MISROUNDED else None
    bound = float(rung.yardsticks[failing.output].bound[failing.position])
    return Facts(at, truth, known_by, bound, ulp_of(truth, p), nearest)


def ulp_of(truth: str, p: Precision) -> Fraction:
    """2^(max(exponent of the truth, emin) - p + 1): see docs/verdicts.md."""
    value = float(truth)
    exponent = p.minimum_exponent
    if value and math.isfinite(value):
        exponent = max(math.frexp(value)[1] - 1, p.minimum_exponent)
    return Fraction(2) ** (exponent - p.digits + 1)


def _truth(bench: Bench, rung: Rung, output: int, at: tuple[int, ...], position: int) -> tuple[str, str]:
    """The digits and who computed them; the oracle's own value where no software arithmetic gives any."""
    own = rung.yardsticks[output].value[position]
    known_by = rung.bound.known_by
    fallback = (_shown(own), known_by if bench.program.opaque else f"the formula of the operator in {known_by}")
    arithmetic = adjudicator()
    if arithmetic is None or not np.isfinite(own) or slice_size(bench.program, output) > WORK:
        return fallback
    try:
        value = evaluate(bench.program, output, at, rung.inputs(), arithmetic).value
        text = arithmetic.text(value, DIGITS)
    except UNDEFINED:
        return fallback
    if not _DECIMAL.fullmatch(text):
        return fallback
    return text, arithmetic.name


def _nearest(bench: Bench, rung: Rung, output: int, at: tuple[int, ...]) -> float | None:
    """The exact result rounded once; None where it is no number."""
    exact = ExactArithmetic()
    try:
        value = exact.rounded(evaluate(bench.program, output, at, rung.inputs(), exact).value)
    except (ZeroDivisionError, ValueError, OverflowError):
        return float(rung.yardsticks[output].value.reshape(bench.output_shapes[output])[at])
    with np.errstate(all="ignore"):
        return float(precision(rung.dtype).numpy.type(value))


def _shown(value: Any) -> str:
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return np.format_float_scientific(value, trim="-") if isinstance(value, np.longdouble) else repr(float(value))
