"""Findings by what they are about, and scripts of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import results
from fuzz.reproduction.running import Ran
from fuzz.reproduction.script import Text
from fuzz.reproduction.subject import find
from fuzz.reproduction.writing import Wanted, Writing
from results.findings import FindingGroup


def group_of(directory: Path, operator: str, verdict: str = "", library: str = "") -> FindingGroup:
    """The finding of one operator."""
    fitting = [
        group
        for group in results.open(directory).findings
        if group.operator == operator and verdict in ("", group.verdict) and library in ("", group.backend)
    ]
    assert len(fitting) == 1, fitting
    return fitting[0]


def written(directory: Path, name: str, script: Path) -> tuple[Text, Ran]:
    """The script of a finding, written, and how it ended."""
    writing = Writing(find(directory, name), Wanted(script))
    _, text, ran = writing.smallest(writing.stages(), script)
    return text, ran


def run_script(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=120)


def mended(directory: Path, script: Path) -> Path:
    """A copy of the script that imports a mended copy of the kernels."""
    (extension,) = (directory / "extensions").glob("*.py")
    good = script.parent / "mended kernel.py"
    good.write_text(extension.read_text().replace("MENDED = False", "MENDED = True"))
    copy = script.with_name("mended_script.py")
    text = script.read_text()
    assert text.count(repr(str(extension.resolve()))) == 1
    copy.write_text(text.replace(repr(str(extension.resolve())), repr(str(good))))
    return copy
