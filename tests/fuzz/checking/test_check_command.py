"""`ulpfuzz check` on functions of a file: exit codes, the script of what it finds, hanging and dying functions."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from running import Cli

MINE = """
import ctypes, time
import numpy as np

def right(x):
    return np.tanh(x)

def wrong(x):
    return np.tanh(x) * np.float32(1.001)

def hangs(x):
    time.sleep(100)

def dies(x):
    ctypes.string_at(8)

def slow(x):
    time.sleep(0.05)
    return np.tanh(x)

def methods(x):
    return x.sigmoid().clamp(min=0.25)
"""
INPUT = ("--input", "x=normal(0,1)[30]", "--trials", "5")


@pytest.fixture
def cli(ulpfuzz: Cli) -> Cli:
    (ulpfuzz.folder / "mine.py").write_text(MINE)
    return ulpfuzz


def test_what_is_wrong_is_found_and_reproduced(cli: Cli) -> None:
    ran = cli("check", "mine:right", "mine.py:wrong", *INPUT, "--out", "c", ULPFUZZ_SHRINK="10s")
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith("wrong: right and wrong are different functions: they differ by 0.00")
    assert "example: shrunk to 1 element: x = 1.0" in ran.stdout
    (again,) = re.findall(r"again: ulpfuzz repro c (\w+)", ran.stdout)
    assert cli("repro", "c", again, "--script", "s.py").returncode == 1
    script = (cli.folder / "s.py").read_text()
    assert "extension.wrong(x=x)" in script
    assert "import fuzz" not in script
    assert "from fuzz" not in script
    run = subprocess.run([sys.executable, "-I", "s.py"], cwd=cli.folder, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "DEFECT" in run.stdout
    assert "1 still there" in cli("replay", "c").stdout


def test_the_answer_as_json(cli: Cli) -> None:
    ran = cli("check", "mine:right", *INPUT, "--json", "--out", "c")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["verdict"] in ("exact", "rounding")


def test_ctrl_c_says_where_the_trials_are(cli: Cli) -> None:
    arguments = ["check", "mine:slow", *INPUT[:2], "--trials", "5000", "--out", "c"]
    process = subprocess.Popen(
        [sys.executable, "-m", "fuzz.cli", *arguments], cwd=cli.folder, stderr=subprocess.PIPE, text=True
    )
    waited = time.monotonic() + 60
    while not list((cli.folder / "c").glob("log.jsonl")) and time.monotonic() < waited:
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "finished trials are kept, ulpfuzz report c shows them; ulpfuzz resume runs the others" in told


def test_what_a_module_prints_is_no_part_of_the_answer(cli: Cli) -> None:
    (cli.folder / "loud.py").write_text("print('loading')\n" + MINE)
    ran = cli("check", "loud.py:right", *INPUT, "--json", "--out", "c")
    assert json.loads(ran.stdout)["verdict"] in ("exact", "rounding")


def test_a_function_that_calls_methods_only_gets_arrays_that_have_them(cli: Cli) -> None:
    """Nothing names torch, and nothing has imported it."""
    ran = cli("check", "mine:methods", *INPUT, "--out", "c", "--json", "--no-shrink", "--call-timeout", "inf")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["lines"][0]["library"] == "torch"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mine:right", "mine:hangs", *INPUT, "--call-timeout", "1"), "calling hangs did not end within 1 s"),
        (("mine:right", "mine:dies", *INPUT), "calling dies ended the process with SIGSEGV"),
        (("mine:right", "mine:absent", *INPUT), "mine has no 'absent'"),
        (("right", *INPUT), "write module:function"),
        (("mine:right",), "a check needs inputs"),
        (("mine:right", "--input", "x"), "expected INPUT=RECIPE"),
        (("mine:right", *INPUT, "--variants", "bach"), "unknown variant 'bach'"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    ran = cli("check", *arguments)
    assert ran.returncode == 2
    assert words in ran.stderr
    assert ran.stderr.count("ulpfuzz: ") == 1
    assert "Traceback" not in ran.stderr
