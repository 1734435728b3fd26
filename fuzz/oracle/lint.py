"""Lint of references: a formula whose own roundings exceed what conditioning explains is refused.

An oracle blesses whatever its reference does. With 0.5 x (1 + erf) as reference every kernel that cancels in the tail
passes; with erfc they are found. The lint compares the bound of the formula (each reduction rounded once) with the
bound of conditioning alone (seeds of the inputs plus the rounding of the result).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.oracle.bound import bound
from fuzz.oracle.models import Model
from fuzz.oracle.program import Program
from strategies.precision import DType

FORMULATION_LIMIT = 100.0
"""A stable reference reaches about the largest elementary constant in use (tanh 10, erf 11: the error of the function
itself); 1 + erf reaches 1e15 in the tail. The limit is ten times the constants, far below any cancellation."""


class Lint(Struct, frozen=True):
    """The worst element of one output: how much larger the formula's bound is than conditioning alone."""

    ratio: float
    output: int
    index: int

    @property
    def stable(self) -> bool:
        return self.ratio <= FORMULATION_LIMIT


def lint(program: Program, inputs: Sequence[Any], dtype: DType) -> Lint:
    """Compare the two bounds on `inputs`; the worst ratio over all elements with a finite, normal result."""
    formula = bound(program, dtype)(inputs)
    conditioning = bound(program, dtype, rounding=0.0)(inputs)
    floor = np.finfo(dtype).tiny
    worst = Lint(0.0, 0, 0)
    for number, (with_rounding, without) in enumerate(zip(formula.outputs, conditioning.outputs, strict=True)):
        value = np.abs(with_rounding.value)
        with np.errstate(all="ignore"):
            ratio = with_rounding.excused(Model.IDEAL) / (without.excused(Model.IDEAL) + value)
        ratio = np.where((value >= floor) & np.isfinite(ratio), ratio, 0.0)
        if ratio.size and ratio.max() > worst.ratio:
            worst = Lint(float(ratio.max()), number, int(ratio.argmax()))
    return worst
