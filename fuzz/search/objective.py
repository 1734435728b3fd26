"""What the search maximises: rho under the ideal model, or the error in ulp, of every individual on every target."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from fuzz.execution import CAMPAIGN, Ran, Run
from fuzz.measure import Yardstick
from fuzz.oracle.bound import Bound, Truth, charges_for, wide_dtype
from fuzz.oracle.models import Model
from fuzz.oracle.plain import plain
from fuzz.search.anatomy import Anatomy
from fuzz.targets import Target
from fuzz.thresholds import FLAG
from fuzz.workbench import Bench, copy_inputs

Scores = NDArray[np.float64]

FLUSH_ROOM = 8.0
"""Multiple of what flushing may cost that the search allows for, so that flushing alone scores 1/8: else every number
near the subnormal ones would look as bad as rounding can be, and hide what does grow."""


class Kind(enum.Enum):
    """What counts as a large error."""

    RHO = "rho"
    """|y - v| / (u E), E of the ideal model with an allowance for subnormals flushed to zero (a mode of the processor
    that every other plan finds at once, and next to which nothing else would be seen). Smooth below the flag line."""
    ULP = "ulp"
    """|y - v| / ulp(v): what a table of accuracy lists."""


class Objective:
    """Scores the inputs that lie in the arena of the home dtype.

    NaN and infinities on one side only are no error of a size, and score 0, as does what the verdicts excuse: overflow
    inside the formula, and elements about which the first-order bound says nothing. Targets that cannot run score 0.
    """

    def __init__(
        self, bench: Bench, targets: Sequence[Target], run: Run, kind: Kind, without: Collection[int] = ()
    ) -> None:
        self._bench, self._targets, self._run, self._kind, self._without = bench, targets, run, kind, without
        self._rungs = {dtype: _Rung(bench, dtype, kind) for dtype in sorted({target.dtype for target in targets})}

    @property
    def arrays(self) -> Mapping[str, Any]:
        """The inputs by name."""
        return self._bench.rung(self._bench.problem.home).arena.arrays

    def scores(self, anatomy: Anatomy) -> Scores:
        """Score of every target, individual and lane."""
        home = self._bench.rung(self._bench.problem.home)
        for dtype, rung in self._rungs.items():
            if dtype != home.dtype:
                copy_inputs(home.arena.arrays, self._bench.rung(dtype).arena.arrays)
            rung.refresh()
        found = np.zeros((len(self._targets), anatomy.individuals, anatomy.lanes))
        for number, target in enumerate(self._targets):
            if number in self._without:
                continue
            outcome = self._run(self._bench, target, CAMPAIGN)
            if not isinstance(outcome, Ran):
                continue
            for output, values in enumerate(outcome.values):
                errors = self._rungs[target.dtype].errors(output, values)
                np.maximum(found[number], anatomy.by_lane(output, errors), out=found[number])
        return found


class _Rung(Struct):
    """Truth and yardsticks of one dtype."""

    bench: Bench
    dtype: str
    kind: Kind
    interpreter: Any = None
    yardsticks: tuple[Yardstick, ...] = ()
    truth: Truth | None = None

    def __post_init__(self) -> None:
        charges = charges_for(self.dtype, flush=self.kind is Kind.RHO)
        charges = structs.replace(charges, flush=FLUSH_ROOM * charges.flush)
        contract = self.bench.contract
        self.interpreter = Bound(
            self.bench.program,
            self.dtype,
            wide_dtype(self.dtype),
            charges,
            contract.unspecified,
            contract.contaminating,
        )
        sizes = [int(np.prod(shape, dtype=np.int64)) for shape in self.bench.output_shapes]
        self.yardsticks = tuple(Yardstick(size, self.dtype, self.interpreter.wide) for size in sizes)

    def refresh(self) -> None:
        self.truth = truth = self.interpreter(self._inputs())
        for number, yardstick in enumerate(self.yardsticks):
            yardstick.refresh(truth.outputs[number], *self._excuses(truth, number))

    def _excuses(self, truth: Truth, number: int) -> tuple[Any, Any]:
        def formula(squares: bool) -> Any:
            return plain(self.bench.program, self._inputs(), self.dtype, squares=squares)[number]

        return lambda: truth.overflow(number), formula

    def _inputs(self) -> list[Any]:
        return self.bench.rung(self.dtype).inputs()

    def errors(self, output: int, values: Any) -> Scores:
        """Score of every element of an output, flat."""
        yardstick = self.yardsticks[output]
        with np.errstate(all="ignore"):
            error = np.abs(values.reshape(-1).astype(yardstick.value.dtype) - yardstick.value)
            if self.kind is Kind.ULP:
                return _finite(self._ulps(yardstick, error))
            rho = yardstick.rho_of(error, np.empty_like(error))
            if not (largest := rho.max(initial=0.0)) <= FLAG:  # also where it is NaN
                yardstick.measure(values)
                rho = yardstick.rho.copy()
                largest = rho.max(initial=0.0)
            assert self.truth is not None
            if largest > FLAG:
                rho[np.broadcast_to(self.truth.void(output), values.shape).reshape(-1)] = 0.0
            parts = self.truth.outputs[output]
            if any(n > 1 for n in parts.parts):
                rho *= yardstick.bound / parts.excused(Model.IDEAL).reshape(-1)
        return _finite(rho)

    @staticmethod
    def _ulps(yardstick: Yardstick, error: Any) -> Any:
        p = yardstick.precision
        _, exponent = np.frexp(yardstick.value)
        exponent[yardstick.value == 0] = p.minimum_exponent
        error[np.abs(yardstick.value) > p.largest] = 0.0
        return np.ldexp(error, p.digits - np.maximum(exponent, p.minimum_exponent + 1))


def _finite(scores: Any) -> Scores:
    """NaN and infinity, where there is nothing to measure, count nothing."""
    found: Scores = scores.astype(np.float64)
    found[~np.isfinite(found)] = 0.0
    return found
