"""How near the search comes to the true maximum, where that is known: functions of one number, error in ulp.

    python benchmarks/search_exhaustive.py [TABLE.csv ...] [--elements 2000] [--share 0.9] [--processes 2]

Each TABLE.csv is written by `ulpfuzz table DIR --csv`; those of docs/accuracy without any. For each of its lines
that covers every number of the format, the search looks for the largest error of that function on that target in
`elements` numbers (float32: 10,000,000), three times; it knows what it knows of every operator: binades, domain,
landmarks, recipes. A line is reached if the median of the three is at least `share` of the largest error in the table,
an operator if all its lines in a format are. Lines without any error are left out.

Exit code 1 unless 80 % of the operators are reached in each format.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

from fuzz.operators import operator
from fuzz.search.hunt import evolve, run_in_process
from fuzz.search.objective import Kind
from fuzz.targets import parse_target
from fuzz.workbench import Bench
from strategies import parse_recipe
from strategies.problem import make_problem

TABLES = sorted((Path(__file__).parent.parent / "docs" / "accuracy").glob("*.csv"))
ELEMENTS = {"float16": 2_000, "bfloat16": 2_000, "float32": 10_000_000}
ARRAYS = 50
"""Sets of input arrays into which few elements are divided."""
LARGEST = 4096
REPETITIONS = 3
WANTED = 0.8


class Line(NamedTuple):
    """A line of a table."""

    operator: str
    attributes: str
    dtype: str
    target: str
    ulp: float
    x: str


class Result(NamedTuple):
    line: Line
    elements: int
    ulps: tuple[float, ...]

    @property
    def share(self) -> float:
        """Of the table's maximum, in the median."""
        return statistics.median(self.ulps) / self.line.ulp


def lines(paths: list[Path]) -> list[Line]:
    """What the tables say of functions and targets that ran completely and have any error."""
    found = []
    for path in paths:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if row["ulp_max"] and float(row["ulp_max"]) > 0 and row["inputs"] == row["of_inputs"]:
                    name = row["function"].partition("(")[0]
                    found.append(
                        Line(name, row["attributes"], row["dtype"], row["target"], float(row["ulp_max"]), row["x_hex"])
                    )
    return found


def measure(task: tuple[Line, int]) -> Result:
    """Search for the maximum of one line."""
    line, elements = task
    contract = operator(line.operator).contract
    n = min(LARGEST, max(1, elements // ARRAYS))
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    attributes = json.loads(line.attributes)
    target = parse_target(line.target, line.dtype)
    ulps = []
    bench = Bench(make_problem(contract, dims={"n": n}, home=line.dtype, recipes=recipes, attributes=attributes))
    for seed in range(REPETITIONS):
        found = evolve(bench, [target], Kind.ULP, elements // n, seed, run_in_process)
        ulps.append(found.champions[0].score)
    return Result(line, elements // n * n, tuple(ulps))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", type=Path, default=TABLES)
    parser.add_argument("--elements", type=int)
    parser.add_argument("--share", type=float, default=0.9)
    parser.add_argument("--operators")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="print the lines that are reached, too")
    options = parser.parse_args()
    wanted = options.operators.split(",") if options.operators else None
    chosen = [line for line in lines(options.tables) if wanted is None or line.operator in wanted]
    tasks = [(line, options.elements or ELEMENTS[line.dtype]) for line in chosen]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        results = pool.map(measure, tasks, chunksize=1)
    print("| operator | dtype | target | largest ulp | at | found (three times) | share |")
    print("|---|---|---|---|---|---|---|")
    for result in results:
        if options.all or result.share < options.share:
            line = result.line
            ulps = ", ".join(f"{ulp:.4g}" for ulp in result.ulps)
            print(
                f"| {line.operator} | {line.dtype} | {line.target} | {line.ulp:.4g} | {line.x} | {ulps} | "
                f"{result.share:.3f} |"
            )
    passed = True
    print()
    for dtype in dict.fromkeys(line.dtype for line in chosen):
        here = [result for result in results if result.line.dtype == dtype]
        names = {(result.line.operator, result.line.attributes) for result in here}
        missed = {(result.line.operator, result.line.attributes) for result in here if result.share < options.share}
        reached = sum(result.share >= options.share for result in here)
        enough = len(names) - len(missed) >= WANTED * len(names)
        passed &= enough
        print(
            f"{dtype}, {here[0].elements:,} elements: {options.share:.0%} of the largest error reached on {reached} of "
            f"{len(here)} lines, on all lines of {len(names) - len(missed)} of {len(names)} operators: "
            f"{'passed' if enough else 'FAILED'}"
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
