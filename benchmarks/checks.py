"""Checks of pairs of functions: what healthy ones use up of the bound, and which planted faults are found.

    python benchmarks/checks.py [--trials 40] [--only NAME,...]

Every pair is checked as a user would (`fuzz.check`, in this process). Prints a line for each: verdict, largest rho, and
largest rho of healthy functions whose truth is another function's float64 results, from which OPERATIONS, SPREAD and
SAMPLES of fuzz/oracle/opaque.py are derived. Exit code 1 where a healthy pair is accused or a planted fault is not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pairs_of_functions

import fuzz
from fuzz.checking.result import Result
from results.verdicts import VERDICTS

TRIALS = 40


@dataclass(frozen=True)
class Outcome:
    """What a check of one pair said."""

    name: str
    planted: bool
    result: Result

    @property
    def accused(self) -> bool:
        return VERDICTS[self.result.verdict].finding

    @property
    def right(self) -> bool:
        return self.accused == self.planted or (self.accused and self.name in pairs_of_functions.PROVEN)

    @property
    def opaque(self) -> bool:
        """Whether the truth is another function's float64 results."""
        return self.result.known_by.startswith("float64 of")

    @property
    def rho(self) -> float:
        return max((line.rho_max or 0.0 for line in self.result.lines), default=0.0)


def checked(pair: pairs_of_functions.Pair, trials: int, out: Path, dtype: str | None = None) -> Outcome:
    """Check one pair in this process."""
    functions = [_kept(function) for function in pair.functions]
    asked = {"inputs": pair.inputs, "trials": trials, "dtype": dtype or pair.dtype, "shrink": 0.0}
    return Outcome(pair.name, pair.planted, fuzz.check(*functions, out=out, **asked))


def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which cannot leave this process: starting others would take most of the time."""
    return pairs_of_functions.kept(function)


def outcomes(trials: int, only: set[str]) -> Iterator[Outcome]:
    for pair in pairs_of_functions.PAIRS:
        if not only or any(pair.name.startswith(name) for name in only):
            for dtype in [pair.dtype] if pair.planted else ["float32", "float64"]:
                with tempfile.TemporaryDirectory() as folder:
                    yield checked(pair, trials, Path(folder) / "c", dtype)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    bad, largest, healthy, planted = 0, 0.0, 0, 0
    print("| pair | dtype | verdict | largest rho | truth |\n|---|---|---|---|---|")
    for outcome in outcomes(options.trials, set(filter(None, options.only.split(",")))):
        r = outcome.result
        kind = "results" if outcome.opaque else "formula"
        why = pairs_of_functions.PROVEN.get(outcome.name, "") if outcome.accused else ""
        flag = (
            f" ({why})"
            if why
            else ""
            if outcome.right
            else (" **missed**" if outcome.planted else f" **accused**: {r.sentence}")
        )
        print(f"| {outcome.name} | {r.dtype} | {r.verdict}{flag} | {outcome.rho:.3g} | {kind} |", flush=True)
        bad += not outcome.right
        healthy += not outcome.planted
        planted += outcome.planted
        if not outcome.planted and not outcome.accused and outcome.opaque:
            largest = max(largest, outcome.rho)
    print(f"\n{healthy} healthy checks, {planted} planted faults, {bad} wrong answers")
    print(f"largest rho of a healthy one against results of another: {largest:.3g}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
