"""The plan `search` against i.i.d. draws and against Hypothesis' `target`, on five operators in float32.

    python benchmarks/search.py [--evaluations 2000] [--repetitions 10] [--target torch] [--processes 2]

All three look for the largest rho under the ideal model (fuzz.search.objective) with the same number of evaluations;
an evaluation is one set of input arrays of fixed size, run and compared with the truth. All three draw from the same
problems: every family of recipes (but the one of NaN and infinities) for every input, default attributes. `i.i.d.`
draws each problem and its inputs independently, `Hypothesis` lets its engine choose problem and draw with the logarithm
of rho as its target. No parameter is set by operator. p is that of a one-sided Mann-Whitney test of the search against
the other column (exact where there are no ties), `better` p < 0.05, `worse` the same the other way round.

Exit code 1 unless the search is better than both on three operators and worse on none.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings, target
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from scipy.stats import mannwhitneyu

from fuzz.operators import operator
from fuzz.search.anatomy import Anatomy, anatomy
from fuzz.search.hunt import evolve, run_in_process
from fuzz.search.objective import Kind, Objective
from fuzz.search.seeds import SPECIAL
from fuzz.targets import Target, parse_target
from fuzz.workbench import Bench
from strategies import parse_recipe
from strategies.families import FAMILIES
from strategies.generation import problems
from strategies.iid import independent
from strategies.problem import Problem, make_problem
from strategies.sampling import draw

HOME = "float32"
DIMS: dict[str, dict[str, int]] = {
    "sum": {"rows": 8, "n": 256},
    "batch_norm": {"N": 2, "C": 8, "H": 8, "W": 8},
    "logsumexp": {"rows": 8, "n": 256},
    "layer_norm": {"rows": 8, "n": 256},
    "gelu": {"n": 1024},
}
NOTHING = 1e-300
"""Stands for a rho of 0, which has no logarithm."""
SIGNIFICANT = 0.05
WANTED = 3


class Setting:
    """One operator on one target, ready to be evaluated."""

    def __init__(self, name: str, target: Target) -> None:
        self.contract = operator(name).contract
        recipes = [parse_recipe(spec.default, (spec.name,)) for spec in self.contract.inputs]
        self.bench = Bench(make_problem(self.contract, dims=DIMS[name], home=HOME, recipes=recipes))
        self.target = target
        self.anatomy: Anatomy = anatomy(self.bench)
        self.objective = Objective(self.bench, [target], run_in_process, Kind.RHO)

    def problems(self) -> SearchStrategy[Problem]:
        """What all three draw from. (Attributes do not matter to a draw: those of the bench are used.)"""
        families = [name for name in FAMILIES if name != SPECIAL]
        return problems(self.contract, home=HOME, families=families, dims=dict(self.bench.problem.dims))

    def rho(self, problem: Problem, number: int, index: int) -> float:
        """Largest rho of one draw."""
        draw(problem, self.contract, number, index, self.objective.arrays)
        return float(self.objective.scores(self.anatomy).max())


def search(setting: Setting, number: int, evaluations: int) -> float:
    found = evolve(setting.bench, [setting.target], Kind.RHO, evaluations, number, run_in_process)
    return found.champions[0].score


def iid(setting: Setting, number: int, evaluations: int) -> float:
    drawn = independent(setting.problems(), number, 0, evaluations)
    return max(setting.rho(problem, number, index) for index, problem in enumerate(drawn))


def steered(setting: Setting, number: int, evaluations: int) -> float:
    """Hypothesis with `target`; its database is off and its seed given, so that nothing outside matters."""
    best, calls = 0.0, 0

    @seed(number)
    @settings(
        max_examples=evaluations,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=list(HealthCheck),
    )
    @given(setting.problems(), st.integers(0, 2**32 - 1))
    def look(problem: Problem, index: int) -> None:
        nonlocal best, calls
        if calls == evaluations:
            return
        calls += 1
        rho = setting.rho(problem, number, index)
        best = max(best, rho)
        target(math.log(max(rho, NOTHING)))

    look()
    if calls < evaluations:
        print(f"Hypothesis ended after {calls} evaluations", file=sys.stderr)
    return best


METHODS: dict[str, Callable[[Setting, int, int], float]] = {"search": search, "i.i.d.": iid, "Hypothesis": steered}


def measure(task: tuple[str, str, int, int, str]) -> float:
    """Largest rho of one repetition."""
    name, method, number, evaluations, spelled = task
    return METHODS[method](Setting(name, parse_target(spelled, HOME)), number, evaluations)


def compared(ours: Any, theirs: Any) -> tuple[str, float]:
    """better, worse or "", and p of ours being larger."""
    larger = float(mannwhitneyu(ours, theirs, alternative="greater").pvalue)
    smaller = float(mannwhitneyu(ours, theirs, alternative="less").pvalue)
    return "better" if larger < SIGNIFICANT else "worse" if smaller < SIGNIFICANT else "", larger


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--target", default="torch")
    parser.add_argument("--operators", default=",".join(DIMS))
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = options.operators.split(",")
    tasks = [
        (name, method, number, options.evaluations, options.target)
        for name in names
        for method in METHODS
        for number in range(options.repetitions)
    ]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        found = dict(zip(tasks, pool.map(measure, tasks, chunksize=1), strict=True))
    print(f"largest rho (ideal model) in {options.evaluations:,} evaluations on {options.target}, float32;")
    print(f"median [smallest, largest] of {options.repetitions} repetitions\n")
    print("| operator | dims | " + " | ".join(METHODS) + " | p, i.i.d. | p, Hypothesis | search is |")
    print("|---|---|" + "---|" * (len(METHODS) + 3))
    better, worse = 0, 0
    for name in names:
        values = {
            method: np.array([rho for task, rho in found.items() if task[:2] == (name, method)]) for method in METHODS
        }
        words, ps = zip(*(compared(values["search"], values[other]) for other in ("i.i.d.", "Hypothesis")), strict=True)
        word = words[0] if words[0] == words[1] else "worse" if "worse" in words else ""
        better, worse = better + (word == "better"), worse + (word == "worse")
        shown = [f"{np.median(v):.4g} [{v.min():.4g}, {v.max():.4g}]" for v in values.values()]
        dims = ", ".join(f"{dim}={size}" for dim, size in DIMS[name].items())
        print(f"| {name} | {dims} | {' | '.join(shown)} | " + " | ".join(f"{p:.1e}" for p in ps) + f" | {word} |")
    passed = better >= min(WANTED, len(names)) and not worse
    print(f"\nbetter than both on {better} of {len(names)}, worse on {worse}: {'passed' if passed else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
