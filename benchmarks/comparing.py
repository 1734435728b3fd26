"""Whether `ulpfuzz compare` keeps its word: simulated on the rows of a real campaign, through the functions it calls.

    python benchmarks/comparing.py [--repetitions 200] [--trials 20000] [--campaign DIR]

A few minutes, of which the campaign takes two (torch and numpy on batch_norm, 2 x 32 x 28 x 28 float32); `--campaign`
takes one that is there. Then three questions:

* level: two campaigns with different seeds, drawn as disjoint random sets of its trials. How often is anything called
  different? At most 0.05 of the time. The same for two campaigns on the same trials.
* power: the rate above 1e-1 of torch doubled in the second one, both with the number of trials that `plan` says for a
  comparison of that many tests. How often is it called larger? 0.8 of the time.
* bits: one seed run twice. Is it reported bitwise identical?

The exit code is 1 when a figure lies more than three standard errors of simulation outside its bound.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from coverage_lines import Line, share

import results
from results.comparison.design import Plans
from results.comparison.lines import Line as Compared
from results.comparison.lines import adjust, lines_of
from results.comparison.pairing import TargetPair
from results.comparison.plans import to_tell
from results.comparison.trials import Trials, read_trials

OPERATOR, DTYPE, DAMAGED, EVENT = "batch_norm", "float32", "torch:cpu", "above 1e-1"
S0 = ["--dims", "N=2,C=32,H=28,W=28", "--input", "var=abs(normal(1,1))"]
for _name in ("x", "mean", "gamma", "beta"):
    S0 += ["--input", f"{_name}=normal(0,1)"]
PLANS = Plans("fixed")
POWER = 0.8


def draw(every: Mapping[str, Trials], trials: int, rng: np.random.Generator) -> tuple[dict[str, Trials], ...]:
    """Two campaigns of so many trials each, the same ones for all targets of a campaign and none in both."""
    total = min(len(found) for found in every.values())
    if 2 * trials > total:
        raise SystemExit(f"{total:,} trials are too few for two campaigns of {trials:,}: give --trials {2 * trials}")
    order = rng.permutation(total)
    sides = order[:trials], order[trials : 2 * trials]
    return tuple({target: found.at(side) for target, found in every.items()} for side in sides)


def raised(trials: Trials, rate: float, rng: np.random.Generator) -> Trials:
    """The same trials, in so large a share of which, besides those that have it, a relative error is above 1e-1."""
    hit = (rng.random(len(trials)) < rate) & trials.known(EVENT)
    larger = {name: np.where(hit, 1, trials.events[name]).astype(np.int8) for name in (EVENT, "above 1e-2")}
    return Trials(trials.keys, trials.problems, trials.events | larger, trials.rho, trials.inputs, trials.bits)


def compared(sides: tuple[dict[str, Trials], ...]) -> tuple[tuple[Compared, ...], int]:
    """The lines of `ulpfuzz compare` for two drawn campaigns, and its number of tests."""
    first, second = sides
    found = [
        line
        for target in first
        for line in lines_of(TargetPair(OPERATOR, DTYPE, target, target), first[target], second[target], PLANS)
    ]
    return adjust(found)


def level(every: Mapping[str, Trials], trials: int, repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    """How often anything is called different where nothing is, and how often it would be without adjusting."""
    called, unadjusted = [], []
    for _ in range(repetitions):
        lines, _ = compared(draw(every, trials, rng))
        changes = [change for line in lines for change in line.changes]
        called.append(any(change.differs for change in changes))
        unadjusted.append(any(change.p is not None and change.p < 0.05 for change in changes))
    case = f"{trials:,} trials a side, {len(every)} targets"
    yield share("compare", case, "false alarms", called, 0, 0.05)
    yield share("p < 0.05 unadjusted", case, "false alarms", unadjusted, contrast=True)


def exchanged(every: Mapping[str, Trials], trials: int, repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    """The same for shared trials: what two targets did in each trial, given to either side by the toss of a coin."""
    one, other = list(every.values())[:2]
    called = []
    for _ in range(repetitions):
        chosen, coin = rng.permutation(len(one))[:trials], rng.random(trials) < 0.5
        first, second = one.at(chosen), other.at(chosen)
        lines, _ = compared(({"torch:cpu": _either(coin, first, second)}, {"torch:cpu": _either(coin, second, first)}))
        called.append(any(change.differs for line in lines for change in line.changes))
    yield share("compare", f"{trials:,} shared trials, exchanged at random", "false alarms", called, 0, 0.05)


def _either(coin: npt.NDArray[np.bool_], heads: Trials, tails: Trials) -> Trials:
    """Trial by trial, that of one or of the other."""
    events = {name: np.where(coin, marks, tails.events[name]) for name, marks in heads.events.items()}
    rho, bits = np.where(coin, heads.rho, tails.rho), np.where(coin, heads.bits, tails.bits)
    return Trials(heads.keys, heads.problems, events, rho, heads.inputs, bits)


def power(every: Mapping[str, Trials], repetitions: int, rng: np.random.Generator) -> Iterator[Line]:
    """How often a doubled rate is called larger with the planned number of trials."""
    damaged = every[DAMAGED]
    rate = float((damaged.events[EVENT] > 0).mean())
    _, tests = compared(draw(every, min(len(found) for found in every.values()) // 2, rng))
    planned = to_tell(rate, 2 * rate, POWER, tests)
    assert planned.trials is not None
    called = []
    for _ in range(repetitions):
        first, second = draw(every, planned.trials, rng)
        # A trial that has it keeps it: rate/(1 - rate) of the others makes twice the rate.
        lines, _ = compared((first, second | {DAMAGED: raised(second[DAMAGED], rate / (1 - rate), rng)}))
        (change,) = [c for line in lines if line.pair.first == DAMAGED for c in line.rates if c.event == EVENT]
        called.append(change.differs and change.worse)
    case = f"rate {rate:.4f} doubled, {planned.trials:,} trials a side planned for {tests} tests"
    # The plan holds for the worst case, Bonferroni: where chance helps another test, a few more are called.
    yield share("compare", case, "power", called, POWER, 0.85)


def bits(folder: Path) -> Iterator[Line]:
    """Whether two runs of one seed are reported as what they are."""
    for name in ("once", "twice"):
        _run(folder / name, 40, seed=3)
    command = [sys.executable, "-m", "fuzz.cli", "compare", str(folder / "once"), str(folder / "twice")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    said = ran.returncode == 0 and ran.stdout.startswith("Bitwise identical: all 80 outputs of 80 shared trials")
    yield Line("compare", "40 trials of one seed, run twice", "reported bitwise identical", float(said), 1, 1.0)


def _run(out: Path, trials: int, seed: int) -> None:
    command = [sys.executable, "-m", "fuzz.cli", "run", OPERATOR, *S0, "--targets", "torch,numpy", "--no-shrink"]
    subprocess.run([*command, "--trials", str(trials), "--seed", str(seed), "--out", str(out)], check=True, stdout=-3)


def table(lines: list[Line]) -> str:
    """As plain text."""
    rows = [("", "simulated", "measure", "figure", "bound", "")]
    for line in lines:
        name = f"(not so: {line.function})" if line.contrast else line.function
        verdict = "" if line.contrast else "kept" if line.kept else "MISSED"
        rows.append((name, line.case, line.measure, f"{line.figure:.3f}", line.bound, verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--trials", type=int, default=20_000, help="of the campaign that is drawn from")
    parser.add_argument(
        "--campaign", type=Path, help="a campaign with torch:cpu and more targets, instead of a new one"
    )
    options = parser.parse_args()
    rng = np.random.default_rng(2026)
    with tempfile.TemporaryDirectory() as folder:
        place = options.campaign or Path(folder) / "campaign"
        if options.campaign is None:
            _run(place, options.trials, seed=5)
        every = read_trials(results.open(place), OPERATOR, DTYPE)
        lines = [
            *level(every, 5000, options.repetitions, rng),
            *exchanged(every, 5000, options.repetitions, rng),
            *power(every, options.repetitions, rng),
            *bits(Path(folder)),
        ]
    print(table(lines))
    missed = sum(not line.kept for line in lines)
    print(f"\n{options.repetitions} repetitions; bounds may be missed by three standard errors; {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
