"""One island: a problem shape, its targets, a budget. What comes out are champions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from fuzz.execution import NoBreadcrumb, execute, Outcome
from fuzz.search.anatomy import anatomy
from fuzz.search.evolution import Champion, Evolution
from fuzz.search.objective import Kind, Objective
from fuzz.targets import Target
from fuzz.workbench import Bench, Workbench
from strategies.problem import Problem
from strategies.sampling import stream

RULE = "search-1"
"""Name of the rule from (problem, seed) to champions, kernels being the same. A new rule gets a new name."""


def evolve(
    bench: Bench, targets: Sequence[Target], kind: Kind, evaluations: int, seed: int, run, without: Collection[int] = ()
) -> Evolution:
    """A finished search for the problem shape of `bench`."""
    a = anatomy(bench)
    objective = Objective(bench, targets, run, kind, without)
    random = stream(RULE, seed, evaluations, bench.problem.id)
    found = Evolution(bench.contract, bench.problem, a, objective, len(targets), evaluations, seed, random)
    found.run()
    return found
