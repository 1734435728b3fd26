"""A specimen: one target, one set of inputs by value; and the examination that says how it fails."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct, structs

from fuzz.backends.base import Array
from fuzz.execution import CAMPAIGN, Outcome, Ran, execute
from fuzz.judging.adjudicate import measure
from fuzz.judging.outside import outside
from fuzz.judging.rounding import misrounded
from fuzz.judging.unchanged import differing
from fuzz.targets import Target
from fuzz.thresholds import FLAG
from fuzz.workbench import Bench, Workbench
from strategies.contract import Criterion
from strategies.problem import Problem

RHO, NONFINITE, MISROUNDED, RANGE, DTYPE, RAISED = "rho", "nonfinite", "misrounded", "range", "dtype", "raised"
DIFFERS = "differs"
"""From the same target without the options that may not change a bit."""
VARIES = "varies"
"""From the same target called in another way."""
DIES, MODIFIES, OVERRUNS = "dies", "modifies", "overruns"

OF_PROCESS = frozenset({DIES, MODIFIES, OVERRUNS})
"""Kinds that are looked at in a process of their own only."""

_KINDS: dict[str, tuple[str, ...]] = {
    "nonfinite_mismatch": (NONFINITE,),
    "not_correctly_rounded": (MISROUNDED,),
    "out_of_range": (RANGE,),
    "dtype_mismatch": (DTYPE,),
    "raised": (RAISED,),
    "out_of_memory": (RAISED,),
    "subnormals_flushed": (RHO, NONFINITE),
    "schedule_variant": (DIFFERS,),
    "crashed": (DIES,),
    "timed_out": (DIES,),
    "input_modified": (MODIFIES,),
    "out_of_bounds_write": (OVERRUNS,),
}


def kinds_of(verdict: str) -> tuple[str, ...]:
    """How the trials of a verdict fail: what a script has to look at."""
    return _KINDS.get(verdict, (RHO,))


class Specimen(Struct, frozen=True):
    """`arrays` are the inputs in the target's dtype; `problem` has their dims (its recipes are not looked at)."""

    problem: Problem
    target: Target
    arrays: Mapping[str, Array]

    def with_arrays(self, arrays: Mapping[str, Array], dims: Mapping[str, int] | None = None) -> Specimen:
        """The same target on other inputs."""
        sizes = self.problem.dims if dims is None else tuple(sorted(dims.items()))
        return structs.replace(self, problem=structs.replace(self.problem, dims=sizes), arrays=arrays)


class Failing(Struct, frozen=True):
    """How a specimen fails: what is looked at, where, and by how much."""

    kind: str
    output: int
    position: int
    """Flat index of the element; -1 where the whole call fails."""
    size: float
    """rho; ulp where a rounding is wrong; infinite where nothing is to be measured."""
    error: str = ""


class Stage(NamedTuple):
    """A specimen and how it fails."""

    specimen: Specimen
    failing: Failing


class Examiner:
    """Examines specimens in this process; keeps their kernels."""

    def __init__(self) -> None:
        self.workbench = Workbench()
        self.calls = 0

    def bench(self, specimen: Specimen) -> Bench:
        """The bench of the specimen's shape, with its inputs filled in and their truth computed."""
        bench = self.workbench.bench(specimen.problem)
        rung = bench.rung(specimen.target.dtype)
        for name, values in specimen.arrays.items():
            np.copyto(rung.arena.arrays[name], values)
        rung.refresh()
        return bench

    def outcome(self, specimen: Specimen) -> Outcome:
        """Run the target once."""
        self.calls += 1
        return execute(self.bench(specimen), specimen.target, CAMPAIGN, lambda stage: None, lambda: None)

    def examine(self, specimen: Specimen, kinds: tuple[str, ...], output: int | None) -> Failing | None:
        """The worst failure of one of `kinds`, in `output` or in any output; None where there is none."""
        bench = self.bench(specimen)
        outcome = self.outcome(specimen)
        if not isinstance(outcome, Ran):
            failed = {"dtype_mismatch": DTYPE, "raised": RAISED, "out_of_memory": RAISED}.get(outcome.verdict)
            return Failing(failed, output or 0, -1, math.inf, outcome.error) if failed in kinds and failed else None
        if DIFFERS in kinds:
            return self._differing(bench, specimen.target, outcome, output)
        found = [
            failing
            for number, values in enumerate(outcome.values)
            if output is None or number == output
            for kind in kinds
            if (failing := _look(bench, specimen.target.dtype, number, values, kind)) is not None
        ]
        return max(found, key=lambda failing: failing.size, default=None)

    def without_options(self, specimen: Specimen) -> Target:
        """The target without the options that may not change a bit."""
        return specimen.target.without(self.bench(specimen).prepared(specimen.target).same_bits)

    def _differing(self, bench: Bench, target: Target, outcome: Ran, output: int | None) -> Failing | None:
        """The first element that is not that of the target without its options."""
        plain = target.without(bench.prepared(target).same_bits)
        other = execute(bench, plain, CAMPAIGN, lambda stage: None, lambda: None) if plain != target else None
        if not isinstance(other, Ran):
            return None
        for number, pair in enumerate(zip(outcome.values, other.values, strict=True)):
            if output in (None, number) and (at := differing(*pair)).size:
                return Failing(DIFFERS, number, int(at[0]), math.inf)
        return None


def _look(bench: Bench, dtype: str, output: int, values: Array, kind: str) -> Failing | None:
    rung = bench.rung(dtype)
    if not values.size:
        return None
    if kind == MISROUNDED:
        if bench.contract.criterion is not Criterion.CORRECTLY_ROUNDED:
            return None
        rounding = misrounded(bench, rung, output, values)
        return None if rounding is None else Failing(kind, output, rounding.index, rounding.ulps)
    if kind == RANGE:
        off = outside(bench.contract.outputs[output].domain, values)
        return None if off is None else Failing(kind, output, off.index, math.inf)
    measured = measure(bench, rung, output, values)
    if kind == NONFINITE:
        first = measured.first_mismatch
        return Failing(kind, output, first, math.inf) if measured.nonfinite_mismatch else None
    if kind == RHO and measured.rho.largest > FLAG:
        return Failing(kind, output, measured.rho.index, measured.rho.largest)
    return None
