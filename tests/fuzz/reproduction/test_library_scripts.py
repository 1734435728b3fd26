"""Scripts about the libraries themselves: what is known of the pinned versions is shown without ulpfuzz."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reproductions import group_of, run_script, written
from running import Cli

CAMPAIGN = """
trials = 1
targets = ["torch", "jax", "tvm"]
fail_on = "none"

[[problem]]
operator = "gelu"
dims = {n=16}
inputs = {x="uniform(-5,-4)"}
[[problem]]
operator = "sqrt"
dims = {n=64}
inputs = {x="constant(0.25012236832572388)"}
[[problem]]
operator = "tanh"
dims = {n=16}
inputs = {x="uniform(1e-8,1e-7)"}
[[problem]]
operator = "max"
dims = {rows=32,n=64}
inputs = {x="special(normal(0,1),0.05)"}
[[problem]]
operator = "group_norm"
dims = {N=1,G=1,D=2,L=16}
inputs = {x="offset(1e4,1)"}
[[problem]]
operator = "exp"
dims = {n=16}
inputs = {x="uniform(-100,-90)"}
"""
CASES = [
    ("gelu", "torch", "unstable"),
    ("max", "tvm", "nonfinite_mismatch"),
    ("exp", "jax", "subnormals_flushed"),
    pytest.param("sqrt", "torch", "not_correctly_rounded", marks=pytest.mark.long),
    pytest.param("tanh", "tvm", "unstable", marks=pytest.mark.long),
    pytest.param("group_norm", "tvm", "", marks=pytest.mark.long),
]
pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign on torch, jax and tvm."""
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "c.toml").write_text(CAMPAIGN)
    ran = Cli(folder)("run", "c.toml", "--out", "c")
    assert ran.returncode == 0, ran.stderr
    return folder / "c"


@pytest.mark.parametrize(("operator", "library", "verdict"), CASES)
def test_a_defect_of_a_library(libraries: Path, tmp_path: Path, operator: str, library: str, verdict: str) -> None:
    group = group_of(libraries, operator, verdict, library=library)
    text, ran = written(libraries, group.id, tmp_path / "s.py")
    assert ran.failed
    source = (tmp_path / "s.py").read_text()
    assert not re.search(r"^\s*(from|import) (fuzz|results|strategies)\b", source, re.MULTILINE)
    assert re.search(rf"^import {library}$", source, re.MULTILINE)
    assert ran.output.startswith(f"{library} ")
    assert run_script(tmp_path / "s.py").returncode == 1
    assert all(values.size <= (64 if operator == "sqrt" else 4) for values in text.inputs.values()), source
