"""What TVM miscompiles comes down to the moves that it takes, on few numbers. benchmarks/shrinking.py has all kinds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from quality_modules import load

from fuzz.reproduction.case import read_case

pytest.importorskip("tvm")


def command(*arguments: object) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "fuzz.cli", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, 1), ran.stderr


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.long
def test_a_lost_guard_takes_a_split_and_an_rfactor(tmp_path: Path) -> None:
    limits = load("shrinking")
    operator, dims, moves = limits.SCHEDULES["rfactor after a split"]
    target = f"tvm:llvm[unsafe_schedule={moves}]"
    options = ("--targets", target, "--trials", 1, "--no-shrink", "--fail-on", "none", "--out", tmp_path / "c")
    command("run", operator, "--dims", dims, *options)
    command("shrink", tmp_path / "c", "--time", "100s")
    (path,) = (tmp_path / "c" / "shrunk").glob("*.json")
    case = read_case(path)
    assert case.shrunk is not None
    assert case.expected.verdict == "out_of_bounds_write"
    assert [line.split()[0] for line in case.shrunk.primitives] == ["split", "rfactor"]
    assert max(case.problem["dims"].values()) <= limits.MOST_SIZE
