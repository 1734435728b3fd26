"""Benches and targets for tests of the search."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.operators import operator
from fuzz.search.evolution import Evolution
from fuzz.search.hunt import evolve, run_in_process
from fuzz.search.objective import Kind
from fuzz.targets import parse_target
from fuzz.workbench import Bench
from strategies import parse_recipe
from strategies.problem import make_problem


def bench_of(
    name: str, dims: Mapping[str, int], attributes: Mapping[str, int] | None = None, home: str = "float32"
) -> Bench:
    contract = operator(name).contract
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    return Bench(make_problem(contract, dims=dims, home=home, recipes=recipes, attributes=attributes))


def searched(bench: Bench, target: str, evaluations: int, kind: Kind = Kind.RHO, seed: int = 0) -> Evolution:
    home = bench.problem.home
    return evolve(bench, [parse_target(target, home)], kind, evaluations, seed, run_in_process)
