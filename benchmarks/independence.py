"""Are the problems of a survey drawn as its population says, independently of each other? Checks and their p-values.

    python benchmarks/independence.py [--draws 20000] [--seed 0]

Prints every check that was made, and the verdict after Holm's correction over all of them. CPU: about 2 ms a draw.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from quality_setting import cpu, versions
from scipy import stats

from fuzz.operators import OPERATORS
from strategies import Contract, Problem, independent, problems, sizes, stream
from strategies.canonical import identity
from strategies.choices import POPULATION, Choices, Way, chances, choices
from strategies.generation import EMPTY_ONE_IN, values
from strategies.iid import STREAM

OPERATORS_CHECKED = ("tanh", "add", "sqrt", "sum", "matmul", "layer_norm", "elu", "clip", "rms_norm", "max_pool2d")
"""One input and several, with and without attributes, domains, empty dims, joint recipes."""
LEAST_EXPECTED = 5.0
"""Cells of a chi-square test with fewer expected draws are merged (Cochran's rule)."""
MOST_SHAPES = 200_000
"""Combinations of sizes up to which the chance of each shape is counted out."""
LEVEL = 0.01
"""Of all checks together."""


@dataclass(frozen=True)
class Check:
    """One test of one property of the draws of one operator."""

    operator: str
    what: str
    statistic: str
    p: float


def checks(operator: str, seed: int, draws: int) -> list[Check]:
    """All checks of `draws` problems of an operator."""
    contract = OPERATORS[operator].contract
    own = int(identity({"seed": seed, "operator": operator}), 16)  # as in a campaign, a stream of its own
    drawn = independent(problems(contract), own, 0, draws)
    done: list[Check] = []

    def add(what: str, test: tuple[str, float] | None) -> None:
        if test is not None:
            done.append(Check(operator, what, *test))

    shapes = shape_chances(contract)
    if shapes is not None:
        add("dims", chi_square([problem.dims for problem in drawn], shapes))
    for name, spec in contract.attributes:
        menu = values(spec)
        seen = [dict(problem.attributes)[name] for problem in drawn]
        add(f"attribute {name}", chi_square(seen, dict.fromkeys(menu, 1 / len(menu))))
    offered = choices(contract, "float32")
    for name, expected in zip(offered.inputs, chances(offered), strict=True):
        add(f"recipe of {name}", chi_square([recipe_of(problem, name) for problem in drawn], expected))
        families = [families_of(offered.apart[offered.inputs.index(name)], recipe_of(p, name)) for p in drawn]
        add(f"families of {name}, neighbours", pairs(families))
    add("joint recipes", chi_square([joint(problem) for problem in drawn], joint_chances(offered)))
    add("first dim, neighbours", pairs([problem.dims[-1][1] for problem in drawn]))
    add("work, lag 1", lag([math.log2(1 + sizes.work(contract, dict(problem.dims))) for problem in drawn]))
    add("a drawn element", kolmogorov(first_elements(drawn, seed)))
    return done


def shape_chances(contract: Contract) -> Mapping[Hashable, float] | None:
    """The chance of each combination of sizes, counted over the whole menu; None where there are too many."""
    menus = sizes.menus(contract)
    if math.prod(map(len, menus.values())) > MOST_SHAPES:
        return None
    empty = [dim.name for dim in contract.dims if dim.minimum == 0]
    found: Counter[Hashable] = Counter()
    each = 1 / math.prod(map(len, menus.values()))
    for combination in itertools.product(*menus.values()):
        dims = sizes.within(contract, dict(zip(menus, combination, strict=True)), sizes.BUDGET)
        found[tuple(sorted(dims.items()))] += each * (1 - 1 / EMPTY_ONE_IN if empty else 1)
        for name in empty:
            found[tuple(sorted((dims | {name: 0}).items()))] += each / EMPTY_ONE_IN / len(empty)
    return found


def recipe_of(problem: Problem, name: str) -> Hashable:
    return next(recipe for recipe in problem.recipes if name in recipe.fills)


def families_of(menu: Mapping[str, Sequence[Hashable]], recipe: Hashable) -> str:
    """The first family that has the recipe; joint ones are one class."""
    return next((family for family, recipes in menu.items() if recipe in recipes), "joint")


def joint(problem: Problem) -> bool:
    return any(len(recipe.fills) > 1 for recipe in problem.recipes)


def joint_chances(offered: Choices) -> Mapping[Hashable, float]:
    share = offered.ways.count(Way.JOINT) / len(offered.ways)
    return {True: share, False: 1 - share}


def first_elements(drawn: Sequence[Problem], seed: int) -> Sequence[float]:
    """The first uniform number of each problem's stream, as trial `index` of a campaign draws it."""
    return [stream(problem.draw_id, seed, index, 0).random() for index, problem in enumerate(drawn)]


def chi_square(seen: Sequence[Hashable], expected: Mapping[Hashable, float]) -> tuple[str, float] | None:
    """Goodness of fit; what is not among the expected has probability 0. None for a single cell."""
    counts = Counter(seen)
    if strangers := counts.keys() - expected.keys():
        return f"{len(strangers)} values of chance 0", 0.0
    likely = sorted((value for value in expected if expected[value] > 0), key=expected.__getitem__)
    cells = [(expected[value] * len(seen), counts[value]) for value in likely]  # in an order that ignores the counts
    merged: list[list[float]] = [[0.0, 0.0]]
    for wanted, got in cells:
        if merged[-1][0] >= LEAST_EXPECTED:
            merged.append([0.0, 0.0])
        merged[-1][0] += wanted
        merged[-1][1] += got
    if merged[-1][0] < LEAST_EXPECTED and len(merged) > 1:
        last = merged.pop()
        merged[-1] = [a + b for a, b in zip(merged[-1], last, strict=True)]
    if len(merged) < 2:
        return None
    wanted, got = np.array(merged).T
    found = stats.chisquare(got, wanted * (got.sum() / wanted.sum()))
    return f"chi2({len(merged) - 1}) = {found.statistic:.1f}", float(found.pvalue)


def pairs(seen: Sequence[Hashable]) -> tuple[str, float] | None:
    """Independence of consecutive values, on pairs that share none; rare values are one class."""
    common = [value for value, count in Counter(seen).items() if count**2 / len(seen) / 2 >= LEAST_EXPECTED]
    number = {value: place for place, value in enumerate(common)}
    codes = [number.get(value, len(common)) for value in seen]
    table = np.zeros((len(common) + 1,) * 2)
    np.add.at(table, (codes[0 : len(codes) // 2 * 2 : 2], codes[1::2]), 1)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if min(table.shape) < 2:
        return None
    found = stats.chi2_contingency(table, correction=False)
    return f"chi2({found.dof}) = {found.statistic:.1f}", float(found.pvalue)


def lag(seen: Sequence[float]) -> tuple[str, float] | None:
    """Correlation of consecutive values."""
    if len(set(seen)) < 2:
        return None
    found = stats.pearsonr(seen[1:], seen[:-1])
    return f"r = {found.statistic:+.4f}", float(found.pvalue)


def kolmogorov(seen: Sequence[float]) -> tuple[str, float]:
    """Uniformity of a continuous quantity on [0, 1)."""
    found = stats.kstest(seen, "uniform")
    return f"D = {found.statistic:.4f}", float(found.pvalue)


def holm(done: Sequence[Check]) -> float:
    """The least p-value, corrected for having looked at all of them (Holm, Scand. J. Statist. 6 (1979) 65)."""
    return min(1.0, len(done) * min(check.p for check in done))


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=20_000, help="problems of each operator")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    say(f"{cpu()}; {versions()}; {POPULATION}, {STREAM}; {asked.draws} draws an operator, seed {asked.seed}")
    done: list[Check] = []
    for operator in OPERATORS_CHECKED:
        for check in checks(operator, asked.seed, asked.draws):
            say(f"{check.operator:12} {check.what:34} {check.statistic:26} p = {check.p:.4f}")
            done.append(check)
    least = holm(done)
    say(f"{len(done)} checks; least p-value after Holm's correction {least:.3f} (wanted >= {LEVEL})")
    return 0 if least >= LEVEL else 1


if __name__ == "__main__":
    sys.exit(main())
