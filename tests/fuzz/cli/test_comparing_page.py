"""The commands of docs/comparing.md run as printed, and say what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from running import Cli

from fuzz.cli.app import invoke

pytest.importorskip("torch")
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "comparing.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line) for line in re.findall(r"^    ulpfuzz ([^#\n]+)$", PAGE, re.MULTILINE)]
HEADLINES = {
    "monday tuesday": "No difference seen in 6 tests. A rate above 1e-1 ",
    "monday again": "Bitwise identical: all 1,000 outputs of 1,000 shared trials of targets.",
    "last first": "sum on numpy:cpu[reduce_axis=last] -> numpy:cpu[reduce_axis=first] in float32: rho tends",
    "monday --rate": "All 2 rates are the published 38 of 5,000 = 0.76 %, as far as 500 trials can tell.",
}
"""Starts of what the comparisons on the page say; figures behind them depend on the libraries."""


@pytest.mark.heavy
@pytest.mark.long
def test_the_transcripts_are_real(
    ulpfuzz: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = " ".join(PAGE.split())
    monkeypatch.chdir(ulpfuzz.folder)
    asked = []
    for arguments in COMMANDS:
        if arguments[0] == "run":
            ulpfuzz.ok(*arguments, "--no-shrink")
            continue
        code = invoke(arguments)
        said = " ".join(capsys.readouterr().out.split())
        if arguments[0] == "plan":
            assert code == 0
            assert said in page
            continue
        asked.append(" ".join(arguments[1:3]))
        assert said.startswith(HEADLINES[asked[-1]]), said
        assert HEADLINES[asked[-1]] in page
        assert code == int(asked[-1] == "last first")
    assert asked == list(HEADLINES)
