"""What TVM miscompiles, found by campaigns of random unsafe schedules."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct

import results
from fuzz.backends.tvm_schedules import scheduled
from fuzz.campaigns.manifest import manifest_from_plain
from fuzz.operators import operator
from fuzz.targets import Target

SEARCHED: Mapping[str, str] = {"sum": "rows=13,n=37", "matmul": "M=13,K=37,N=11", "argmax": "rows=5,n=19"}
MEMORY = ("out_of_bounds_write", "crashed")
VALUES = ("nonfinite_mismatch", "wrong", "unstable", "indeterminate")


class Found(Struct, frozen=True):
    """A miscompiled schedule."""

    number: int
    """How many schedules of this operator had been run with it."""
    operator: str
    verdict: str
    target: str
    primitives: tuple[str, ...]

    def line(self) -> str:
        return f"{self.number} | {self.operator} | {self.verdict} | `{self.target}` | {'; '.join(self.primitives)}"


def _has(found: Found, word: str) -> bool:
    return any(word in line.split() for line in found.primitives)


KINDS: Mapping[str, Callable[[Found], bool]] = {
    "a guard is lost: rfactor after a split": lambda f: (
        f.verdict in MEMORY and _has(f, "rfactor") and not _has(f, "unguarded")
    ),
    "lanes without terms are never set": lambda f: (
        f.verdict in VALUES and _has(f, "rfactor") and not _has(f, "unguarded")
    ),
    "a split leaves out its guard": lambda f: f.verdict in MEMORY and _has(f, "unguarded") and not _has(f, "rfactor"),
    "lanes share one accumulator": lambda f: (
        f.verdict in VALUES and _has(f, "vectorize") and not _has(f, "rfactor") and not _has(f, "unguarded")
    ),
}
"""What is known to go wrong, told by what the engine saw and by the primitives. The search knows nothing of it."""


BATCH = 10
"""Schedules a campaign: after each death the trial runs again, with all that are still to come."""


def search(number: int, seed: int = 0) -> dict[str, Found | None]:
    """The first schedule of each kind, in campaigns of all operators in turn, until none is missing.

    Gives up after `number` schedules of each operator.
    """
    found: dict[str, Found | None] = dict.fromkeys(KINDS)
    for batch in range(-(-number // BATCH)):
        for name in SEARCHED:
            for one in accused(name, BATCH, seed + batch, batch * BATCH):
                for kind, fits in KINDS.items():
                    if found[kind] is None and fits(one):
                        found[kind] = one
        if all(found.values()):
            break
    return found


def accused(name: str, number: int, seed: int = 0, before: int = 0) -> list[Found]:
    """All schedules of one operator whose trial failed, in the order in which they were drawn.

    `before` schedules have been run already.
    """
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder, "run")
        command = [sys.executable, "-m", "fuzz.cli", "run", name, "--dims", SEARCHED[name], "--targets", "tvm"]
        command += ["--unsafe-schedules", str(number), "--trials", "1", "--seed", str(seed), "--out", str(directory)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode not in (0, 1):
            raise RuntimeError(ran.stderr)
        campaign = results.open(directory)
        (cell,) = manifest_from_plain(campaign.manifests[0]).cells
        verdicts = {str(row["target"]): str(row["verdict"]) for row in campaign.rows().to_pylist()}
    made = cell.cell()
    found = []
    for position, target in enumerate(made.targets[1:], start=1):
        verdict = verdicts[target.spelling(made.problem.home)]
        if verdict in (*MEMORY, *VALUES):
            text = target.spelling(made.problem.home)
            found.append(
                Found(before + position, name, verdict, text, _primitives(target, name, dict(made.problem.dims)))
            )
    return found


def _primitives(target: Target, name: str, dims: Mapping[str, int]) -> tuple[str, ...]:
    contract = operator(name).contract
    arrays = [np.zeros(shape, target.dtype) for shape in contract.shapes(dict(dims)).values()]
    attributes = {key: spec.default for key, spec in contract.attributes}
    function = target.implementation(name).function(*arrays, **attributes)
    return scheduled(function, dict(target.options)["unsafe_schedule"], unsafe=True).primitives
