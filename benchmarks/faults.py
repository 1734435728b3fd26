"""Foreign code that misbehaves: does the campaign survive it, name it on exactly its trials, and keep all other rows?

    python benchmarks/faults.py [--each 2] [--kinds busy,stack] [--short]

Runs two campaigns of the same plan with two workers, one in which every kind of benchmarks/misbehaving.py misbehaves on
`--each` trials of each of three problems, and one in which nothing does. Prints a table; exit code 1 if a verdict is
not the one due, or if any other row differs (timings apart), is lost or comes twice. `--short`: one problem, one fault
of each kind.
"""

# ruff: noqa: E402

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fuzz.workers.supervisor import limit_threads

limit_threads()

import misbehaving
import numpy as np

import results
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.operators import operator
from results.columns import KEY, TIMINGS
from strategies.problem import Problem
from strategies.sampling import draw

PROBLEMS = (("sum", {"rows": 16, "n": 8}), ("exp", {"n": 48}), ("add", {"n": 16}))
SEED, WORKERS, SHARD_TRIALS = 0, 2, 8
CALL_SECONDS, MEMORY_MIB = 4.0, 300
"""Short, but long enough for an innocent call on a busy machine."""
Key = tuple[Any, ...]
Place = tuple[str, str, int]
"""(backend, problem, index)."""


class Fault(NamedTuple):
    """One planted fault and the row it left."""

    place: Place
    verdict: str
    detail: str
    is_right: bool


class Outcome(NamedTuple):
    """What the two campaigns showed."""

    faults: list[Fault]
    rows: int
    strays: list[Key]
    """Keys of rows that differ from the clean campaign's although nothing was planted there."""
    lost: int
    twice: int
    seconds: float
    messages: str

    @property
    def passed(self) -> bool:
        return not (self.strays or self.lost or self.twice) and all(fault.is_right for fault in self.faults)


def plan(
    problems: Sequence[Problem], trials: int, each: int, kinds: Sequence[str]
) -> tuple[dict[str, list[int]], list[Place]]:
    """Which inputs set off which backend: `each` trials of every problem, drawn at random."""
    sums: dict[str, list[int]] = {name: [] for name in kinds}
    places: list[Place] = []
    for problem in problems:
        contract = operator(problem.operator).contract
        shapes = contract.shapes(dict(problem.dims))
        arrays = {spec.name: np.empty(shapes[spec.name], np.float32) for spec in contract.inputs}
        first = []
        for index in range(trials):
            draw(problem, contract, SEED, index, arrays)
            first.append(misbehaving.checksum(arrays[contract.inputs[0].name]))
        for name in kinds:
            for index in sorted(random.Random(f"{name} {problem.id}").sample(range(trials), each)):
                sums[name].append(first[index])
                places.append((name, problem.id, index))
    return sums, places


def campaign(
    folder: Path, spec: Sequence[tuple[str, dict[str, int]]], trials: int, kinds: Sequence[str], plan: Path | None
) -> str:
    """Run one campaign through the command line; what it said."""
    tables = "\n".join(
        f'[[problem]]\noperator = "{name}"\ndims = {{{", ".join(f"{k} = {v}" for k, v in dims.items())}}}\n'
        for name, dims in spec
    )
    targets = ["numpy", "numpy[dtype=float64]", *kinds]
    file = folder.with_suffix(".toml")
    file.write_text(
        f'trials = {trials}\ntargets = {json.dumps(targets)}\npairs = [["numpy", "numpy[dtype=float64]"]]\n{tables}'
    )
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "fuzz.cli", "run", file, "--out", folder, "--workers", str(WORKERS)),
            *("--extension", Path(misbehaving.__file__), "--shard-trials", str(SHARD_TRIALS)),
            *("--call-timeout", str(CALL_SECONDS), "--memory", str(MEMORY_MIB)),
        ],
        env=os.environ | {"MISBEHAVING": str(plan or ""), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode not in (0, 1):
        raise SystemExit(f"the campaign ended with exit code {ran.returncode}: {ran.stderr.splitlines()[-1:]}")
    return ran.stderr


def rows_of(folder: Path) -> tuple[dict[Key, dict[str, Any]], int]:
    """Rows by key without timings, and how many keys come twice."""
    listed = results.open(folder).rows().to_pylist()
    found = {
        tuple(row[name] for name in KEY): {name: value for name, value in row.items() if name not in TIMINGS}
        for row in listed
    }
    return found, len(listed) - len(found)


def run(
    folder: Path, spec: Sequence[tuple[str, dict[str, int]]], trials: int, each: int, kinds: Sequence[str]
) -> Outcome:
    """Both campaigns, compared."""
    problems = tuple(ProblemSpec(name, dims) for name, dims in spec)
    cells = resolve(CampaignSpec(problems=problems, targets=("numpy",))).cells
    sums, places = plan([cell.problem for cell in cells], trials, each, kinds)
    file = folder / "plan.json"
    file.write_text(json.dumps(sums))
    campaign(folder / "clean", spec, trials, kinds, None)
    start = time.monotonic()
    messages = campaign(folder / "faulty", spec, trials, kinds, file)
    seconds = time.monotonic() - start
    clean, _ = rows_of(folder / "clean")
    faulty, twice = rows_of(folder / "faulty")
    by_place: dict[Place, list[Key]] = {}
    for key, row in clean.items():
        by_place.setdefault((row["backend"], row["problem_id"], row["index"]), []).append(key)
    faults, planted = [], set()
    for place in places:
        due = misbehaving.KINDS[place[0]].verdict
        (key,) = by_place[place]
        planted.add(key)
        row = faulty.get(key, {"verdict": "lost", "detail": ""})
        is_right = row["verdict"] == due if due else repr(row) == repr(clean[key])
        faults.append(Fault(place, row["verdict"], row["detail"] or "", is_right))
    strays = [key for key in clean if key not in planted and repr(faulty.get(key)) != repr(clean[key])]
    return Outcome(faults, len(faulty), strays, len(clean.keys() ^ faulty.keys()), twice, seconds, messages)


def table(outcome: Outcome, kinds: Sequence[str]) -> str:
    """A line for each kind."""
    lines = [f"{'kind':14}{'faults':>7}{'right':>7}  {'verdict due':20}detail of one"]
    for name in kinds:
        faults = [fault for fault in outcome.faults if fault.place[0] == name]
        wrong = [fault for fault in faults if not fault.is_right]
        example = (wrong or faults)[0]
        due = misbehaving.KINDS[name].verdict or "none"
        seen = f"WRONG: {dict(Counter(f.verdict for f in wrong))} " if wrong else ""
        lines.append(
            f"{name:14}{len(faults):7}{len(faults) - len(wrong):7}  {due:20}{seen}{example.detail[:90]}".rstrip()
        )
    replaced = [line for line in outcome.messages.splitlines() if "replaced" in line]
    lines += [
        "",
        f"{len(outcome.faults)} faults of {len(kinds)} kinds, {WORKERS} workers, {outcome.seconds:.0f} s; "
        f"{replaced[-1] if replaced else 'no worker was replaced'}",
        f"{sum(f.is_right for f in outcome.faults)} named right; {outcome.rows:,} rows, {outcome.lost} lost or "
        f"too many, "
        f"{outcome.twice} twice, {len(outcome.strays)} others differ from the clean campaign's",
    ]
    lines += [f"STRAY: {key}" for key in outcome.strays[:20]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=2, help="faults of each kind in each problem (default 2)")
    parser.add_argument("--kinds", default="", help="comma-separated (default all)")
    parser.add_argument("--short", action="store_true", help="one problem, one fault of each kind")
    arguments = parser.parse_args()
    kinds = [name for name in arguments.kinds.split(",") if name] or list(misbehaving.KINDS)
    spec, each, trials = (PROBLEMS[:1], 1, 2 * SHARD_TRIALS) if arguments.short else (PROBLEMS, arguments.each, 24)
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(Path(folder), spec, trials, each, kinds)
    print(table(outcome, kinds))
    return 0 if outcome.passed else 1


if __name__ == "__main__":
    sys.exit(main())
