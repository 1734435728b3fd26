"""Start-up time, memory, and how two workers compare with one."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import Any

import scenario
from contenders import Supervised

HELP = [sys.executable, "-c", "from fuzz.cli.app import main; main()", "--help"]


def help_seconds(repeats: int = 10) -> float:
    """Median wall time of `ulpfuzz --help`, the start of Python included."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(HELP, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def memory(backends: tuple[str, ...], trials: int = 100) -> dict[str, float]:
    """Megabytes of a worker after some trials. Call it in a fresh process: the fork server preloads libraries once."""
    contender = Supervised(backends)
    contender.run(trials)
    found: dict[str, float] = contender.finish()["memory"][0]
    return found


def scaling(trials: int, rounds: int = 3) -> dict[str, Any]:
    """Wall seconds of the same trials with one worker and with two, taken in turn, and the load of the machine."""
    loads = [os.getloadavg()[0]]
    contenders = {workers: Supervised(scenario.TWO, workers) for workers in (1, 2)}
    walls: dict[int, list[float]] = {1: [], 2: []}
    for workers, contender in contenders.items():
        contender.run(20 * workers)
    for _ in range(rounds):
        for workers, contender in contenders.items():
            start = time.perf_counter()
            contender.run(trials)
            walls[workers].append(time.perf_counter() - start)
    loads.append(os.getloadavg()[0])
    for contender in contenders.values():
        contender.finish()
    ratios = [one / two for one, two in zip(walls[1], walls[2], strict=True)]
    return {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios), "load": max(loads)}
