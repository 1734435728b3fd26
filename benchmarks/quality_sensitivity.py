"""Sensitivity: how small an error in every element is flagged, by operator, format and kind of input.

    python benchmarks/quality_sensitivity.py [--trials 5] [--operators softplus,var] [--processes 2]

The correctly rounded outputs are multiplied by 1 + k u or 1 - k u, the sign random for each element. `k` is the
smallest whole number for which a trial is flagged, its median over the trials; `k, half` that for which half of its
elements are. A bound that excuses too much needs a larger k: required is k <= 32 + 4 sqrt(n), n the longest reduction
(prod: 32 + 5 n).

Where the inputs are worse conditioned than that, no correct bound can meet it. Then k may reach 2.5 times the
amplification A, the smallest E/|v| of a trial (median), but only if A itself is explained:
A <= g kappa + 16 + 2 sqrt(n). kappa is the condition number sum |x_j dy/dx_j| / |y| of that element, measured without
the oracle: the median of 63 changes of the float64 formula when every input changes by 2^-30 times a Cauchy number.
g is 16 + 2 sqrt(n), for one rounding of each step and sqrt(n) of each sum (prod: 16 + 2 n); 4 for variances, which an
error of the mean enters squared only.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from quality_false_alarms import DIMS
from quality_false_alarms import KINDS as ALARM_KINDS

from fuzz.operators import OPERATORS
from fuzz.oracle.plain import plain
from fuzz.thresholds import FLAG
from fuzz.workbench import Bench, Rung
from strategies import DType, Problem, make_problem, parse_recipe
from strategies.sampling import draw

KINDS = {**ALARM_KINDS, "left": "offset(-20,1)"}
"""`left`: where an activation is a small number beside a branch that it does not take. Elementwise operators only."""
WIDE, NARROW = ("uniform", "normal", "offset", "left"), ("uniform", "normal")
"""Kinds by format: 1000 + N(0,1) has one significant bit left of its spread in bfloat16."""
CASES: dict[DType, tuple[str, ...]] = {"float32": WIDE, "float64": WIDE, "float16": NARROW, "bfloat16": NARROW}
SHORT = {"matmul": {"M": 8, "K": 64, "N": 8}, "dense": {"M": 8, "K": 64, "N": 8}}
"""Sums stay below 256 terms in 16-bit formats: beyond, sqrt(n) means nothing in bfloat16."""
VARIANCES = frozenset({"var", "std"})
CONSTANT = {"gamma": "constant(1)", "beta": "constant(0)"}
MOST = 1 << 30
CHANGES, STEP = 63, 2.0**-30


class Result(NamedTuple):
    """One combination. k is infinite where even MOST is not flagged."""

    operator: str
    dtype: DType
    kind: str
    n: int
    k: float
    half: float
    amplification: float
    condition: float

    @property
    def required(self) -> float:
        """32 + 4 sqrt(n)."""
        return 32 + (5 * self.n if self.operator == "prod" else 4 * math.sqrt(self.n))

    @property
    def explained(self) -> bool:
        """Whether conditioning, measured without the oracle, accounts for the amplification."""
        root = math.sqrt(self.n)
        growth = 4.0 if self.operator in VARIANCES else 16 + 2 * root
        if self.operator == "prod":
            growth = 16.0 + 2 * self.n
        return self.condition > 1.5 and self.amplification <= growth * self.condition + 16 + 2 * root

    @property
    def allowed(self) -> float:
        return max(self.required, 2.5 * self.amplification) if self.explained else self.required

    @property
    def met(self) -> bool:
        return self.k <= self.allowed


def _length(operator: str, dtype: DType) -> int:
    """Terms of a row: few where float16 would underflow (products) or sqrt(n) mean nothing (16-bit formats)."""
    if operator == "prod":
        return 8 if dtype == "float16" else 64
    return 64 if CASES[dtype] is NARROW else 257


def problem(operator: str, dtype: DType, kind: str) -> Problem:
    """Inputs of one kind; gamma 1 and beta 0."""
    contract = OPERATORS[operator].contract
    names = contract.dim_names
    if tuple(names) == ("n",):
        dims = {"n": 2000}
    elif tuple(names) == ("rows", "n"):
        dims = {"rows": 16, "n": _length(operator, dtype)}
    else:
        dims = (SHORT if CASES[dtype] is NARROW else DIMS).get(operator, DIMS[operator])
    recipes = []
    for spec in contract.inputs:
        recipe = CONSTANT.get(spec.name, KINDS[kind])
        recipes.append(parse_recipe(f"abs({recipe})" if spec.domain.low >= 0 else recipe, (spec.name,)))
    return make_problem(contract, dims=dims, home=dtype, recipes=recipes)


class Trial(NamedTuple):
    k: float
    half: float
    amplification: float
    condition: float


def trial(bench: Bench, index: int) -> Trial | None:
    """One draw; None where less than 1 % of the outputs are normal numbers."""
    rung = bench.rung(bench.problem.home)
    draw(bench.problem, bench.contract, 0, index, rung.arena.arrays)
    rung.refresh()
    yardstick = rung.yardsticks[0]
    with np.errstate(all="ignore"):
        rounded = yardstick.precision.round(yardstick.value)
        telling = np.isfinite(rounded) & (np.abs(rounded) >= yardstick.precision.smallest_normal)
        telling &= np.isfinite(yardstick.bound)
        ratio = np.where(telling, yardstick.bound / np.abs(yardstick.value), np.inf).astype(np.float64)
    if telling.mean() < 0.01:
        return None
    random = np.random.default_rng(index)
    step = random.choice([-1.0, 1.0], size=yardstick.size) * yardstick.u

    def rho(k: int) -> Any:
        with np.errstate(all="ignore"):
            off = yardstick.precision.round(rounded * (1.0 + k * step.astype(yardstick.value.dtype)))
        yardstick.measure(off.astype(yardstick.precision.numpy))
        return yardstick.rho[telling]

    least = int(ratio.argmin())
    return Trial(
        smallest(lambda k: bool(rho(k).max() > FLAG)),
        smallest(lambda k: bool(np.median(rho(k)) > FLAG)),
        float(ratio[least]),
        condition(bench, rung, least, random),
    )


def smallest(flagged: Callable[[int], bool]) -> float:
    """Least k in 1 .. MOST with flagged(k), which is taken to be monotonic; infinity if there is none."""
    high = 1
    while not flagged(high):
        high *= 2
        if high > MOST:
            return math.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if flagged(middle) else (middle, high)
    return float(high)


def condition(bench: Bench, rung: Rung, position: int, random: np.random.Generator) -> float:
    """sum |x_j dy/dx_j| / |y| of one element: a sum of Cauchy numbers c_j s_j has the distribution of c sum |s_j|, and
    the median of |c| is 1."""
    inputs = [array.astype(np.float64) for array in rung.inputs()]

    def value(arrays: Sequence[Any]) -> float:
        return float(plain(bench.program, arrays, "float64")[0].reshape(-1)[position])

    exact = value(inputs)
    changes = [
        abs(value([x * (1.0 + STEP * random.standard_cauchy(x.shape)) for x in inputs]) - exact) for _ in range(CHANGES)
    ]
    return statistics.median(changes) / (STEP * abs(exact)) if exact else math.inf


def of_operator(arguments: tuple[str, int, tuple[DType, ...]]) -> list[Result]:
    """All combinations of one operator that have numbers to change."""
    return list(results(*arguments))


def results(
    operator: str, trials: int, dtypes: Sequence[DType], kinds: Sequence[str] | None = None
) -> Iterator[Result]:
    """The combinations of one operator that have numbers to change."""
    for dtype in dtypes:
        for kind in kinds or CASES[dtype]:
            names = tuple(OPERATORS[operator].contract.dim_names)
            if kind == "left" and names != ("n",):
                continue
            bench = Bench(problem(operator, dtype, kind))
            found = [one for one in (trial(bench, index) for index in range(trials)) if one is not None]
            if not found:
                continue
            middle = [statistics.median_high(column) for column in zip(*found, strict=True)]
            yield Result(operator, dtype, kind, max(bench.reduction_length, 1), *middle)


def measure(operators: Sequence[str], trials: int, processes: int) -> list[Result]:
    work = [(operator, trials, tuple(CASES)) for operator in operators]
    if processes == 1:
        return [result for one in work for result in of_operator(one)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return [result for found in pool.imap(of_operator, work) for result in found]


def table(found: Sequence[Result]) -> str:
    """The results as Markdown."""
    lines = [
        "| operator | dtype | inputs | n | k | k, half | required | A | kappa | allowed | met |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for r in found:
        conditioned = r.allowed > r.required
        lines.append(
            f"| {r.operator} | {r.dtype} | {r.kind} | {r.n} | {r.k:.4g} | {r.half:.4g} | {r.required:.4g} "
            f"| {r.amplification:.3g} | {r.condition:.3g} | {f'{r.allowed:.4g}' if conditioned else ''} "
            f"| {'yes' if r.met else 'NO'} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--operators", default=",".join(OPERATORS), help="comma-separated")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    found = measure(arguments.operators.split(","), arguments.trials, arguments.processes)
    print(table(found))
    return 0 if all(result.met for result in found) else 1


if __name__ == "__main__":
    sys.exit(main())
