"""Memory of one worker that runs every operator on every backend: what it holds at most, and where it grows.

    python benchmarks/memory.py [--dtypes float32,float64,float16,bfloat16] [--trials 2] [--operators gelu,conv2d]

The problems are those of `ulpfuzz run all --recipes standard`, the ladder runs on the first trial of each. Prints the
resident memory after every tenth operator and its peak, and how much preparing and calling the kernels of each backend
added. Wanted: at most 1 GB. Exit code 1 if it is more. Linux only.
"""

# ruff: noqa: E402

from __future__ import annotations

from fuzz.threads import limit_threads

limit_threads()

import argparse
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz import workbench
from fuzz.allocator import keep_freed_blocks
from fuzz.backends import BACKENDS
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.operators import OPERATORS
from fuzz.trial import Session, run_trial
from strategies.precision import PRECISIONS

LIMIT = 1024.0
"""MB."""
EVERY = 10
"""Operators from one line to the next."""


def resident() -> float:
    """MB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def peak() -> float:
    """MB of this process at most."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def grown(by: Counter[str], stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of a Prepared, its growth of the resident memory booked under its target's backend."""

    def booked(prepared: Any, *arguments: Any) -> Any:
        before = resident()
        try:
            return function(prepared, *arguments)
        finally:
            by[f"{stage} {prepared.target.backend}"] += round(1024 * (resident() - before))

    return booked


def campaign(dtypes: tuple[str, ...], operators: tuple[str, ...], trials: int, sender: Any) -> None:
    """Run it, print its growth, and send its peak."""
    keep_freed_blocks()
    for backend in BACKENDS.values():
        if backend.missing() is None:
            backend.warm_up()
    print(f"libraries loaded: {resident():.0f} MB", flush=True)
    by: Counter[str] = Counter()
    prepared: Any = workbench.Prepared
    prepared.__init__ = grown(by, "preparing", prepared.__init__)
    prepared.call = grown(by, "calling", prepared.call)
    session = Session("memory")
    problems = tuple(ProblemSpec(name) for name in operators)
    cells = resolve(CampaignSpec(problems=problems, recipes="standard", dtypes=dtypes)).cells
    done: dict[str, None] = {}
    for cell in cells:
        if cell.problem.operator not in done and done and len(done) % EVERY == 0:
            print(f"{len(done)} operators: {resident():.0f} MB, at most {peak():.0f} MB", flush=True)
        done[cell.problem.operator] = None
        for index in range(trials):
            run_trial(cell, 0, index, session, ladder=index == 0)
    print(f"{len(done)} operators: {resident():.0f} MB; grown in: ", end="")
    print(", ".join(f"{stage} {kilobytes / 1024:.0f} MB" for stage, kilobytes in by.most_common() if kilobytes > 1024))
    sender.send(peak())


def measure(dtypes: tuple[str, ...], operators: tuple[str, ...], trials: int) -> float:
    """MB at most, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=campaign, args=(dtypes, operators, trials, sender))
    process.start()
    sender.close()
    try:
        return float(receiver.recv())
    except EOFError:
        raise SystemExit("the process that runs every operator failed, see above") from None
    finally:
        process.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtypes", default=",".join(PRECISIONS), help="comma-separated")
    parser.add_argument("--operators", default=",".join(OPERATORS), help="comma-separated")
    parser.add_argument("--trials", type=int, default=2, help="of each problem (default 2)")
    arguments = parser.parse_args()
    most = measure(tuple(arguments.dtypes.split(",")), tuple(arguments.operators.split(",")), arguments.trials)
    print(f"peak: {most:.0f} MB (wanted <= {LIMIT:.0f})")
    return 0 if most <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
