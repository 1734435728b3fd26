"""Trials in this process with kernels written on the spot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fuzz.backends import BACKENDS
from fuzz.backends.base import EVERY_FLOAT
from fuzz.extend import FunctionBackend, register
from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.trial import Cell, Session, TrialRows, run_trial
from strategies import Problem, make_problem, parse_recipe

Array = np.ndarray[Any, Any]
SIZES: dict[str, dict[str, int]] = {
    "batch_norm": {"N": 2, "C": 4, "H": 4, "W": 4},
    "matmul": {"M": 4, "K": 64, "N": 4},
    "softmax": {"rows": 4, "n": 32},
    "layer_norm": {"rows": 4, "n": 32},
    "sum": {"rows": 4, "n": 64},
}


class Lab:
    """A backend that lives as long as one test."""

    def __init__(self) -> None:
        self.backend = FunctionBackend("lab")
        self.session = Session("test")

    def __enter__(self) -> Lab:
        register(self.backend)
        return self

    def __exit__(self, *_: object) -> None:
        del BACKENDS["lab"]

    def problem(
        self,
        operator: str,
        inputs: Mapping[str, str] | None = None,
        dims: Mapping[str, int] | None = None,
        dtype: str = "float32",
        attributes: Mapping[str, Any] | None = None,
    ) -> Problem:
        contract = OPERATORS[operator].contract
        given = inputs or {}
        return make_problem(
            contract,
            dims=dims or SIZES.get(operator, {"n": 200}),
            home=dtype,
            recipes=[parse_recipe(given.get(spec.name, spec.default), (spec.name,)) for spec in contract.inputs],
            attributes=attributes,
        )

    def target(self, operator: str, kernel: Callable[..., Any], name: str = "kernel", dtype: str = "float32") -> Target:
        """Register `kernel`; a later one of the same name takes its place."""
        offered = self.backend.implementations.get(operator, ())
        self.backend.implementations[operator] = tuple(i for i in offered if i.name != name)
        self.backend.operator(operator, name=name, dtypes=EVERY_FLOAT)(kernel)
        return Target("lab", "cpu", dtype, (("impl", name),))

    def trial(
        self, problem: Problem, *targets: Target, index: int = 0, ladder: bool = True, **options: Any
    ) -> TrialRows:
        return run_trial(Cell(problem, targets, **options), 0, index, self.session, ladder=ladder)

    def run(
        self,
        operator: str,
        kernel: Callable[..., Any],
        inputs: Mapping[str, str] | None = None,
        *,
        name: str = "kernel",
        dtype: str = "float32",
        dims: Mapping[str, int] | None = None,
        attributes: Mapping[str, Any] | None = None,
        trials: int = 1,
        ladder: bool = True,
    ) -> dict[str, Any]:
        """The row of the last of some trials of one kernel."""
        self.session = Session("test")
        target = self.target(operator, kernel, name, dtype)
        problem = self.problem(operator, inputs, dims, dtype, attributes)
        rows = [self.trial(problem, target, index=i, ladder=ladder and i == 0).rows[0] for i in range(trials)]
        return dict(rows[-1])
