"""A campaign that runs for long: does memory stay flat, the pace constant, and nothing behind?

    python benchmarks/soak.py [--minutes 30] [--warm-up 5] [--workers 2] [--out FOLDER]

A fixed plan that goes round 40 problems on every installed backend, by the command line. Every five seconds the
resident memory of the main process, the fork server and each worker is read, and zombies are counted. Printed: slopes
of memory after the warm-up (least squares, MB a minute; wanted below 1), throughput of the first window after the
warm-up and of the last one (wanted >= 0.9), what is left in the folder. Exit code 1 where one is not met. Linux only.

A worker's memory is that of its place: a worker that was replaced is followed by the next of as many places. The
slope is that of the largest worker at each moment, and of the sum.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

OPERATORS = {
    "elementwise": ["tanh", "exp", "gelu", "softplus", "sigmoid", "log1p", "sqrt", "erf", "sin", "silu"],
    "rows": ["softmax", "log_softmax", "logsumexp", "layer_norm", "rms_norm", "sum", "mean", "var", "max", "cumsum"],
}
SLOPE, STEADY = 1.0, 0.9
EVERY = 5.0


class Sample(NamedTuple):
    """One look: seconds since the start, MB of the main process, of the fork server, of every worker, zombies."""

    at: float
    main: float
    server: float
    workers: tuple[float, ...]
    zombies: int


def campaign(path: Path) -> None:
    """Twenty operators, two sizes each."""
    tables = [
        "[[problem]]\noperator = " + json.dumps(OPERATORS["elementwise"]) + "\ndims = { n = [1000, 4096] }\n",
        "[[problem]]\noperator = " + json.dumps(OPERATORS["rows"]) + "\ndims = { rows = 16, n = [100, 1024] }\n",
    ]
    path.write_text('title = "soak"\n' + "".join(tables))


def look(main: psutil.Process, started: float) -> Sample:
    """Workers are the children of the fork server."""
    servers, workers, zombies = [], [], 0
    for process in main.children(recursive=True):
        try:
            zombies += process.status() == psutil.STATUS_ZOMBIE
            size = process.memory_info().rss / 2**20
            line = " ".join(process.cmdline())
            parent = process.ppid()
        except psutil.Error:
            continue
        if "multiprocessing.forkserver" not in line:
            continue
        (servers if parent == main.pid else workers).append(size)
    return Sample(time.monotonic() - started, main.memory_info().rss / 2**20, sum(servers), tuple(workers), zombies)


def slope(samples: Sequence[Sample], value: Any) -> float:
    """MB a minute."""
    return 60 * statistics.linear_regression([s.at for s in samples], [value(s) for s in samples]).slope


def trials_by_time(folder: Path) -> list[tuple[float, int]]:
    """(running time, trials done) at every snapshot of the log."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [(line["elapsed"], line["done"]) for line in lines if line["event"] == "snapshot"]


def pace(seen: Sequence[tuple[float, int]], start: float, stop: float) -> float:
    """Trials a second between two running times."""
    inside = [point for point in seen if start <= point[0] <= stop]
    (first, done), (last, more) = inside[0], inside[-1]
    return (more - done) / (last - first)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--warm-up", type=float, default=5.0, help="minutes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    base = options.out or Path(tempfile.mkdtemp(prefix="ulpfuzz-soak-"))
    base.mkdir(exist_ok=True)
    file, folder = base / "soak.toml", base / "campaign"
    campaign(file)
    arguments = ["run", file, "--time", f"{options.minutes}min", "--workers", options.workers, "--out", folder]
    started = time.monotonic()
    with (base / "report.txt").open("w") as report, (base / "progress.txt").open("w") as progress:
        command = [sys.executable, "-m", "fuzz.cli", *map(str, arguments), "--fail-on", "none"]
        process = subprocess.Popen(command, stdout=report, stderr=progress)
        watched = psutil.Process(process.pid)
        samples: list[Sample] = []
        while process.poll() is None:
            try:
                samples.append(look(watched, started))
            except psutil.Error:
                break
            time.sleep(EVERY)
        code = process.wait()
    return judge(samples, folder, code, 60 * options.warm_up, options.workers)


def judge(samples: list[Sample], folder: Path, code: int, warm_up: float, workers: int) -> int:
    """Print the figures; 1 where one is missed."""
    end = trials_by_time(folder)[-1][0]
    steady = [s for s in samples if warm_up <= s.at <= end and len(s.workers) == workers]
    window = min(300.0, (end - warm_up) / 2)
    seen = trials_by_time(folder)
    first, last = pace(seen, warm_up, warm_up + window), pace(seen, end - window, end)
    slopes = {
        "main process": (slope(steady, lambda s: s.main), steady[-1].main),
        "fork server": (slope(steady, lambda s: s.server), steady[-1].server),
        "largest worker": (slope(steady, lambda s: max(s.workers)), max(steady[-1].workers)),
        "workers together": (slope(steady, lambda s: sum(s.workers)), sum(steady[-1].workers)),
    }
    log = [json.loads(line)["event"] for line in (folder / "log.jsonl").read_text().splitlines()]
    events = {name: log.count(name) for name in ("recycled", "worker_died", "compacted")}
    left = [str(p) for p in folder.rglob("*") if p.suffix in (".tmp", ".part")] + list(
        map(str, (folder / "tmp").iterdir())
    )
    zombies = max(s.zombies for s in samples)
    print(f"{seen[-1][1]:,} trials in {end / 60:.1f} min with {workers} workers, exit code {code}")
    print(f"{'':18}MB a minute   MB at the end     most")
    most = {"main process": max(s.main for s in samples), "fork server": max(s.server for s in samples)}
    most["largest worker"] = max(max(s.workers, default=0.0) for s in samples)
    most["workers together"] = max(sum(s.workers) for s in samples)
    for name, (rise, now) in slopes.items():
        print(f"{name:18}{rise:11.3f}{now:16.0f}{most[name]:9.0f}")
    print(f"trials a second: {first:.1f} in the first {window / 60:.1f} min after the warm-up, {last:.1f} in the last")
    print(f"last / first: {last / first:.3f}; zombies at most {zombies}; files left over {len(left)}; events {events}")
    missed = [name for name, (rise, _) in slopes.items() if rise >= SLOPE]
    missed += ["pace"] * (last / first < STEADY) + ["files"] * bool(left) + ["exit code"] * (code != 0)
    print("missed: " + ", ".join(missed) if missed else "all met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
