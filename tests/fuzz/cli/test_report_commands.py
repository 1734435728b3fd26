"""`ulpfuzz report` into files: what is printed, what is written, what cannot be."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from running import TINY, Cli

from fuzz.cli.app import invoke
from fuzz.reproduction.texts import script_texts

MINE = """
import numpy as np
from fuzz.extend import FunctionBackend, register

mine = FunctionBackend("mine")


@mine.operator("tanh")
def half(x):
    return np.tanh(x) * np.float32(0.5)


register(mine)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two campaigns: c is healthy, d has a finding of code of its own."""
    cli = Cli(tmp_path_factory.mktemp("reports"))
    (cli.folder / "mine.py").write_text(MINE)
    cli.ok("run", *TINY, "--trials", 2, "--out", "c")
    bad = ("--extension", "mine.py", "--targets", "mine", "--dims", "n=8", "--trials", 2, "--no-shrink")
    assert cli("run", "tanh", *bad, "--out", "d").returncode == 1
    return cli.folder


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_files_are_written_and_the_answer_is_printed(capsys: Any) -> None:
    assert invoke(["report", "c", "--html", "c.html", "--markdown", "c.md"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("No implementation is to blame")
    assert said.out.count("\n") == 1
    assert said.err.splitlines() == ["wrote c.html", "wrote c.md"]
    assert Path("c.html").read_text().startswith("<!DOCTYPE html>")
    assert Path("c.md").read_text().startswith("### c\n")
    assert Path("c.html").stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_without_a_file_the_report_is_printed(capsys: Any) -> None:
    assert invoke(["report", "c", "d"]) == 1
    said = capsys.readouterr().out
    assert said.count("Each target against the truth: how often") == 2
    assert said.index("No implementation is to blame") < said.index("1 of 1 target loses")


def test_a_finding_of_foreign_code_has_no_script(capsys: Any) -> None:
    assert invoke(["report", "c", "d", "--html", "both.html"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    page = Path("both.html").read_text()
    assert "which a report does not run" in page
    assert 'id="c2-findings"' in page


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--html", "no/c.html"], 3, "no/c.html cannot be written: there is no folder no"),
        (["--markdown", "d"], 3, "d cannot be written: it is a folder"),
        (["--html", "x", "--markdown", "x"], 2, "--html and --markdown both name x"),
    ],
)
def test_what_cannot_be_written_is_one_line(arguments: list[str], code: int, line: str, capsys: Any) -> None:
    assert invoke(["report", "c", *arguments]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"ulpfuzz: {line}")
    assert said.err.count("\n") == 1
    assert not Path("x").exists()


def test_a_file_that_cannot_be_replaced_stays(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    Path("old.html").write_text("old")
    monkeypatch.setattr(os, "replace", full)
    assert invoke(["report", "c", "--html", "old.html"]) == 3
    assert "old.html cannot be written: No space left on device" in capsys.readouterr().err
    assert Path("old.html").read_text() == "old"
    assert [path.name for path in Path().iterdir() if "old.html" in path.name] == ["old.html"]


def test_why_scripts_are_missing(tmp_path: Path) -> None:
    (tmp_path / "shrunk").mkdir()
    groups: Any = [SimpleNamespace(id=f"{n:010x}") for n in range(4)]
    for group in groups[1:]:
        (tmp_path / "shrunk" / f"{group.id}.json").write_text("{}")
    found = script_texts(tmp_path, groups, most=2)
    assert all(not script.text for script in found.values())
    why = [found[group.id].why_not for group in groups]
    assert why[0] == f"it is not shrunk: `ulpfuzz shrink {tmp_path} 0000000000` does that"
    assert "is not a campaign" in why[1]
    assert why[3] == "2 findings have theirs here"
    late = script_texts(tmp_path, groups, seconds=0.0)
    assert late[groups[1].id].why_not == "writing this page ends after 20 s"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
