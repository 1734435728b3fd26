"""docs/batches.md: its scripts and commands run, and print what the page shows; so do the lines on float64 in jax."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.backends.base import present
from fuzz.cli.doctor import x64_findings
from fuzz.cli.doctor_x64 import x64_lines

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "batches.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.S))
COMMANDS = re.findall(r"```console\n\$ ([^\n]+)\n(.*?)```", PAGE, re.S)


def words(text: str) -> str:
    """The text without what differs between machines: numbers, widths, names of runs."""
    text = re.sub(r"ulpfuzz (?:repro|report) \S+.*", "ulpfuzz ...", text)
    return " ".join(re.sub(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?%?", "#", text).split())


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("command", "output"),
    [pytest.param(*pair, marks=pytest.mark.long if pair[0].startswith("ulpfuzz check") else ()) for pair in COMMANDS],
    ids=[" ".join(command.split()[:2]) for command, _ in COMMANDS],
)
def test_the_page_shows_what_is_printed(command: str, output: str, tmp_path: Path) -> None:
    if "tvm" in command and not present("tvm"):
        pytest.skip("tvm is not installed")
    for name, body in FILES.items():
        (tmp_path / name).write_text(body)
    name, *arguments = shlex.split(command)
    start = [sys.executable] if name == "python" else [sys.executable, "-m", "fuzz.cli"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [*start, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    shown = [words(part) for part in re.split(r"^\.\.\.$", output, flags=re.M)]
    assert "".join(shown)
    for part in shown:  # what stands for other lines is about this machine
        assert part in words(ran.stdout), ran.stderr


@pytest.mark.heavy
def test_the_page_shows_what_doctor_says_of_jax() -> None:
    tried = x64_lines()
    if tried is None:
        pytest.skip("jax is not installed")
    for finding in x64_findings(tried):
        if "is set in this environment" not in finding.detail:
            assert f"{finding.status}: {finding.subject}: {finding.detail}" in PAGE


def test_the_page_has_scripts_and_commands() -> None:
    assert set(FILES) == {"broadcast.py", "unscaled.py", "network.py"}
    assert [command.split()[0] for command, _ in COMMANDS] == ["ulpfuzz", "ulpfuzz", "python", "python"]
    assert (ROOT / "examples" / "batch_size.toml").is_file()
