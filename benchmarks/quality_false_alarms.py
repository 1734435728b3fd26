"""False alarms: library implementations of the ten operators on five kinds of input, and what is flagged.

    python benchmarks/quality_false_alarms.py [--trials 5] [--operators gelu,sum]

Prints a line for every flagged (operator, target, dtype, kind), then the largest rho of everything that is not a known
defect. Each known defect below is proved against mpmath in tests/quality. Exit code 1 if anything else is flagged.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fuzz.backends import BACKENDS
from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from results.columns import Row
from strategies import Problem, make_problem, parse_recipe

KINDS = {
    "normal": "normal(0,1)",
    "uniform": "uniform(0,1)",
    "offset": "offset(1000,1)",
    "wide": "signed(loguniform(1e-9,1e3))",
    "large": "normal(0,30)",
}

DIMS = {
    "batch_norm": {"N": 2, "C": 16, "H": 14, "W": 14},
    "matmul": {"M": 24, "K": 333, "N": 24},
    "softmax": {"rows": 16, "n": 257},
    "layer_norm": {"rows": 16, "n": 257},
    "sum": {"rows": 24, "n": 1000},
}

TAIL = "0.5 x (1 + f(x)) cancels in the left tail"
KNOWN = {
    ("gelu", "torch:gelu"): TAIL,
    ("gelu", "tvm:relax"): TAIL,
    ("gelu", "tvm:te"): TAIL,
    ("gelu_tanh", "numpy:formula"): TAIL,
    ("gelu_tanh", "scipy:expit"): "scipy.special.expit gives 0 where the result is subnormal",
    ("gelu_tanh", "torch:gelu"): TAIL,
    ("gelu_tanh", "jax:gelu"): TAIL,
    ("gelu_tanh", "tvm:relax"): TAIL,
    ("tanh", "tvm:topi"): "(1 - exp(-2x)) / (1 + exp(-2x)) cancels near 0",
    ("softplus", "tvm:topi"): "log(1 + exp x) loses exp x below u",
    ("softplus", "tvm:relax"): "log(1 + exp x) loses exp x below u",
    ("softplus", "torch:softplus"): "x itself above 20: off by exp(-20)",
    ("layer_norm", "jax:standardize"): "variance in one pass: mean(x*x) - mean(x)**2",
}
"""(operator, target) -> defect. Everything else must stay at rho <= 2, except for subnormals, which XLA flushes."""


def defect(operator: str, target: str, verdict: str) -> str | None:
    """What is known to be wrong there, if the verdict can be about it."""
    if target.startswith("jax:") and verdict == "subnormals_flushed":
        return "XLA flushes subnormals on the CPU"
    return KNOWN.get((operator, target))


@dataclass
class Tally:
    """What the trials of one (operator, target, dtype, kind) showed."""

    trials: int = 0
    largest: float = 0.0
    verdicts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    detail: str = ""

    def add(self, row: Row) -> None:
        self.trials += 1
        rho, verdict = float(row.get("rho_max") or 0.0), str(row["verdict"])
        self.verdicts[verdict] += 1
        if rho >= self.largest or row.get("nonfinite_mismatch"):
            self.largest, self.detail = max(rho, self.largest), str(row["detail"])


def targets(operator: str, dtype: str) -> tuple[Target, ...]:
    """Every formulation of every installed backend."""
    return tuple(
        Target(name, backend.default_device, dtype, (("impl", implementation.name),))
        for name, backend in BACKENDS.items()
        if backend.missing() is None
        for implementation in backend.implementations.get(operator, ())
        if dtype in implementation.dtypes
    )


def problem(operator: str, dtype: str, recipe: str) -> Problem:
    """All inputs of one kind; those that must not be negative by their absolute value."""
    contract = OPERATORS[operator].contract
    recipes = [
        parse_recipe(f"abs({recipe})" if spec.domain.low >= 0 else recipe, (spec.name,)) for spec in contract.inputs
    ]
    return make_problem(contract, dims=DIMS.get(operator, {"n": 4096}), home=dtype, recipes=recipes)


def trials(operators: Sequence[str], count: int, seed: int = 0) -> Iterator[tuple[tuple[str, str, str, str], Row]]:
    """((operator, target, dtype, kind), row) of every trial."""
    session = Session("quality")
    for operator in operators:
        for dtype in ("float32", "float64"):
            for kind, recipe in KINDS.items():
                cell = Cell(problem(operator, dtype, recipe), targets(operator, dtype))
                for index in range(count):
                    result = run_trial(cell, seed, index, session, ladder=index == 0)
                    for target, row in zip(cell.targets, result.rows, strict=True):
                        yield (operator, f"{target.backend}:{dict(target.options)['impl']}", dtype, kind), row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5, help="trials per operator, target, dtype and kind")
    parser.add_argument("--operators", default=",".join(OPERATORS), help="comma-separated")
    arguments = parser.parse_args()
    for backend in BACKENDS.values():
        if backend.missing() is None:
            backend.warm_up()
    tallies: dict[tuple[str, str, str, str], Tally] = defaultdict(Tally)
    for key, row in trials(arguments.operators.split(","), arguments.trials):
        tallies[key].add(row)
    return report(tallies)


def report(tallies: dict[tuple[str, str, str, str], Tally]) -> int:
    """Print the two tables; 1 if something is flagged that is no known defect."""
    alarms = healthy = 0
    largest: dict[str, tuple[float, str]] = {}
    for (operator, target, dtype, kind), tally in tallies.items():
        where = f"{target} {dtype} {kind}"
        findings = [name for name in tally.verdicts if name not in QUIET]
        reasons = {defect(operator, target, name) for name in findings}
        if findings:
            alarms += None in reasons
            shown = ", ".join("NOT EXPECTED" if reason is None else reason for reason in reasons)
            print(f"{operator:10} {where:40} {dict(tally.verdicts)}  {shown}: {tally.detail}")
        else:
            healthy += tally.trials
            largest[operator] = max(largest.get(operator, (0.0, "")), (tally.largest, where))
    print(f"\n{sum(t.trials for t in tallies.values())} trials, {healthy} in combinations without a finding")
    for operator, (rho, where) in largest.items():
        print(f"{operator:10} largest rho without a finding {rho:6.3f}  {where}")
    print("no false alarm" if not alarms else f"{alarms} combinations flagged without a known defect")
    return 1 if alarms else 0


QUIET = frozenset({"exact", "rounding", "ill_conditioned", "borderline", "unsupported", "accumulation_order"})
"""Verdicts that accuse nobody."""

if __name__ == "__main__":
    sys.exit(main())
