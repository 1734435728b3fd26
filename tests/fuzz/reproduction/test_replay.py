"""`ulpfuzz replay` and case files: fixed, still there, moved, not runnable here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from kernels import EXTENSION
from reproductions import group_of
from running import Cli

from fuzz.errors import UserError
from fuzz.reproduction.case import Answer, Case, Expected, read_case, restored, stored, to_json
from fuzz.reproduction.replay import FIXED, MOVED, NOT_RUN, STILL, judge
from fuzz.reproduction.subject import find
from fuzz.reproduction.writing import Wanted, Writing
from fuzz.targets import Target
from strategies.precision import precision

MENDED = EXTENSION.replace("MENDED = False", "MENDED = True")


def test_everything_is_still_there_then_mended(night: Path, ulpfuzz: Cli) -> None:
    ran = ulpfuzz("replay", night)
    assert ran.returncode == 1, ran.stderr
    *lines, total = ran.stdout.splitlines()
    assert len(lines) >= 12
    assert all(line.startswith("still there") for line in lines), ran.stdout
    assert total == f"{len(lines)} still there"
    (ulpfuzz.folder / "my kernel.py").write_text(MENDED)
    ran = ulpfuzz("replay", night, "--extension", "my kernel.py")
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.splitlines()[-1] == f"{len(lines)} fixed"


def test_what_moved_and_what_cannot_run(night: Path, ulpfuzz: Cli) -> None:
    name = group_of(night, "exp", "wrong").id
    ulpfuzz.ok("repro", night, name, "--json", "case.json")
    smaller = EXTENSION.replace("1.05 * np.exp(v)", "1.0005 * np.exp(v)")
    (ulpfuzz.folder / "my kernel.py").write_text(smaller)
    ran = ulpfuzz("replay", "case.json", "--extension", "my kernel.py")
    assert ran.returncode == 1
    assert ran.stdout.startswith("moved ")
    assert re.search(r"was wrong, rho 1\.\d+e\+05, now wrong, rho 1\.\d+e\+03", ran.stdout)
    case = json.loads((ulpfuzz.folder / "case.json").read_text())
    case["extensions"] = [str(ulpfuzz.folder / "gone.py")]
    (ulpfuzz.folder / "case.json").write_text(json.dumps(case))
    ran = ulpfuzz("replay", "case.json")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "not runnable here" in ran.stdout
    assert "gone.py is not a file" in ran.stdout


def test_a_case_by_value_holds_the_smallest_inputs(night: Path, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    Writing(find(night, group_of(night, "softplus").id), Wanted(json=path)).run()
    case = read_case(path)
    (array,) = case.given.values()
    assert (array.dtype, array.shape) == ("float32", (1,))
    assert case.expected.verdict == "unstable"
    assert to_json(case) == path.read_text()


def case(verdict: str, rho: float | None) -> Case:
    return Case("", "t", {}, Target("numpy", "cpu", "float32"), "y", Expected(verdict, rho))


@pytest.mark.parametrize(
    ("then", "now", "status"),
    [
        (("unstable", 1e5), ("unstable", 2e5), STILL),
        (("unstable", 1e5), ("unstable", 2e3), MOVED),
        (("unstable", 1e5), ("wrong", 1e5), MOVED),
        (("unstable", 1e5), ("rounding", 0.5), FIXED),
        (("unstable", 1e5), ("accumulation_order", 5.0), FIXED),
        (("unstable", 1e5), ("indeterminate", None), MOVED),
        (("nonfinite_mismatch", 0.0), ("nonfinite_mismatch", 0.4), STILL),
        (("input_modified", None), ("crashed", None), STILL),
        (("raised", None), ("crashed", None), MOVED),
        (("crashed", None), ("exact", 0.0), FIXED),
    ],
)
def test_what_became_of_a_finding(then: tuple[str, float | None], now: tuple[str, float | None], status: str) -> None:
    assert judge(case(*then), Answer(*now)).status == status
    assert judge(case(*then), Answer(*now, reason="no library")).status == NOT_RUN


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [3, 100])
def test_arrays_come_back_bit_for_bit(dtype: str, size: int) -> None:
    import numpy as np

    p = precision(dtype)
    values = np.resize([-0.0, np.nan, np.inf, p.smallest_subnormal, p.largest, 1 / 3], size).astype(dtype)
    again = restored(stored(values))
    assert again.dtype == values.dtype
    assert np.array_equal(again, values, equal_nan=True)
    assert np.array_equal(np.signbit(again), np.signbit(values))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "is no case file"),
        ('{"format": "ulpfuzz case 1"}', "is damaged"),
        ('{"format": "ulpfuzz case 9"}', "is no case file"),
    ],
)
def test_a_file_that_is_no_case_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "case.json").write_text(text)
    with pytest.raises(UserError, match=said) as raised:
        read_case(tmp_path / "case.json")
    assert "\n" not in str(raised.value)


def test_odd_calls_are_one_line(ulpfuzz: Cli, night: Path) -> None:
    (ulpfuzz.folder / "case.json").write_text("{}")
    for arguments, said in (
        (("repro", "case.json", "5"), "is a case file"),
        (("repro", night), "name a trial or a finding"),
        (("replay", "nowhere"), "there is no directory nowhere"),
        (("replay", night, "--extension", "other.py"), "has no extension called other.py"),
    ):
        ran = ulpfuzz(*arguments)
        assert ran.returncode == 2, ran.stdout
        assert said in ran.stderr
        assert "Traceback" not in ran.stderr
