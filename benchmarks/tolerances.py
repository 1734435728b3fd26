"""Whether recommended tolerances keep their flake rate on fresh trials, and on laws whose tails are known.

    python benchmarks/tolerances.py [--trials 1500] [--fresh 4000] [--repetitions 200]

For each case a campaign of `--trials` trials recommends a pair for a flake rate of 1e-2 and of 1e-3, which has to
be extrapolated. Then every target runs `--fresh` trials of another seed, and `numpy.allclose` compares each output
with the truth element by element. A pair is missed where the failures exclude the flake rate (exact one-sided test at
0.1 %). The simulated laws are those of tolerances_simulated.py: the share of campaigns whose pair keeps the flake rate
must be 95 % less three standard errors. Exit code 1 where anything is missed.
"""

# ruff: noqa: E402

from __future__ import annotations

from fuzz.threads import limit_threads

limit_threads()

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tolerances_simulated import LAWS, Kept, kept

from fuzz.operators import OPERATORS
from fuzz.surroundings import Arithmetic
from fuzz.targets import Target, parse_target
from fuzz.trial import Cell, Session, run_trial
from results.manifest import FORMAT
from results.reading import open as open_results
from results.statistics.proportions import one_sided_lower, one_sided_upper
from results.store import Store
from results.tolerance.advice import Advice, tolerances
from strategies import make_problem, parse_recipe
from strategies.sampling import draw

CASES: Mapping[str, Mapping[str, int]] = {
    "batch_norm": {"N": 2, "C": 32, "H": 28, "W": 28},
    "sum": {"rows": 1, "n": 1000},
    "softmax": {"rows": 8, "n": 64},
    "matmul": {"M": 4, "K": 20, "N": 4},
    "exp": {"n": 1000},
    "layer_norm": {"rows": 8, "n": 64},
}
TARGETS = ("numpy", "torch")
FLAKES = (1e-2, 1e-3)
CAMPAIGN, FRESH = 11, 12
"""Seeds."""
SETTINGS = ((1000, 1e-2), (3100, 1e-3), (1000, 1e-6), (5000, 1e-6))
"""Trials and flake rate of the simulated campaigns: the first two are counted, the others extrapolated."""
SURE = 0.999
"""Confidence with which a flake rate counts as exceeded: twelve pairs are tested."""


@dataclass(frozen=True)
class Case:
    """A pair recommended by one campaign, and its failures on fresh trials."""

    operator: str
    flake: float
    advice: Advice
    fails: int
    fresh: int

    @property
    def met(self) -> bool:
        """Whether the promise was made, and the fresh trials do not refute it."""
        return self.advice.kept and one_sided_lower(self.fails, self.fresh, SURE) <= self.flake

    def row(self) -> list[str]:
        pair = self.advice.pair
        if pair is None:
            return [self.operator, f"{self.flake:g}", "-", "-", "-", self.advice.why, "-", "-", "missed"]
        return [
            self.operator,
            f"{self.flake:g}",
            f"{pair.rtol:.2g}",
            f"{pair.eps:g}",
            f"{pair.atol:.2g}",
            pair.level.basis,
            f"{self.fails} of {self.fresh:,}",
            f"{one_sided_upper(self.fails, self.fresh):.2g}",
            "met" if self.met else "missed",
        ]


class Bench:
    """One problem and its targets in this process."""

    def __init__(self, operator: str, dims: Mapping[str, int], targets: Sequence[str]) -> None:
        contract = OPERATORS[operator].contract
        recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
        self.problem = make_problem(contract, dims=dims, home="float32", recipes=recipes, attributes=None)
        self.targets: list[Target] = [parse_target(name, "float32") for name in targets]
        self.session = Session("benchmark")

    def campaign(self, folder: Path, trials: int) -> Path:
        """A campaign directory with the rows of so many trials."""
        cell = Cell(self.problem, tuple(self.targets))
        rows = [row for i in range(trials) for row in run_trial(cell, CAMPAIGN, i, self.session).rows]
        folder.mkdir()
        (folder / "campaign.json").write_text(json.dumps({"format": FORMAT, "plan": "fixed"}))
        Store(folder).commit(0, rows)
        return folder

    def failures(self, pairs: Sequence[tuple[float, float]], fresh: int) -> list[int]:
        """Fresh trials in which `numpy.allclose` fails for some target, for each pair (rtol, atol)."""
        bench = self.session.workbench.bench(self.problem)
        rung = bench.rung("float32")
        failed = [0] * len(pairs)
        for index in range(fresh):
            draw(self.problem, bench.contract, FRESH, index, rung.arena.arrays)
            truth = rung.refresh().outputs[0].value
            with Arithmetic():
                outputs = [bench.prepared(target).call()[0].copy() for target in self.targets]
            for number, (rtol, atol) in enumerate(pairs):
                failed[number] += not all(np.allclose(output, truth, rtol=rtol, atol=atol) for output in outputs)
        return failed


def case(
    operator: str, dims: Mapping[str, int], trials: int, fresh: int, targets: Sequence[str] = TARGETS
) -> list[Case]:
    """Recommend at every flake rate, and count failures."""
    bench = Bench(operator, dims, targets)
    with tempfile.TemporaryDirectory(prefix="ulpfuzz-tolerances-") as name:
        results = open_results(bench.campaign(Path(name) / "campaign", trials))
        advice = [tolerances(results, flake).advice[0] for flake in FLAKES]
    pairs = [(one.pair.rtol, one.pair.atol) if one.pair else (0.0, 0.0) for one in advice]
    failed = bench.failures(pairs, fresh)
    return [Case(operator, flake, one, k, fresh) for flake, one, k in zip(FLAKES, advice, failed, strict=True)]


def _print(row: Sequence[str]) -> None:
    """A row of a Markdown table; headings end with an empty cell and have a line below them."""
    print("| " + " | ".join(row) + " |", flush=True)
    if not row[-1]:
        print("|---" * len(row) + "|", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1500)
    parser.add_argument("--fresh", type=int, default=4000)
    parser.add_argument("--repetitions", type=int, default=200)
    asked = parser.parse_args()
    met = True
    _print(("operator", "flake", "rtol", "= eps", "atol", "how", "fresh failures", "95 % upper bound", ""))
    for name, dims in CASES.items():
        for one in case(name, dims, asked.trials, asked.fresh):
            _print(one.row())
            met &= one.met
    print()
    _print(("law", "trials", "flake", "how", "pairs that keep the flake rate", "wanted", ""))
    for law in LAWS:
        for setting in SETTINGS:
            found: Kept = kept(law, *setting, asked.repetitions)
            _print(found.row())
            met &= found.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
