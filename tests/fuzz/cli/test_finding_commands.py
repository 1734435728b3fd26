"""`ulpfuzz findings` and the options of `run` about findings, in a process of their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from running import Cli

import results
from results.findings_file import read_findings

EXTENSION = """
import numpy as np
from fuzz.extend import FunctionBackend, register

mine = FunctionBackend("mine")


@mine.operator("softplus")
def naive(x):
    return np.log(1 + np.exp(x))


@mine.operator("tanh")
def right(x):
    return np.tanh(x.astype("f8")).astype(x.dtype)


register(mine)
"""
RUN = ("run", "softplus", "tanh", "--extension", "mine.py", "--targets", "mine", "--trials", 5, "--dims", "n=64")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a campaign that has one finding."""
    cli = Cli(tmp_path_factory.mktemp("nights"))
    (cli.folder / "mine.py").write_text(EXTENSION)
    assert cli(*RUN, "--input", "x=uniform(-30,-20)", "--out", "night").returncode == 1
    return cli.folder


@pytest.fixture
def night(ulpfuzz: Cli, made: Path) -> Path:
    """A copy of it."""
    shutil.copytree(made, ulpfuzz.folder, dirs_exist_ok=True)
    return ulpfuzz.folder / "night"


def test_findings_are_listed_with_what_repeats_them(ulpfuzz: Cli, night: Path) -> None:
    listed = ulpfuzz("findings", "night")
    assert listed.returncode == 1, listed.stderr
    (one,) = results.open(night).findings
    assert f"{one.id}  mine:cpu softplus (y) in float32: unstable, x < -8.3" in listed.stdout
    assert "5 of 5 trials = 100 % [48, 100]; worst: rho" in listed.stdout
    assert f"ulpfuzz repro night {one.trial}  # finding {one.id}" in listed.stdout
    assert "fails: 1 finding is new" in listed.stdout
    assert ulpfuzz("repro", "night", one.trial).returncode == 1


def test_a_run_leaves_its_findings_as_a_table(ulpfuzz: Cli, night: Path) -> None:
    assert read_findings(night) == list(results.open(night).findings)


def test_json_is_nothing_but_json(ulpfuzz: Cli, night: Path) -> None:
    ran = ulpfuzz("findings", "night", "--json", "--github")
    said = json.loads(ran.stdout)
    (one,) = said["findings"]
    assert (said["failed"], one["verdict"], one["known"]) == (True, "unstable", None)
    assert one["region"] == "x < -8.3"
    assert "::error title=mine%3Acpu softplus (y) in float32%3A unstable%2C x < -8.3::" in ran.stderr


def test_from_a_starting_file_to_a_passing_night(ulpfuzz: Cli, night: Path) -> None:
    assert ulpfuzz("findings", "night", "--write-known", "known.toml").returncode == 1
    again = ulpfuzz("findings", "night", "--write-known", "known.toml")
    assert again.returncode == 2
    assert "known.toml exists: name a new file" in again.stderr
    refused = ulpfuzz("findings", "night", "--known", "known.toml")
    assert refused.returncode == 2
    assert "known.toml: entry 1 has no reason: add reason =" in refused.stderr
    known = ulpfuzz.folder / "known.toml"
    known.write_text(known.read_text().replace('reason = ""', 'reason = "log(1 + exp x)"'))
    passed = ulpfuzz("findings", "night", "--known", "known.toml", "--junit", "night.xml")
    assert passed.returncode == 0
    assert "New findings: none" in passed.stdout
    assert "known (entry 1: softplus" in passed.stdout
    assert "log(1 + exp x)" in passed.stdout
    cases = {
        case.get("name"): [c.tag for c in case]
        for case in ElementTree.parse(ulpfuzz.folder / "night.xml").iter("testcase")
    }
    assert cases == {"softplus mine:cpu float32": ["skipped"], "tanh mine:cpu float32": []}


@pytest.mark.parametrize(
    ("rule", "code", "said"),
    [
        ("new", 1, "1 finding is new"),
        ("wrong", 0, "no finding is new and wrong"),
        ("none", 0, "never fails"),
        ("rate>0.5", 1, "flagged rates are above 0.5"),
        ("rate>0.9", 0, "no flagged rate is above 0.9"),
        ("rate>2", 2, "2 is no rate"),
        ("often", 2, "cannot read --fail-on 'often'"),
    ],
)
def test_rules(ulpfuzz: Cli, night: Path, rule: str, code: int, said: str) -> None:
    ran = ulpfuzz("findings", "night", "--fail-on", rule)
    assert ran.returncode == code, ran.stderr
    assert said in " ".join((ran.stdout + ran.stderr).split())


def test_a_file_that_cannot_be_written_is_one_line(ulpfuzz: Cli, night: Path) -> None:
    ran = ulpfuzz("findings", "night", "--junit", "no/such/folder.xml")
    assert ran.returncode == 3
    assert "no/such/folder.xml cannot be written: No such file or directory: name another file" in ran.stderr
    assert "Traceback" not in ran.stderr
