"""The environment record: what can change bits, nothing about who or where, the same in every process."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import fuzz
from fuzz.campaigns.environment import cpu, environment, environment_id, variables
from strategies.canonical import canonical

ROOT = Path(__file__).parents[3]


def test_it_is_json_and_has_what_changes_bits() -> None:
    facts = environment()
    assert json.loads(canonical(facts)) == facts
    assert {"ulpfuzz", "numpy", "scipy"} <= set(facts["versions"])
    assert facts["longdouble_bits"] >= 53
    assert facts["cpu"]
    assert len(environment_id(facts)) == 16


def test_it_names_no_user_host_or_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "secret-host")
    monkeypatch.setenv("USER", "secret-user")
    text = canonical(environment())
    assert str(Path.home()) not in text
    assert str(ROOT) not in text
    assert "secret" not in text


def test_paths_in_variables_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", f"--xla_cpu_max_isa=AVX2 --xla_dump_to={os.sep}home{os.sep}me")
    assert variables()["XLA_FLAGS"] == "--xla_cpu_max_isa=AVX2 --xla_dump_to=..."


def test_thread_variables_change_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment_id(environment())
    monkeypatch.setenv("MKL_NUM_THREADS", "63")
    assert environment_id(environment()) != before


def test_other_libraries_in_the_process_do_not_change_it() -> None:
    code = (
        "from fuzz.campaigns.environment import *\n"
        "before = environment_id(environment())\n"
        "import scipy.linalg.blas\n"
        "assert environment_id(environment()) == before\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environ)


def test_it_is_quick() -> None:
    environment()
    start = time.process_time()
    environment()
    assert time.process_time() - start < 0.3


def test_cpu_flags_are_instruction_sets() -> None:
    model, flags = cpu()
    assert model
    assert "smep" not in flags
    assert list(flags) == sorted(flags)


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert fuzz.__version__ == project["version"]


@pytest.mark.parametrize("name", fuzz.SIBLINGS)
def test_a_shadowing_module_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; sys.path.append({str(ROOT)!r}); import fuzz"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: ulpfuzz needs its own package '{name}', but {tmp_path / name}.py is imported")
    assert "rename it" in last
