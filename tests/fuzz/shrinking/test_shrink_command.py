"""`ulpfuzz shrink`, what a run does at its end, and what the other commands make of it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest
from running import Cli, wait_for
from shrinking_cases import CAMPAIGN, EXTENSION

import results
from fuzz.reproduction.case import read_case


def planted(folder: Path) -> Path:
    (folder / "mine.py").write_text(EXTENSION)
    (folder / "c.toml").write_text(CAMPAIGN)
    return folder


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that shrinks its findings at the end. Not to be changed."""
    folder = planted(tmp_path_factory.mktemp("night"))
    ran = Cli(folder)("run", "c.toml", "--out", "night", "--shrink", "100s")
    assert ran.returncode == 0, ran.stderr
    return folder / "night"


def ids(directory: Path) -> dict[str, str]:
    return {group.operator: group.id for group in results.open(directory).findings}


def test_a_run_shrinks_its_findings(night: Path, ulpfuzz: Cli) -> None:
    listed = ulpfuzz("findings", night).stdout
    said = dict(re.findall(r"mine:cpu (\w+) .*?(shrunk to [^\n]+)", listed, re.DOTALL))
    assert re.fullmatch(r"shrunk to 1 element: x = -\d+\.0", said["softplus"])
    assert said["matmul"] == "shrunk to 2 elements: a = 1.0, b = 1.0"
    assert said["sum"].startswith("shrunk to 3 elements: x = [0.0, 0.0, 0.0]")
    assert said["cos"] == "shrunk to 1 element: x = 1.0"
    assert "shrunk to 2 elements: a = 1.0, b = 1.0" in ulpfuzz("report", night).stdout
    plain = json.loads(ulpfuzz("findings", night, "--json").stdout)["findings"]
    assert {one["operator"]: one["shrunk"] for one in plain} == said


@pytest.mark.long
def test_the_results_are_what_repro_writes(night: Path, ulpfuzz: Cli) -> None:
    name = ids(night)["matmul"]
    ran = ulpfuzz("repro", night, name, "--script", "s.py", "--json", "s.json", "--markdown", "s.md")
    assert ran.returncode == 1, ran.stderr
    script = (ulpfuzz.folder / "s.py").read_text()
    assert "a = np.array([[1.0]], np.float32)" in script
    assert script in (ulpfuzz.folder / "s.md").read_text()
    assert read_case(ulpfuzz.folder / "s.json") == read_case(night / "shrunk" / f"{name}.json")
    replayed = ulpfuzz("replay", *sorted((night / "shrunk").glob("*.json")))
    assert replayed.stdout.count("still there") == 5, replayed.stdout  # and in the last line


def test_what_is_shrunk_is_shrunk(night: Path, ulpfuzz: Cli) -> None:
    before = {path.name: path.read_bytes() for path in (night / "shrunk").iterdir()}
    ran = ulpfuzz("shrink", night)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("shrunk to ") == 4
    assert {path.name: path.read_bytes() for path in (night / "shrunk").iterdir()} == before
    assert not list((night / "shrunk").glob("*.journal"))


def content(path: Path) -> dict[str, object]:
    """A case without the place of its campaign."""
    case: dict[str, object] = json.loads(path.read_text())
    return case | {"extensions": []}


def has_lines(path: Path, lines: int, process: subprocess.Popen[str]) -> bool:
    """Whether a file has more than so many lines, or nobody writes it any more."""
    return process.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") > lines)


def test_killed_at_any_moment_and_run_again(night: Path, ulpfuzz: Cli) -> None:
    name = ids(night)["softplus"]
    result = f"shrunk/{name}.json"
    shutil.copytree(night, ulpfuzz.folder / "copy")
    copy = ulpfuzz.folder / "copy"
    wanted = content(copy / result)
    for lines in (1, 4, 9):
        (copy / result).unlink(missing_ok=True)
        process = ulpfuzz.start("shrink", "copy", name)
        wait_for(partial(has_lines, copy / f"shrunk/{name}.journal", lines, process))
        process.send_signal(signal.SIGKILL)
        process.wait()
    (copy / result).unlink(missing_ok=True)
    assert ulpfuzz("shrink", "copy", name).returncode == 0
    assert content(copy / result) == wanted


def test_interrupted_and_run_again(night: Path, ulpfuzz: Cli) -> None:
    name = ids(night)["softplus"]
    result = f"shrunk/{name}.json"
    shutil.copytree(night, ulpfuzz.folder / "copy")
    copy = ulpfuzz.folder / "copy"
    wanted = content(copy / result)
    (copy / result).unlink()
    process = ulpfuzz.start("shrink", "copy", name)
    wait_for(partial(has_lines, copy / f"shrunk/{name}.journal", 4, process))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said.splitlines()[-1] == f"ulpfuzz: interrupted: `ulpfuzz shrink copy {name}` goes on where it stopped"
    assert "Traceback" not in said
    assert not (copy / result).exists()
    assert ulpfuzz("shrink", "copy", name).returncode == 0
    assert content(copy / result) == wanted


def test_a_candidate_that_ends_its_process_does_not_count(night: Path, ulpfuzz: Cli) -> None:
    shutil.copytree(night, ulpfuzz.folder / "copy")
    name = ids(night)["softplus"]
    (ulpfuzz.folder / f"copy/shrunk/{name}.json").unlink()
    ran = ulpfuzz("shrink", "copy", name, DIE_AFTER="9")
    assert ran.returncode == 0, ran.stderr
    assert "shrunk to 1 element" in ran.stderr


@pytest.mark.long
def test_no_time_no_result(ulpfuzz: Cli) -> None:
    planted(ulpfuzz.folder)
    for options in (("--no-shrink",), ("--shrink", "0s")):
        assert ulpfuzz("run", "c.toml", "--out", f"c{len(options)}", *options).returncode == 0
        assert not (ulpfuzz.folder / f"c{len(options)}" / "shrunk").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "there is no directory nowhere"),
        (("night", "ffff"), "no trial and no finding 'ffff'"),
        (("night", "--time", "soon"), "cannot read the time 'soon'"),
    ],
)
def test_odd_calls_are_one_line(night: Path, ulpfuzz: Cli, arguments: tuple[str, ...], said: str) -> None:
    ran = ulpfuzz("shrink", *(str(night) if a == "night" else a for a in arguments))
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
