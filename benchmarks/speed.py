"""ulpfuzz against the script it replaces: CPU time a trial, where it goes, start-up, memory, scaling.

    python benchmarks/speed.py --trials 1000

See README.md beside this file for what the figures mean. Only ratios carry over to another machine.
"""

# ruff: noqa: E402

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS"):
    os.environ[_name] = "1"  # before any library is imported; child processes inherit it

import argparse
import functools
import importlib.metadata
import multiprocessing
import platform
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import breakdown
import footprint
import scenario
from contenders import Block, InProcess, Script, Supervised, remotes

BLOCK_TRIALS = 50
SCRIPT, TUNED, IN_PROCESS, CAMPAIGN = "script", "script, allocator tuned", "ulpfuzz, in process", "ulpfuzz, campaign"
WANTED_RATIO, WANTED_WRITING, WANTED_HELP = 3.0, 0.02, 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=1000, help="trials of each loop (default 1000)")
    parser.add_argument("--only-loops", action="store_true", help="leave out breakdown, start-up, memory and scaling")
    options = parser.parse_args()
    print("\n".join(_machine()), end="\n\n")
    campaign = _loops(options.trials)
    if not options.only_loops:
        _breakdown(options.trials, campaign)
        _footprint(options.trials)


def _loops(trials: int) -> float:
    """Compare the loops; CPU microseconds a trial of a campaign."""
    makers: dict[str, Callable[[], Any]] = {
        SCRIPT: Script,
        TUNED: functools.partial(Script, tuned=True),
        IN_PROCESS: InProcess,
        CAMPAIGN: Supervised,
    }
    blocks: dict[str, list[Block]] = {name: [] for name in makers}
    with remotes(makers) as contenders:
        for _ in range(max(1, trials // BLOCK_TRIALS)):
            for name, contender in contenders.items():
                blocks[name].append(contender.run(BLOCK_TRIALS))
        facts = {name: contender.finish() for name, contender in contenders.items()}
    writing = facts[CAMPAIGN]["writing"]
    cost = {name: [block.cpu / BLOCK_TRIALS for block in taken] for name, taken in blocks.items()}
    cost[CAMPAIGN] = [seconds + writing for seconds in cost[CAMPAIGN]]
    print(f"CPU time a trial, {len(blocks[SCRIPT])} blocks of {BLOCK_TRIALS} trials each in turn")
    print(f"{'':28}{'us':>8}{'faults':>8}  {'script / this':>14}  (least .. most)")
    for name, seconds in cost.items():
        ratios = [slow / fast for slow, fast in zip(cost[SCRIPT], seconds, strict=True)]
        faults = statistics.median(block.faults / BLOCK_TRIALS for block in blocks[name])
        spread = f"({min(ratios):.2f} .. {max(ratios):.2f})"
        median = statistics.median(seconds) * 1e6
        print(f"{name:28}{median:8.0f}{faults:8.0f}  {statistics.median(ratios):14.2f}  {spread}")
    ratio = statistics.median(slow / fast for slow, fast in zip(cost[SCRIPT], cost[CAMPAIGN], strict=True))
    print(f"script: trials by first rung that fails (13: none) {facts[SCRIPT]['first failing rung']}")
    _verdict("campaign: times fewer CPU seconds than the script", ratio, WANTED_RATIO, at_least=True)
    whole = statistics.median(cost[CAMPAIGN])
    _verdict("campaign: share of writing", writing / whole, WANTED_WRITING, at_least=False)
    print(f"campaign: {facts[CAMPAIGN]['bytes a trial']:.0f} bytes a trial on disk\n")
    return whole * 1e6


def _breakdown(trials: int, campaign: float) -> None:
    stages = _apart(breakdown.breakdown, trials)
    total, kernels = sum(stages.values()), sum(us for name, us in stages.items() if name.startswith("kernel"))
    print("CPU us a trial by stage (timers cost about 1 us a stage)")
    for name, us in stages.items():
        print(f"  {name:40}{us:8.1f}{us / total:8.1%}")
    print(f"  {'total':40}{total:8.1f}     (a campaign, untimed: {campaign:.0f})")
    print(f"total / kernels as called in the loop: {total / kernels:.1f}\n")


def _footprint(trials: int) -> None:
    _verdict("ulpfuzz --help: wall seconds, median of 10", footprint.help_seconds(), WANTED_HELP, at_least=False)
    for backends in (scenario.TWO, scenario.FOUR):
        found = _apart(footprint.memory, backends)
        print(f"worker with {'+'.join(backends)}: peak {found['peak']:.0f} MB, private {found['private']:.0f} MB")
    two = _apart(footprint.scaling, trials)
    spread = f"{two['least']:.2f} .. {two['most']:.2f}"
    print(
        f"two workers / one worker, wall: {two['ratio']:.2f} ({spread}); load {two['load']:.1f}, {os.cpu_count()} CPUs"
    )


def _verdict(what: str, value: float, wanted: float, at_least: bool) -> None:
    good = value >= wanted if at_least else value <= wanted
    sign = ">=" if at_least else "<="
    print(f"{what}: {value:.3g} (wanted {sign} {wanted:g}: {'met' if good else 'MISSED'})")


def _apart(function: Callable[..., Any], *args: Any) -> Any:
    """The result of `function` in a fresh process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(sender, function, args))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        raise SystemExit(f"{function.__module__}.{function.__name__} failed, see above") from None
    finally:
        process.join()


def _call(sender: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    sender.send(function(*args))


def _machine() -> Iterable[str]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = f"{os.cpu_count()} x {models[0]}" if models else cpu
    yield f"{cpu}, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    names = ("ulpfuzz", "numpy", "torch", "apache-tvm", "jax", "pyarrow")
    yield ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


if __name__ == "__main__":
    main()
