"""`ulpfuzz repro`: the same bits in a fresh process, whatever the target, and no surprises where it was deadly."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Cli, rows_of

RUN = ("run", "sum", "--dims", "rows=3,n=8", "--trials", 8)


def test_both_precisions_of_a_trial(ulpfuzz: Cli) -> None:
    ulpfuzz.ok(*RUN, "--targets", "numpy,numpy[dtype=float64]", "--pair", "numpy/numpy[dtype=float64]", "--out", "c")
    trial = next(row["trial"] for row in rows_of(ulpfuzz.folder / "c").values() if row["index"] == 5)
    for name in (trial, "5"):
        shown = ulpfuzz.ok("repro", "c", name).stdout
        assert "inputs equal the campaign's bit for bit; outputs equal bit for bit" in shown
        assert shown.count("numpy:cpu[dtype=float64]") >= 2


@pytest.mark.long
def test_a_trial_of_several_problems_needs_its_full_name(ulpfuzz: Cli) -> None:
    options = ("--trials", 3, "--targets", "numpy", "--dtype", "float32", "--dtype", "float64", "--out", "c")
    ulpfuzz.ok("run", "exp", "--dims", "n=4", *options)
    ran = ulpfuzz("repro", "c", "1")
    assert ran.returncode == 2
    names = sorted({row["trial"] for row in rows_of(ulpfuzz.folder / "c").values() if row["index"] == 1})
    assert all(name in ran.stderr for name in names)
    assert all("outputs equal bit for bit" in ulpfuzz.ok("repro", "c", name).stdout for name in names)


def test_changed_bits_are_said(ulpfuzz: Cli, tmp_path: Path) -> None:
    text = "from fuzz.extend import FunctionBackend, register\nb = FunctionBackend('mine')\n"
    text += "b.operator('sum')(lambda x, *, axis: x.sum(axis=axis){change})\nregister(b)\n"
    (tmp_path / "mine.py").write_text(text.format(change=""))
    ulpfuzz.ok(*RUN, "--targets", "numpy,mine", "--extension", "mine.py", "--out", "c")
    (tmp_path / "c" / "extensions" / "000_mine.py").write_text(text.format(change=" * x.dtype.type(1.0000002)"))
    shown = ulpfuzz.ok("repro", "c", "3").stdout
    assert "mine:cpu: output bits differ from the campaign's" in shown
    assert "1 of 2 outputs equal bit for bit" in shown


def test_a_deadly_trial_is_announced_and_survived(ulpfuzz: Cli, planted: Path) -> None:
    ulpfuzz.ok(*RUN, "--targets", "segv", "--extension", planted, "--out", "c")
    deadly = [row["index"] for row in rows_of(ulpfuzz.folder / "c").values() if row["verdict"] == "crashed"]
    ran = ulpfuzz("repro", "c", str(deadly[0]))
    assert ran.returncode == 1
    assert "careful: segv:cpu ended its process on this trial" in ran.stdout
    assert ran.stderr.splitlines()[-1] == "the trial ended its process with SIGSEGV"


@pytest.mark.long
def test_a_trial_whose_shard_is_missing(ulpfuzz: Cli) -> None:
    ulpfuzz.ok(*RUN, "--targets", "numpy", "--shard-trials", 4, "--out", "c")
    (ulpfuzz.folder / "c" / "parts" / "00000001.parquet").unlink()
    assert "the campaign holds no rows of this trial" in ulpfuzz.ok("repro", "c", "6").stdout
