"""Scripts of planted faults: they fail in a fresh process without ulpfuzz's packages, and pass once the kernel is
mended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reproductions import group_of, mended, run_script, written
from running import Cli

KINDS = [
    ("softplus", "unstable", "rho"),
    ("exp", "wrong", "rho"),
    ("tanh", "dtype_mismatch", "dtype    float16"),
    ("sum", "crashed", "the process died of SIGSEGV"),
    ("mean", "raised", "planted trouble"),
    ("prod", "raised", "shape    (1,)"),
    ("sqrt", "out_of_bounds_write", "changed  4 bytes outside the output"),
    ("cos", "input_modified", "changed  1 of 1 inputs"),
    ("erf", "out_of_range", "range    -1.0 to 1.0"),
    ("add", "not_correctly_rounded", "1 ulp; IEEE 754 allows 0.5 ulp"),
    ("log", "nonfinite_mismatch", "value    1.5"),
]


@pytest.mark.parametrize(("operator", "verdict", "shown"), KINDS)
def test_a_script_for_each_way_to_fail(night: Path, tmp_path: Path, operator: str, verdict: str, shown: str) -> None:
    script = tmp_path / "script.py"
    text, ran = written(night, group_of(night, operator, verdict).id, script)
    assert ran.failed
    assert shown in ran.output
    assert ran.output.splitlines()[0].startswith("NumPy ")
    source = script.read_text()
    assert not re.search(r"^\s*(from|import) (fuzz|results|strategies)\b", source, re.MULTILINE)
    assert not text.note
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]
    again = run_script(script)
    assert (again.returncode, again.stdout) == (1, ran.output)
    good = run_script(mended(night, script))
    assert good.returncode == 0, good.stdout + good.stderr
    assert good.stdout.splitlines()[-1].startswith("gone: ")


def test_one_element_is_enough_for_a_formula(night: Path, tmp_path: Path) -> None:
    written(night, group_of(night, "softplus").id, tmp_path / "s.py")
    assert re.search(r"^x = np\.array\(\[-\d+\.0\], np\.float32\)$", (tmp_path / "s.py").read_text(), re.MULTILINE)


def test_a_vector_body_keeps_the_length_it_needs(night: Path, tmp_path: Path) -> None:
    text, _ = written(night, group_of(night, "add", "not_correctly_rounded").id, tmp_path / "s.py")
    assert text.inputs["x"].shape == (16,)
    assert "np.full((16,), " in (tmp_path / "s.py").read_text()


def test_large_inputs_lie_beside_the_script(night: Path, tmp_path: Path) -> None:
    text, ran = written(night, group_of(night, "cosh").id, tmp_path / "large one.py")
    assert ran.failed
    assert 5000 < text.inputs["x"].size < 6000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large one.npz", "large one.py"]
    assert len((tmp_path / "large one.py").read_text().splitlines()) < 70
    assert run_script(mended(night, tmp_path / "large one.py")).returncode == 0


def test_a_finding_is_shown_by_its_id(night: Path, ulpfuzz: Cli) -> None:
    ran = ulpfuzz("repro", night, group_of(night, "softplus").id)
    assert ran.returncode == 1
    assert "outputs equal bit for bit" in ran.stdout


def test_a_crash_has_the_smallest_inputs(night: Path, tmp_path: Path) -> None:
    text, _ = written(night, group_of(night, "sum").id, tmp_path / "s.py")
    assert text.inputs["x"].size == 1


def test_a_kernel_without_a_name_goes_through_ulpfuzz_and_says_so(night: Path, tmp_path: Path) -> None:
    text, ran = written(night, group_of(night, "sinh", "wrong").id, tmp_path / "s.py")
    assert ran.failed
    assert "'kernel' is no name in the module that registers it" in text.note
    assert "The kernel has no text of its own" in (tmp_path / "s.py").read_text()


@pytest.mark.parametrize("dtype", [pytest.param("float16", marks=pytest.mark.long), "bfloat16"])
def test_sixteen_bit_faults(ulpfuzz: Cli, tmp_path: Path, dtype: str) -> None:
    from kernels import EXTENSION

    (tmp_path / "kernel.py").write_text(EXTENSION)
    options = ("--dims", "n=8", "--dtype", dtype, "--targets", "mine", "--extension", "kernel.py", "--trials", 1)
    ulpfuzz.ok("run", "exp", *options, "--out", "c")
    _, ran = written(tmp_path / "c", group_of(tmp_path / "c", "exp").id, tmp_path / "s.py")
    assert ran.failed
    source = (tmp_path / "s.py").read_text()
    assert ("import ml_dtypes" in source) == (dtype == "bfloat16")
    assert run_script(mended(tmp_path / "c", tmp_path / "s.py")).returncode == 0


def test_the_command_writes_all_four_files(night: Path, ulpfuzz: Cli, tmp_path: Path) -> None:
    name = group_of(night, "softplus").id
    files = ("--script", "s.py", "--markdown", "s.md", "--pytest", "test_s.py", "--json", "s.json")
    ran = ulpfuzz("repro", night, name[:6], *files)
    assert ran.returncode == 1, ran.stderr
    assert "s.py: exits 1, the defect is there (value " in ran.stdout
    assert f"s.json: still there       {name}  mine:cpu softplus (y) in float32" in ran.stdout
    report = (tmp_path / "s.md").read_text()
    headings = [line for line in report.splitlines() if line.startswith("#")]
    assert [h for h in headings if h.startswith("## ")] == [
        "## Script",
        "## Output",
        "## Truth",
        "## Settings",
        "## Why this is not rounding",
        "## How often",
    ]
    assert (tmp_path / "s.py").read_text() in report
    assert "3 of 3 trials = 100 % [29, 100] where x < -8.3 (the plan fixed" in report
    shown = ulpfuzz("repro", "s.json")
    assert (shown.returncode, shown.stderr) == (1, "")
    assert "still there" in shown.stdout


@pytest.mark.parametrize("operator", [pytest.param("softplus", marks=pytest.mark.long), "sum"])
def test_the_test_fails_while_the_defect_is_there(night: Path, tmp_path: Path, operator: str) -> None:
    import subprocess
    import sys

    from fuzz.reproduction.subject import find
    from fuzz.reproduction.writing import Wanted, Writing

    name = group_of(night, operator).id
    test = tmp_path / "test_it.py"
    assert Writing(find(night, name), Wanted(pytest=test)).run() == 1
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test), "--rootdir", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert ran.returncode == 1, ran.stdout
    assert "1 failed" in ran.stdout
    test.write_text(test.read_text().replace("# @pytest.mark.xfail", "@pytest.mark.xfail"))
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert ran.returncode == 0, ran.stdout
    assert "1 xfailed" in ran.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ffffffffff", "no trial and no finding 'ffffffffff'"),
        ("nothing", "no trial and no finding 'nothing'"),
        ("99", "no trial '99'"),
    ],
)
def test_unknown_names_are_one_line(night: Path, ulpfuzz: Cli, name: str, said: str) -> None:
    ran = ulpfuzz("repro", night, name, "--script", "s.py")
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (ulpfuzz.folder / "s.py").exists()


def test_a_trial_without_a_finding_is_refused(ulpfuzz: Cli) -> None:
    ulpfuzz.ok("run", "exp", "--dims", "n=4", "--targets", "numpy", "--trials", 1, "--out", "c")
    ran = ulpfuzz("repro", "c", "0", "--script", "s.py")
    assert ran.returncode == 2
    assert "has no finding (numpy:cpu: " in ran.stderr
    assert "there is nothing to reproduce" in ran.stderr


def test_a_file_that_cannot_be_written(night: Path, ulpfuzz: Cli) -> None:
    ran = ulpfuzz("repro", night, group_of(night, "softplus").id, "--script", "no/such/folder/s.py")
    assert ran.returncode == 3
    assert "no/such/folder/s.py cannot be written" in ran.stderr
    assert "Traceback" not in ran.stderr
