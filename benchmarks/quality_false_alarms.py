"""False alarms: library implementations of every operator on five kinds of input, and what is flagged.

    python benchmarks/quality_false_alarms.py [--trials 6] [--operators gelu,sum] [--processes 2]

Prints a line for every flagged combination of operator, target, dtype and kind that quality_table.py does not name,
then a table by operator. Exit code 1 if there is such a line, or if more than 0.3 % of the healthy trials exceed one
bound. A trial here is one target on one draw.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from quality_table import excuse

from fuzz.backends import BACKENDS
from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.thresholds import ACCEPT, FLAG
from fuzz.trial import Cell, Session, run_trial
from results.columns import Row
from strategies import DType, Problem, make_problem, parse_recipe
from strategies.precision import Precision, precision

KINDS = {
    "normal": "normal(0,1)",
    "uniform": "uniform(0,1)",
    "offset": "offset(1000,1)",
    "wide": "signed(loguniform(1e-9,1e3))",
    "large": "normal(0,30)",
}
FLOAT16 = {"wide": "signed(loguniform(1e-7,1e3))"}
"""The smallest number of float16 is 6e-8."""
DTYPES: tuple[DType, ...] = ("float32", "float64", "float16", "bfloat16")

DIMS = {
    "batch_norm": {"N": 2, "C": 16, "H": 18, "W": 18},
    "matmul": {"M": 24, "K": 333, "N": 24},
    "batch_norm_training": {"N": 2, "C": 8, "H": 14, "W": 14},
    "group_norm": {"N": 2, "G": 4, "D": 4, "L": 49},
    "instance_norm": {"N": 2, "C": 8, "H": 14, "W": 14},
    "batch_matmul": {"B": 3, "M": 12, "K": 333, "N": 8},
    "dense": {"M": 24, "K": 333, "N": 24},
    "conv1d": {"N": 2, "C": 16, "O": 8, "L": 33, "KL": 5},
    "conv2d": {"N": 1, "C": 8, "O": 8, "H": 14, "W": 14, "KH": 3, "KW": 3},
    "group_conv2d": {"N": 1, "G": 2, "I": 8, "O": 4, "H": 14, "W": 14, "KH": 3, "KW": 3},
    "depthwise_conv2d": {"N": 2, "C": 8, "M": 2, "H": 14, "W": 14, "KH": 3, "KW": 3},
    "avg_pool2d": {"N": 2, "C": 8, "H": 28, "W": 28},
    "max_pool2d": {"N": 2, "C": 8, "H": 28, "W": 28},
    "dense_chain": {"M": 12, "n": 48, "depth": 3},
    "conv_chain": {"N": 1, "C": 4, "H": 8, "W": 8, "depth": 2},
    "einsum_low_rank": {"B": 2, "T": 4, "R": 65, "C": 5, "I": 6},
    "einsum_bilinear": {"B": 4, "I": 17, "O": 3, "J": 19},
    "einsum_scores": {"B": 2, "Q": 6, "H": 2, "D": 129, "K": 7},
    "einsum_outer": {"B": 3, "I": 17, "J": 19},
}
"""Sizes of operators that have other dims than n alone or (rows, n)."""
DEFAULT_DIMS = ({"n": 10000}, {"rows": 24, "n": 257})

LONG = {
    "matmul": {"M": 8, "K": 4096, "N": 8},
    "batch_norm_training": {"N": 2, "C": 3, "H": 46, "W": 46},
    "group_norm": {"N": 1, "G": 2, "D": 4, "L": 1024},
    "instance_norm": {"N": 1, "C": 2, "H": 64, "W": 64},
    "batch_matmul": {"B": 2, "M": 6, "K": 4096, "N": 6},
    "dense": {"M": 8, "K": 4096, "N": 8},
    "conv1d": {"N": 1, "C": 832, "O": 4, "L": 20, "KL": 5},
    "conv2d": {"N": 1, "C": 460, "O": 4, "H": 6, "W": 6, "KH": 3, "KW": 3},
    "group_conv2d": {"N": 1, "G": 2, "I": 460, "O": 2, "H": 6, "W": 6, "KH": 3, "KW": 3},
    "depthwise_conv2d": {"N": 1, "C": 4, "M": 1, "H": 68, "W": 68, "KH": 64, "KW": 64},
}
"""Reductions of at least 4,096 terms with at least 64 outputs: a third of the trials of what reduces."""
LONG_ROWS = {"rows": 64, "n": 4096}
LONG_SHARE = 2
"""Trials of the usual sizes for each one of the long size."""

SLOW = frozenset((operator, "tvm", "te", "float16") for operator in ("layer_norm", "rms_norm"))
"""Long trials only: LLVM compiles these formulations for minutes at the usual size, in seconds at the long one."""

QUIET = frozenset({"exact", "rounding", "ill_conditioned", "borderline", "unsupported", "accumulation_order"})
"""Verdicts that accuse nobody."""
LIBRARIES = ("numpy", "scipy", "torch", "jax", "tvm")
"""The backends under test: others may have been registered in this process, by tests for example."""
UNJUDGED = frozenset({"unsupported", "indeterminate"})
MOST_BORDERLINE = 0.003

Key = tuple[str, str, DType, str]


def targets(operator: str, dtype: str, *, long: bool = False) -> tuple[Target, ...]:
    """Every formulation of every installed backend that compiles in time."""
    return tuple(
        Target(name, backend.default_device, dtype, (("impl", implementation.name),))
        for name, backend in BACKENDS.items()
        if name in LIBRARIES and backend.missing() is None
        for implementation in backend.implementations.get(operator, ())
        if dtype in implementation.dtypes and (long or (operator, name, implementation.name, dtype) not in SLOW)
    )


def long_dims(operator: str) -> dict[str, int] | None:
    """Sizes of the long trials; None for what reduces nothing, or a window only."""
    names = OPERATORS[operator].contract.dim_names
    return LONG_ROWS if tuple(names) == ("rows", "n") else LONG.get(operator)


def problem(operator: str, dtype: DType, kind: str, *, long: bool = False) -> Problem:
    """All inputs of one kind; those that must not be negative by their absolute value."""
    contract = OPERATORS[operator].contract
    recipe = FLOAT16.get(kind, KINDS[kind]) if dtype == "float16" else KINDS[kind]
    recipes = [
        parse_recipe(f"abs({recipe})" if spec.domain.low >= 0 else recipe, (spec.name,)) for spec in contract.inputs
    ]
    default = next((d for d in DEFAULT_DIMS if set(d) == set(contract.dim_names)), {})
    dims = long_dims(operator) if long else DIMS.get(operator, default)
    assert dims is not None
    return make_problem(contract, dims=dims, home=dtype, recipes=recipes)


def trials(
    operators: Sequence[str], count: int, seed: int = 0, dtypes: Sequence[DType] = DTYPES
) -> Iterator[tuple[Key, Row]]:
    """((operator, target, dtype, kind), row) of every trial: `count` of the usual size, half as many long ones."""
    session = Session("quality")
    for operator in operators:
        outputs = len(OPERATORS[operator].contract.outputs)
        for dtype in dtypes:
            if not targets(operator, dtype, long=True):
                continue
            for kind in KINDS:
                sizes = [(False, count)]
                if long_dims(operator) is not None and count >= LONG_SHARE:
                    sizes.append((True, count // LONG_SHARE))
                for long, repeats in sizes:
                    chosen = targets(operator, dtype, long=long)
                    cell = Cell(problem(operator, dtype, kind, long=long), chosen)
                    for index in range(repeats):
                        result = run_trial(cell, seed, index, session, ladder=index == 0)
                        for number, row in enumerate(result.rows):
                            target = chosen[number // outputs]
                            yield (operator, f"{target.backend}:{dict(target.options)['impl']}", dtype, kind), row


@dataclass
class Tally:
    """What the trials of one combination showed."""

    trials: int = 0
    unjudged: int = 0
    above: int = 0
    subnormal: int = 0
    """Those above 1 at a subnormal number."""
    order: int = 0
    largest: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)
    """Verdict -> detail of its last trial."""

    def add(self, row: Row, of: Precision) -> None:
        rho, verdict = float(row.get("rho_max") or 0.0), str(row["verdict"])
        if verdict in UNJUDGED or (verdict == "borderline" and row.get("overflow_explained")):
            self.unjudged += 1
            return
        self.trials += 1
        void = int(row["reduction_length"] or 0) * of.unit_roundoff >= 1.0  # sqrt(n) means nothing for a running sum
        if verdict == "accumulation_order" or (verdict == "borderline" and void):
            self.order += 1
        elif verdict not in QUIET:
            self.findings[verdict] = str(row["detail"])
        else:
            self.above += rho > ACCEPT
            self.subnormal += rho > ACCEPT and abs(float(row.get("rho_truth") or 0.0)) < of.smallest_normal
            self.largest = max(self.largest, rho)


@dataclass
class Line:
    """The combinations of one operator, or of all."""

    trials: int = 0
    above: int = 0
    order: int = 0
    unjudged: int = 0
    largest: float = 0.0
    where: str = ""
    defects: int = 0
    excluded: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)

    def add(self, key: Key, tally: Tally) -> None:
        operator, target, dtype, kind = key
        self.unjudged += tally.unjudged
        where = f"{target} {dtype} {kind}"
        unknown = {v: d for v, d in tally.findings.items() if excuse(operator, target, dtype, v) is None}
        if unknown or tally.largest > FLAG:
            self.alarms.append(f"{operator} {where}: {unknown or tally.largest}")
        elif tally.findings or (tally.above and self._proven(key, tally)):
            self.defects += tally.trials
            self.excluded.append(where)
            return
        self.trials += tally.trials
        self.above += tally.above
        self.order += tally.order
        if tally.largest >= self.largest:
            self.largest, self.where = tally.largest, where

    @staticmethod
    def _proven(key: Key, tally: Tally) -> bool:
        """Whether what lies above 1 is a defect that a row proves: flushed subnormal results, or an error above 1."""
        operator, target, dtype, _ = key
        flushed = tally.above == tally.subnormal and excuse(operator, target, dtype, "subnormals_flushed") is not None
        return flushed or excuse(operator, target, dtype, "borderline") is not None

    @property
    def share(self) -> float:
        return self.above / self.trials if self.trials else 0.0

    def excluded_shown(self) -> str:
        """Excluded combinations by target and dtype, with their kinds."""
        kinds: dict[str, list[str]] = defaultdict(list)
        for where in self.excluded:
            target, dtype, kind = where.split()
            kinds[f"{target} {dtype}"].append(kind)
        return "; ".join(f"{place} ({', '.join(found)})" for place, found in kinds.items())


def of_operator(arguments: tuple[str, int, int]) -> tuple[str, Line]:
    """All trials of one operator (in a process of its own or not)."""
    operator, count, seed = arguments
    for backend in BACKENDS.values():
        if backend.missing() is None:
            backend.warm_up()
    tallies: dict[Key, Tally] = defaultdict(Tally)
    for key, row in trials([operator], count, seed):
        tallies[key].add(row, precision(key[2]))
    line = Line()
    for key, tally in tallies.items():
        line.add(key, tally)
    return operator, line


def measure(operators: Sequence[str], count: int, seed: int, processes: int) -> dict[str, Line]:
    """Lines by operator, in the order given."""
    work = [(operator, count, seed) for operator in operators]
    if processes == 1:
        return dict(map(of_operator, work))
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        found = {}
        for operator, line in pool.imap_unordered(of_operator, work):
            print(
                f"{operator}: {line.trials} trials, {line.above} above 1, largest {line.largest:.3f} {line.where}, "
                f"unexpected {line.alarms}",
                file=sys.stderr,
                flush=True,
            )
            found[operator] = line
    return {operator: found[operator] for operator in operators}


def table(lines: dict[str, Line]) -> str:
    """The lines as Markdown, the total last."""
    names = ("operator", "healthy trials", "above 1", "largest rho", "where", "order", "not judged", "known defects")
    rows = ["| " + " | ".join(names) + " |", "| --- | ---: | ---: | ---: | --- | ---: | ---: | --- |"]
    for operator, line in lines.items():
        excluded = f"{line.defects}: {line.excluded_shown()}" if line.excluded else ""
        rows.append(
            f"| {operator} | {line.trials} | {line.share:.2%} | {line.largest:.3f} | {line.where} | {line.order or ''} "
            f"| {line.unjudged or ''} | {excluded} |"
        )
    total = sum_of(lines)
    rows.append(
        f"| all | {total.trials} | {total.share:.2%} | {total.largest:.3f} | | {total.order} | {total.unjudged} "
        f"| {total.defects} |"
    )
    return "\n".join(rows)


def sum_of(lines: dict[str, Line]) -> Line:
    total = Line()
    for line in lines.values():
        total.trials += line.trials
        total.above += line.above
        total.order += line.order
        total.unjudged += line.unjudged
        total.defects += line.defects
        total.largest = max(total.largest, line.largest)
        total.alarms += line.alarms
    return total


def passed(lines: dict[str, Line]) -> bool:
    total = sum_of(lines)
    return not total.alarms and total.share <= MOST_BORDERLINE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=6, help="usual trials a combination; half as many long ones")
    parser.add_argument("--operators", default=",".join(OPERATORS), help="comma-separated")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    lines = measure(arguments.operators.split(","), arguments.trials, arguments.seed, arguments.processes)
    print(table(lines))
    for alarm in sum_of(lines).alarms:
        print("NOT EXPECTED", alarm)
    return 0 if passed(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
