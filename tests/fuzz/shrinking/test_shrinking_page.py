"""The commands of docs/shrinking.md run as printed, and say what the page shows."""

from __future__ import annotations

import html
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from running import Cli

pytest.importorskip("torch")
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "shrinking.md").read_text(encoding="utf-8")


@pytest.mark.heavy
@pytest.mark.long
def test_the_transcript_is_real(ulpfuzz: Cli) -> None:
    run, listed = re.findall(r"^    (ulpfuzz (?:run|findings) [^#\n]+)$", PAGE, re.MULTILINE)
    (wanted,) = re.findall(r"^ +(shrunk to 1 element: x = -\d\.\d)$", PAGE, re.MULTILINE)
    assert ulpfuzz(*shlex.split(run)[1:], ULPFUZZ_SHRINK="60s").returncode == 1
    said = ulpfuzz(*shlex.split(listed)[1:]).stdout
    assert wanted in said
    (name,) = re.findall(r"^ +([0-9a-f]{10})  torch:cpu gelu", PAGE, re.MULTILINE)
    assert f"{name}  torch:cpu gelu (y) in float32: unstable, x < -2.75" in said
    by_hand = ulpfuzz("shrink", "night", name[:8])
    assert by_hand.returncode == 0
    assert wanted in by_hand.stderr
    assert ulpfuzz("report", "night", "--html", "night.html").returncode == 1
    (script,) = re.findall(r'<div class="code script"><pre><code>(.*?)</code>', _read(ulpfuzz, "night.html"), re.DOTALL)
    (ulpfuzz.folder / "gelu.py").write_text(html.unescape(script))
    ran = subprocess.run([sys.executable, ulpfuzz.folder / "gelu.py"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "DEFECT: " in ran.stdout


def _read(ulpfuzz: Cli, name: str) -> str:
    return (ulpfuzz.folder / name).read_text(encoding="utf-8")
