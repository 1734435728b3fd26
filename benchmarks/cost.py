"""What the oracle costs: truth and bound of one trial against the plain float64 NumPy reference, for every operator.

    python benchmarks/cost.py [--operators gelu,conv2d] [--rounds 7]

CPU time, both in turn in one process with a worker's memory allocator, medians over rounds. Wanted: at most 12 times
the reference for elementwise operators and others that pass over their data, at most 3.5 times where a product of
matrices dominates. Exit code 1 if something is missed. tests/quality/test_cost.py counts instead of timing.
"""

# ruff: noqa: E402

from __future__ import annotations

from fuzz.threads import limit_threads

limit_threads()

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fuzz.allocator import keep_freed_blocks
from fuzz.operators import OPERATORS
from fuzz.oracle.bound import bound
from fuzz.workbench import Bench
from strategies import make_problem, parse_recipe
from strategies.sampling import draw

ELEMENTWISE_LIMIT, PRODUCT_LIMIT = 12.0, 3.5
BLOCK_SECONDS = 0.02

PRODUCTS = {
    "matmul": {"M": 256, "K": 256, "N": 256},
    "batch_matmul": {"B": 2, "M": 192, "K": 192, "N": 192},
    "dense": {"M": 256, "K": 256, "N": 256},
    "conv1d": {"N": 1, "C": 64, "O": 256, "L": 512, "KL": 3},
    "conv2d": {"N": 1, "C": 32, "O": 256, "H": 28, "W": 28, "KH": 3, "KW": 3},
    "group_conv2d": {"N": 1, "G": 2, "I": 32, "O": 192, "H": 28, "W": 28, "KH": 3, "KW": 3},
}
"""Sizes at which the product dominates. The depthwise convolution has none: nine terms an output."""
OTHERS = (
    {"n": 50176},
    {"rows": 64, "n": 784},
    {"N": 2, "C": 32, "H": 28, "W": 28},
    {"N": 2, "G": 8, "D": 4, "L": 784},
    {"N": 2, "C": 16, "M": 2, "H": 28, "W": 28, "KH": 3, "KW": 3},
    {"M": 64, "n": 128, "depth": 6},
    {"N": 2, "C": 16, "H": 14, "W": 14, "depth": 6},
    {"B": 8, "T": 8, "R": 24, "C": 32, "I": 24},
    {"B": 8, "I": 80, "O": 8, "J": 80},
    {"B": 4, "Q": 48, "H": 4, "D": 64, "K": 48},
    {"B": 8, "I": 80, "J": 80},
)
"""About 50,000 elements. Chains carry patterns of errors along, so they cost more than a product."""


class Cost(NamedTuple):
    """CPU seconds of one trial."""

    operator: str
    plain: float
    oracle: float
    ratio: float
    limit: float

    @property
    def met(self) -> bool:
        return self.ratio <= self.limit


def dims(operator: str) -> dict[str, int]:
    names = set(OPERATORS[operator].contract.dim_names)
    return PRODUCTS.get(operator) or next(d for d in OTHERS if set(d) == names)


def measure(operator: str, rounds: int) -> Cost:
    """Truth and bound for float32 kernels, and the reference on the same numbers in float64."""
    contract = OPERATORS[operator].contract
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    bench = Bench(make_problem(contract, dims=dims(operator), home="float32", recipes=recipes))
    rung = bench.rung("float32")
    draw(bench.problem, contract, 0, 0, rung.arena.arrays)
    inputs, interpreter = rung.inputs(), bound(bench.program, "float32")
    wide = [array.astype(np.float64) for array in inputs]
    attributes = dict(bench.problem.attributes)

    def plain() -> Any:
        return bench.operator.reference(*wide, **attributes)

    def oracle() -> Any:
        return interpreter(inputs)

    plain(), oracle()
    repeats = max(3, int(BLOCK_SECONDS / max(_seconds(plain, 3), 1e-6)))
    pairs = [(_seconds(plain, repeats), _seconds(oracle, max(3, repeats // 4))) for _ in range(rounds)]
    ratio = statistics.median(after / before for before, after in pairs)
    one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Cost(operator, one, other, ratio, PRODUCT_LIMIT if operator in PRODUCTS else ELEMENTWISE_LIMIT)


def _seconds(function: Callable[[], Any], repeats: int) -> float:
    start = time.process_time()
    with np.errstate(all="ignore"):
        for _ in range(repeats):
            function()
    return (time.process_time() - start) / repeats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", default=",".join(OPERATORS), help="comma-separated")
    parser.add_argument("--rounds", type=int, default=7, help="pairs of blocks (default 7)")
    arguments = parser.parse_args()
    keep_freed_blocks()
    print(f"{'operator':20}{'reference us':>14}{'truth+bound us':>16}{'ratio':>8}{'wanted':>8}")
    missed = 0
    for operator in arguments.operators.split(","):
        cost = measure(operator, arguments.rounds)
        missed += not cost.met
        print(
            f"{operator:20}{cost.plain * 1e6:14.0f}{cost.oracle * 1e6:16.0f}{cost.ratio:8.1f}{cost.limit:8.1f}"
            f"{'' if cost.met else '  MISSED'}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
