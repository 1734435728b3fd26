"""A defect of a library as a row of a table, and what comes out when it is run."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from quality_truths import TRUTHS, mp

from fuzz.backends import BACKENDS
from fuzz.execution import CAMPAIGN, Ran, execute
from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import MpmathArithmetic
from fuzz.oracle.element import evaluate
from fuzz.oracle.plain import plain
from fuzz.oracle.trace import trace
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from fuzz.workbench import Bench
from results.columns import Row
from strategies import DType, Problem, make_problem, parse_recipe
from strategies.sampling import draw

POINT: Mapping[str, int] = {"n": 1}


class Defect(NamedTuple):
    """A target that errs, and where."""

    operator: str
    backend: str
    implementation: str
    dtype: DType
    x: str
    """Recipe of input x (the others take their defaults); empty where there is no x."""
    verdict: str
    reason: str
    least: float = 1e-12
    """Relative error at least; infinite where only one side is a number."""
    dims: Mapping[str, int] = POINT
    others: Mapping[str, str] = {}
    attributes: Mapping[str, Any] = {}
    also: tuple[str, ...] = ()
    """Verdicts that the same defect gets on other inputs."""
    dtypes: tuple[DType, ...] = ()
    """Formats that the defect reaches besides `dtype`. The ladder shows a defect of float64 in rows of float32, too."""
    accuses: bool = True
    """False where the row shows a choice that the verdict explains, not a defect."""

    @property
    def target(self) -> str:
        """The target as a user spells it."""
        first = BACKENDS[self.backend].implementations[self.operator][0].name
        return self.backend if self.implementation == first else f"{self.backend}[impl={self.implementation}]"

    @property
    def provenance(self) -> str:
        offered = BACKENDS[self.backend].implementations[self.operator]
        return next(str(i.provenance) for i in offered if i.name == self.implementation)

    @property
    def inputs(self) -> dict[str, str]:
        return ({"x": self.x} if self.x else {}) | dict(self.others)

    @property
    def command(self) -> str:
        """What to type to see it."""
        words = ["ulpfuzz", "run", self.operator, "--dims", ",".join(f"{k}={v}" for k, v in self.dims.items())]
        for name, recipe in self.inputs.items():
            words += ["--input", f"{name}={recipe}"]
        for name, value in self.attributes.items():
            words += ["--attr", f"{name}={value}"]
        if self.dtype != "float32":
            words += ["--dtype", self.dtype]
        return shlex.join([*words, "--targets", self.target, "--trials", "1"])

    def problem(self) -> Problem:
        contract = OPERATORS[self.operator].contract
        recipes = [parse_recipe(self.inputs.get(s.name, s.default), (s.name,)) for s in contract.inputs]
        return make_problem(
            contract, dims=self.dims, home=self.dtype, recipes=recipes, attributes=self.attributes or None
        )


class Shown(NamedTuple):
    """What running a row gave: the worst element, its truth in mpmath, and the row of the trial."""

    row: Row
    value: float
    truth: Any
    x: str

    @property
    def relative(self) -> float:
        if math.isnan(self.value) != bool(mp.isnan(self.truth)) or math.isinf(self.value) != bool(mp.isinf(self.truth)):
            return math.inf
        if math.isnan(self.value) or self.value == self.truth:
            return 0.0
        if math.isinf(self.value):  # of the other sign
            return math.inf
        return float(abs(mp.mpf(self.value) - self.truth) / abs(self.truth)) if self.truth else math.inf


def show(defect: Defect, session: Session | None = None) -> Shown:
    """Run the row's command in this process: trial 0 of seed 0, with the precision ladder."""
    found, problem = BACKENDS[defect.backend], defect.problem()
    target = Target(defect.backend, found.default_device, defect.dtype, (("impl", defect.implementation),))
    result = run_trial(Cell(problem, (target,)), 0, 0, session or Session("defects"), ladder=True)
    row = result.rows[0]
    if not result.elements:  # no output that can be judged
        return Shown(row, math.nan, mp.nan, defect.x)
    worst = next(e for e in result.elements if e["kind"] == "worst")
    contract = OPERATORS[defect.operator].contract
    shapes = contract.shapes(dict(problem.dims))
    arrays = {name: np.empty(shape, defect.dtype) for name, shape in shapes.items()}
    draw(problem, contract, 0, 0, arrays)
    values = _values(target, defect, arrays)
    program = trace(OPERATORS[defect.operator].reference, shapes, dict(problem.attributes))

    def at(position: int) -> Shown:
        value = float(values.reshape(-1)[position])
        if defect.operator in TRUTHS:
            x = float(arrays["x"].reshape(-1)[position])
            return Shown(row, value, TRUTHS[defect.operator](mp.mpf(x)), f"{x:.17g}")
        index = tuple(int(i) for i in np.unravel_index(position, values.shape))
        exact = evaluate(program, 0, index, list(arrays.values()), MpmathArithmetic()).value
        undefined = np.isnan(plain(program, list(arrays.values()), defect.dtype)[0].reshape(-1)[position])
        return Shown(row, value, mp.nan if undefined else mp.mpf(exact), defect.x)

    if row.get("nonfinite_mismatch"):
        return next(found for found in map(at, range(values.size)) if math.isinf(found.relative))
    return at(int(str(worst["element"])))


def _values(target: Target, defect: Defect, arrays: Mapping[str, Any]) -> Any:
    """What the library computes, first output."""
    bench = Bench(defect.problem())
    for name, values in arrays.items():
        bench.rung(defect.dtype).arena.arrays[name][...] = values
    outcome = execute(bench, target, CAMPAIGN, lambda stage: None, lambda: None)
    assert isinstance(outcome, Ran), outcome
    return outcome.values[0].copy()
