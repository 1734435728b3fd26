"""The code of docs/strategies.md, run by pytest: it fails on its defect, shrinks, and passes on a healthy function."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import strategies

ROOT = Path(strategies.__file__).parents[1]
PAGE = ROOT / "docs" / "strategies.md"
SHRUNK = re.compile(
    r"attributes=\(\('axis', -1\), \('ddof', 0\)\), dims=\(\('n', 2\), \('rows', 2\)\), home='float64', "
    r"recipes=\(Offset\(fills=\('x',\), m=(?P<mean>\d+)\.0, s=1\.0\),\)\)"
)
"""The least sizes that the contract allows, default attributes, and an offset."""


def run(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_mine.py").write_text(code)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "test_mine.py",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "examples")}
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)


def example() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(block).replace("@settings(", "@settings(derandomize=True, database=None, ")


def test_the_example_fails_and_shrinks_to_small_sizes_and_a_small_offset(tmp_path: Path) -> None:
    done = run(tmp_path, example())
    assert done.returncode == 1, done.stdout + done.stderr
    match = SHRUNK.search(done.stdout)
    assert match is not None, done.stdout
    assert int(match["mean"]) <= 1000  # its square takes six digits of sixteen: 1e-9 would do


def test_the_example_passes_on_a_healthy_function(tmp_path: Path) -> None:
    healthy, count = re.subn(r"    return \(np\.sum.*\n", "    return np.var(x, axis=-1, ddof=ddof)\n", example())
    assert count == 1
    done = run(tmp_path, healthy)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
