"""docs/checking.md: its files are written, its commands run, and what they print is what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "checking.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.S))
COMMANDS = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.S)
    for command, output in re.findall(r"\$ ([^\n]+)\n(.*?)(?=\n\$ |\Z)", block, re.S)
]


def words(text: str) -> str:
    """The text without what differs between machines: numbers, widths, names of runs."""
    text = re.sub(r"ulpfuzz repro \S+ \S+|ulpfuzz report \S+", "ulpfuzz ...", text)
    text = re.sub(r"example: .*", "example: ...", text)
    text = re.sub(r"closer to the truth.*?(?=truth: )", "", text, flags=re.S)  # where chance decides, it may not show
    return " ".join(re.sub(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?%?", "#", text).split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in FILES.items():
        (tmp_path / name).write_text(body)
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    name, *arguments = shlex.split(command)
    start = [sys.executable] if name == "python" else [sys.executable, "-m", "fuzz.cli"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ULPFUZZ_SHRINK": "10s"}
    return subprocess.run(
        [*start, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("command", "output"),
    [pytest.param(*pair, marks=() if "normal" in pair[0] else pytest.mark.long) for pair in COMMANDS],
    ids=[command.split(" --")[0] for command, _ in COMMANDS],
)
def test_the_page_shows_what_is_printed(command: str, output: str, folder: Path) -> None:
    for library in ("flax", "tvm"):
        if f"import {library}" in FILES.get(command.removeprefix("python "), "").replace(".linen as nn", ""):
            pytest.importorskip(library)
    ran = run(command, folder)
    assert words(ran.stdout) == words(output), ran.stderr


@pytest.mark.long
def test_the_tests_of_the_page_pass(folder: Path) -> None:
    ran = run("python -m pytest -q -p no:cacheprovider test_mine.py", folder)
    assert ran.returncode == 0, ran.stdout
    assert "3 passed" in ran.stdout


def test_the_page_has_commands() -> None:
    assert len(FILES) == 5
    assert len(COMMANDS) == 5
