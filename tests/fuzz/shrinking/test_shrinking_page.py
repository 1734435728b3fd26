"""The commands of docs/shrinking.md run as printed, and say what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from running import Cli

pytest.importorskip("torch")
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "shrinking.md").read_text(encoding="utf-8")


@pytest.mark.heavy
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
