"""What a complete float32 table of a function costs, from some of its blocks.

    python benchmarks/exhaustive.py [--operators exp,tanh,erf] [--blocks 256] [--dtype float32]

The blocks are the first ones of an exhaustive plan, which spread over the whole format, on every installed backend, in
a process for each function. (With few blocks, those with subnormal numbers count too much.) Prints CPU seconds, so that
other work on the machine matters little: for 2^24 numbers, and the minutes in which two free cores do all of them.
Compiling comes first and does not count; nor do the supervisor and the writing, some 5 %. Wanted: 40 minutes at most.
Exit code 1 if a function takes longer.
"""

# ruff: noqa: E402

from __future__ import annotations

from fuzz.threads import limit_threads

limit_threads()

import argparse
import multiprocessing
import resource
import sys
import time
from typing import Any

from msgspec import Struct

from fuzz.allocator import keep_freed_blocks
from fuzz.backends import BACKENDS
from fuzz.campaigns import exhaustive
from fuzz.campaigns.agenda import Agenda
from fuzz.campaigns.manifest import manifest_of
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.trial import Session, run_trial
from strategies.patterns import patterns

MINUTES = 40.0
"""Wanted for a function on two free cores, all backends together."""
CORES = 2
UNIT = 2**24


class Cost(Struct, frozen=True):
    """Of some blocks of one function."""

    targets: int
    numbers: int
    cpu: float
    """Seconds of the process, kernels included; wall time would depend on what else runs."""
    peak: float
    """MB of the process at most."""

    def seconds(self, numbers: int) -> float:
        """CPU seconds for so many numbers."""
        return self.cpu * numbers / self.numbers


def measured(name: str, dtype: str, blocks: int, sender: Any) -> None:
    """Run the blocks of operator `name` and send their Cost."""
    keep_freed_blocks()
    spec = CampaignSpec(problems=(ProblemSpec(name),), dtypes=(dtype,), plan=exhaustive.NAME)
    manifest = manifest_of(resolve(spec), None)
    for backend in manifest.backends:
        BACKENDS[backend].warm_up()
    cell, session = Agenda(manifest).shard(0).at(0)[0].cell, Session("benchmark")
    for index, ladder in ((0, True), (1, False)):  # compiles, for the ladder's precision, too
        run_trial(cell, manifest.seed, index, session, ladder=ladder)
    start = time.process_time()
    for index in range(blocks):
        run_trial(cell, manifest.seed, index, session)
    cpu = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sender.send(Cost(len(cell.targets), blocks * exhaustive.block(dtype), cpu, peak))


def cost(name: str, dtype: str, blocks: int) -> Cost:
    """The Cost of operator `name`, measured in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=measured, args=(name, dtype, blocks, sender))
    process.start()
    sender.close()
    try:
        found: Cost = receiver.recv()
    except EOFError:
        raise SystemExit(f"{name}: the process that runs it has failed") from None
    process.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--operators", default="exp,tanh,erf", help="separated by commas (default exp,tanh,erf)")
    parser.add_argument("--blocks", type=int, default=256, help="of each, 2^17 float32 numbers a block (default 256)")
    parser.add_argument("--dtype", default="float32", help="default float32")
    options = parser.parse_args()
    every, slow = patterns(options.dtype), 0
    print(f"function      targets  CPU s / 2^24  numbers / CPU s  peak MB  min for all on {CORES} cores")
    for name in options.operators.split(","):
        c = cost(name, options.dtype, options.blocks)
        minutes = c.seconds(every) / CORES / 60
        slow += minutes > MINUTES
        speed = f"{c.seconds(UNIT):13.2f} {c.numbers / c.cpu:16,.0f}"
        print(f"{name:12} {c.targets:8d} {speed} {c.peak:8.0f} {minutes:23.1f}", flush=True)
    print(f"wanted: {MINUTES:.0f} minutes at most: {'missed' if slow else 'met'}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
