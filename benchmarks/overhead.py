"""What the engine costs beside the numerics: a campaign of kernels that do nothing.

    python benchmarks/overhead.py [--trials 4000]

`sum` of a 1 x 1 input on a backend that returns a prepared array, by the command line. CPU seconds of all processes are
taken from the system; the shards are cut small and large, and the difference gives the cost of a shard (supervisor,
pipe, commit with its two files). Wall time of two workers against one is printed with the load: it needs two free CPUs.
Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NOTHING = """
import numpy as np
from fuzz.extend import FunctionBackend, register
nothing = FunctionBackend("nothing")
ready = np.zeros(1, np.float32)
@nothing.operator("sum")
def total(x, *, axis):
    ready[0] = x[0, 0]
    return ready
register(nothing)
"""
SMALL, LARGE = 25, 1000
WANTED = 1.7
PR_SET_CHILD_SUBREAPER = 36


def run(folder: Path, name: str, trials: int, shard: int, workers: int = 1) -> tuple[float, float]:
    """CPU and wall seconds of a campaign, its report included."""
    command = ["run", "sum", "--dims", "rows=1,n=1", "--targets", "nothing", "--extension", folder / "nothing.py"]
    command += ["--trials", trials, "--shard-trials", shard, "--workers", workers, "--out", folder / name]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-m", "fuzz.cli", *map(str, command)], capture_output=True, text=True, check=False
    )
    wall = time.monotonic() - started
    with contextlib.suppress(ChildProcessError):
        while True:  # the fork server and what it left: their CPU time counts once they have been waited for
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000)
    trials = parser.parse_args().trials
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory(prefix="ulpfuzz-overhead-") as name:
        folder = Path(name)
        (folder / "nothing.py").write_text(NOTHING)
        empty, _ = run(folder, "empty", 1, 1)
        large, _ = run(folder, "large", trials, LARGE)
        small, _ = run(folder, "small", trials, SMALL)
        shards = trials // SMALL - trials // LARGE
        shard = (small - large) / shards
        trial = (large - empty - shard * trials / LARGE) / trials
        print(f"start, report and one trial: {empty:.2f} CPU s")
        print(f"a trial: {1e6 * trial:.0f} CPU us (its draw, truth, bound and rows included)")
        print(f"a shard: {1e3 * shard:.2f} CPU ms")
        load = os.getloadavg()[0]
        walls = {workers: run(folder, f"w{workers}", 8 * trials, LARGE, workers)[1] for workers in (1, 2)}
        start = run(folder, "start", 1, 1)[1]
        ratio = (walls[1] - start) / (walls[2] - start)
        print(
            f"two workers / one: {ratio:.2f} times the pace (load before {load:.1f}; wanted {WANTED} on two free CPUs)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
