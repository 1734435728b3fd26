"""kill -9 at random moments, then resume: are the rows those of an undisturbed run?

    python benchmarks/kills.py [--kills 100] [--seed 0]

Campaigns of 700 shards of one trial on two workers, whose small parts are merged on the way. The victim is drawn anew
for each kill: main process, worker, the process that merges, or the whole group; a campaign is resumed until it is
complete, compared with the undisturbed one (timings apart, every key once, elements too), and the next one begins.
Prints the kills by victim; exit code 1 where a row differs, is lost or comes twice. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fuzz")]

from running import COMMAND, differing, elements_of, in_session, rows_of, wait_for, workers_of  # noqa: E402

CAMPAIGN = ("run", "sum", "--dims", "rows=3,n=8", "--targets", "numpy,numpy[dtype=float64]", "--trials", "700")
VICTIMS = ("main", "worker", "merging", "group")


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """In a session of its own, silent."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def merging(main: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(main).children() if "results.compaction" in child.cmdline()]


def kill(process: subprocess.Popen[bytes], victim: str, moments: random.Random) -> bool:
    """Whether there was such a victim."""
    if victim == "main":
        process.kill()
        return True
    if victim == "group":
        os.killpg(process.pid, signal.SIGKILL)
        return True
    if victim == "worker":  # most runs are ended before they have one
        wait_for(lambda: workers_of(process.pid) or process.poll() is not None, 60)
        time.sleep(moments.uniform(0.0, 1.0))
    with contextlib.suppress(psutil.Error, IndexError):
        moments.choice(workers_of(process.pid) if victim == "worker" else merging(process.pid)).kill()
        return True
    return False


def disturbed(folder: Path, wanted: int, moments: random.Random) -> Counter[str]:
    """Run one campaign to its end with up to so many kills; the kills."""
    killed: Counter[str] = Counter()
    while True:
        described = (folder / "c" / "campaign.json").exists()
        begin = ("resume", "c") if described else (*CAMPAIGN, "--shard-trials", "1", "--out", "c")
        process = start(folder, *begin, "--workers", "2")
        while process.poll() is None and killed.total() < wanted:
            time.sleep(moments.uniform(0.1, 2.0))
            victim = moments.choice(VICTIMS)
            if process.poll() is None and kill(process, victim, moments):
                killed[victim] += 1
        if process.wait() == 0:
            return killed
        wait_for(lambda leader=process.pid: not in_session(leader), 60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    killed: Counter[str] = Counter()
    campaigns = wrong = 0
    with tempfile.TemporaryDirectory(prefix="ulpfuzz-kills-") as name:
        peace = Path(name) / "peace"
        peace.mkdir()
        start(peace, *CAMPAIGN, "--out", "c").wait()
        rows, elements = rows_of(peace / "c"), elements_of(peace / "c")
        while killed.total() < options.kills:
            folder = Path(name) / str(campaigns)
            folder.mkdir()
            killed += disturbed(folder, options.kills - killed.total(), moments)
            wrong += len(differing(rows_of(folder / "c"), rows)) + (elements_of(folder / "c") != elements)
            campaigns += 1
    by = ", ".join(f"{victim} {killed[victim]}" for victim in VICTIMS)
    print(f"{killed.total()} kills ({by}) in {campaigns} campaigns of {len(rows):,} rows: {wrong} rows differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
