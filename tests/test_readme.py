"""Every command of the README runs as printed (with fewer trials), and its Python snippets do."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fuzz.cli import template

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.split("  # ")[0].split("   #")[0].strip()
    for line in README.splitlines()
    if line.startswith(("    ulpfuzz run ", "    ulpfuzz list "))
]
ON_RESULTS = [
    line.split("  # ")[0].strip()
    for line in README.splitlines()
    if line.startswith(tuple(f"    ulpfuzz {name} " for name in ("compare", "plan", "tolerance", "sql", "export")))
]
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fuzz.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the README assumes to lie in the current folder."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    np.savez(tmp_path / "activations.npz", x=np.random.default_rng(0).standard_normal((4, 256)))
    template.write(tmp_path / "campaign.toml")
    (tmp_path / "mine.py").write_text(next(snippet for snippet in SNIPPETS if "register(mine)" in snippet))
    return tmp_path


def test_the_readme_shows_commands() -> None:
    assert len(COMMANDS) >= 8
    assert "@" not in README.replace("@mine.operator", "").replace("given(@", "").replace(
        "`@given`", ""
    )  # no placeholder left


LONG = ("--meta-schedules", "--plan exhaustive")
"""Commands that take longest, and whose parts have tests of their own."""


@pytest.mark.heavy
@pytest.mark.parametrize(
    "command",
    [pytest.param(text, marks=pytest.mark.long if any(part in text for part in LONG) else ()) for text in COMMANDS],
)
def test_commands_run(command: str, folder: Path) -> None:
    arguments = shlex.split(command)[1:]
    if arguments[0] == "list":
        for name in arguments[1].split("|"):
            assert run(["list", name], folder).returncode == 0
        return
    if "--trials" in arguments:
        del arguments[arguments.index("--trials") : arguments.index("--trials") + 2]
    if "--out" in arguments:
        del arguments[arguments.index("--out") : arguments.index("--out") + 2]
    if "--time" in arguments:
        arguments[arguments.index("--time") + 1] = "2s"
    if "search" in arguments:
        arguments += ["--evaluations", "40"]
    ran = run([*arguments, "--trials", "2", "--out", "campaign"], folder)
    assert ran.returncode in (0, 1), ran.stderr
    assert "Findings" in ran.stdout


def test_commands_on_results_run(folder: Path) -> None:
    run(["run", "exp", "--dims", "n=5", "--targets", "numpy", "--trials", "30", "--out", "night"], folder)
    for name in ("before", "after", "last-night"):
        shutil.copytree(folder / "night", folder / name)
    assert len(ON_RESULTS) >= 6
    for command in ON_RESULTS:
        ran = run(shlex.split(command)[1:], folder)
        assert ran.returncode == 0, f"{command}: {ran.stderr}"
        assert ran.stdout or "--to" in command
    assert (folder / "night.csv").stat().st_size > 1000


@pytest.mark.heavy
def test_the_check_says_what_is_shown(folder: Path) -> None:
    code = next(snippet for snippet in SNIPPETS if "fuzz.check(" in snippet)
    (folder / "ask.py").write_text(code)
    ran = subprocess.run(
        [sys.executable, "ask.py"], cwd=folder, capture_output=True, text=True, timeout=280, check=True
    )
    answer = ran.stdout.splitlines()[0]
    assert answer in " ".join(README.split())


def test_the_results_snippet_runs(folder: Path) -> None:
    run(["run", "exp", "--dims", "n=5", "--targets", "numpy", "--trials", "3", "--out", "campaign"], folder)
    code = next(snippet for snippet in SNIPPETS if "results.open" in snippet).replace("ulpfuzz-runs/...", "campaign")
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=120)
