"""Random legal schedules of some operators, each run once and judged against the truth and the default schedule."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from statistics import median
from typing import Any

from msgspec import Struct, field

from fuzz.backends import BACKENDS
from fuzz.backends.base import Unsupported
from fuzz.backends.tvm_options import scheduled_by
from fuzz.operators import OPERATORS as ALL
from fuzz.schedules import values
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from results.verdicts import VERDICTS
from strategies import independent, make_problem, parse_recipe
from strategies.problem import Problem

OPERATORS: Mapping[str, Mapping[str, int]] = {
    "exp": {"n": 77},
    "sigmoid": {"n": 96},
    "sum": {"rows": 5, "n": 67},
    "argmax": {"rows": 5, "n": 19},
    "logsumexp": {"rows": 6, "n": 33},
    "softmax": {"rows": 6, "n": 33},
    "layer_norm": {"rows": 5, "n": 40},
    "batch_norm": {"N": 2, "C": 4, "H": 5, "W": 6},
    "matmul": {"M": 13, "K": 37, "N": 11},
    "batch_matmul": {"B": 3, "M": 5, "K": 17, "N": 6},
    "conv2d": {"N": 1, "C": 3, "H": 9, "W": 8, "O": 4, "KH": 3, "KW": 3},
    "avg_pool2d": {"N": 1, "C": 3, "H": 9, "W": 8},
    "max_pool2d": {"N": 1, "C": 3, "H": 9, "W": 8},
}
"""With small sizes that few factors divide."""
BATCH = 25
"""Schedules a cell: each brings kernels of its own."""


class Tally(Struct):
    """What became of the schedules of one operator."""

    operator: str
    schedules: int = 0
    moved: int = 0
    """In which at least one move found a place."""
    refused: int = 0
    """Moves that TVM refused, samples that meta_schedule did."""
    due: int = 0
    """Schedules that may not change a bit."""
    equal: int = 0
    """Of these, those that did not."""
    seconds: list[float] = field(default_factory=list)
    """To schedule and compile, each."""
    verdicts: Counter[str] = field(default_factory=Counter)
    primitives: Counter[str] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)
    """Schedules that do not compile, that are accused, or that change a bit they may not."""

    def line(self) -> str:
        """A row of a Markdown table."""
        verdicts = ", ".join(f"{name} {count}" for name, count in self.verdicts.most_common())
        seconds = f"{median(self.seconds):.2f}, {max(self.seconds):.2f}" if self.seconds else ""
        return (
            f"| {self.operator} | {self.schedules} | {self.moved} | {self.refused} | {self.due} | {self.equal} | "
            f"{seconds} | {verdicts} |"
        )


HEADINGS = (
    "operator",
    "schedules",
    "with primitives",
    "refused",
    "bits due",
    "bits equal",
    "compile s: median, largest",
    "verdicts",
)


def tally(
    operator: str, number: int, seed: int = 0, dtype: str = "float32", kind: str = "schedule", **options: str
) -> Tally:
    """Run `number` schedules, in turn of each of TVM's formulations of the operator. `kind` is the option they are."""
    found = Tally(operator)
    problem = _problem(operator, dtype)
    offered = [i for i in BACKENDS["tvm"].implementations[operator] if dtype in i.dtypes]
    drawn = iter(independent(values(kind), seed, 0, number))
    for count, batch in enumerate(_batches(drawn)):
        chosen = (*options.items(), ("impl", offered[count % len(offered)].name))
        plain = Target("tvm", "llvm", dtype, tuple(sorted(chosen)))
        targets = [Target("tvm", "llvm", dtype, tuple(sorted((*chosen, (kind, text))))) for text in batch if text]
        _run(found, problem, plain, targets, seed + count)
    return found


def _batches(drawn: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(drawn, BATCH)):
        yield batch


def _problem(operator: str, dtype: str) -> Problem:
    contract = ALL[operator].contract
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    return make_problem(contract, dims=OPERATORS[operator], home=dtype, recipes=recipes)


def _run(found: Tally, problem: Problem, plain: Target, targets: list[Target], index: int) -> None:
    session = Session("schedules")
    bench = session.workbench.bench(problem)
    good = []
    for target in targets:
        start = time.perf_counter()
        try:
            prepared = bench.prepared(target)
        except Unsupported:
            found.refused += 1
            continue
        except Exception as error:  # noqa: BLE001  # whatever a compiler raises
            found.alarms.append(f"{target.spelling(problem.home)} {problem.operator}: {error}")
            continue
        found.seconds.append(time.perf_counter() - start)
        found.schedules += 1
        made = _made(bench, target)
        found.moved += bool(made.primitives)
        found.refused += len(made.refused)
        found.primitives.update(line.split()[0] for line in made.primitives)
        found.due += bool(prepared.same_bits)
        good.append(target)
    for row in run_trial(Cell(problem, (plain, *good)), 0, index, session).rows:
        verdict = str(row["verdict"])
        found.verdicts[verdict] += 1
        target = next(t for t in (plain, *good) if t.spelling(problem.home) == row["target"])
        found.equal += bool(bench.prepared(target).same_bits) and verdict != "schedule_variant"
        if VERDICTS[verdict].finding:
            lines = "; ".join(bench.explain(target))
            found.alarms.append(f"{row['target']} {problem.operator}: {verdict}, {row['detail']}: {lines}")


def _made(bench: Any, target: Target) -> Any:
    arrays = bench.rung(target.dtype).arena.views.values()
    function = target.implementation(bench.problem.operator).function(*arrays, **dict(bench.problem.attributes))
    return scheduled_by(dict(target.options), function)
