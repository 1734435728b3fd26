"""The doctor tries every backend in its own process and says how to mend what does not work."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from fuzz import extensions
from fuzz.backends import BACKENDS
from fuzz.cli import doctor
from fuzz.cli.doctor import Finding, exit_code, print_doctor, try_backend

EXTENSION = """
import os, time
import numpy as np
from fuzz.extend import FunctionBackend, register

class Broken(FunctionBackend):
    def warm_up(self):
        {body}

mine = Broken("mine", install="pip install mine")

@mine.operator("exp", dtypes=("float32",))
def exp(x):
    {kernel}
    return np.exp(x)

register(mine)
"""


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    before = dict(BACKENDS)
    yield
    BACKENDS.clear()
    BACKENDS.update(before)
    extensions._loaded.clear()


def tried(folder: Path, body: str = "pass", kernel: str = "pass", timeout: float = 60) -> Finding:
    path = folder / "mine.py"
    path.write_text(EXTENSION.format(body=body, kernel=kernel))
    extensions.load_extension(path)
    return try_backend("mine", [path], timeout)


def test_a_working_backend_shows_versions_devices_and_precisions() -> None:
    finding = try_backend("numpy")
    assert finding.status == "ok"
    assert finding.detail.startswith("numpy ")
    assert "devices cpu; ran bfloat16, float16, float32, float64" in finding.detail


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["scipy", "torch", "jax", "tvm"])
def test_installed_libraries_work(name: str) -> None:
    if line := BACKENDS[name].missing():
        pytest.skip(line)
    assert try_backend(name).status == "ok"


def test_an_extension_is_tried_too(tmp_path: Path) -> None:
    assert tried(tmp_path).status == "ok"


@pytest.mark.parametrize(
    ("body", "kernel", "detail"),
    [
        (
            "raise ImportError('libtorch_cpu.so: cannot open shared object file')",
            "pass",
            "ImportError: libtorch_cpu.so",
        ),
        ("os.kill(os.getpid(), 11)", "pass", "the process died of SIGSEGV"),
        ("print('no json', flush=True); os._exit(4)", "pass", "the process ended with code 4"),
        ("pass", "raise ValueError('bad\\nlast line')", "ValueError: last line"),
    ],
)
def test_a_broken_backend_says_why(tmp_path: Path, body: str, kernel: str, detail: str) -> None:
    finding = tried(tmp_path, body, kernel)
    assert finding.status == "broken"
    assert detail in finding.detail
    assert finding.fix == "pip install --force-reinstall mine"


def test_a_hanging_backend_is_given_up(tmp_path: Path) -> None:
    finding = tried(tmp_path, "time.sleep(60)", timeout=1.5)
    assert (finding.status, finding.detail) == ("broken", "no answer within 1.5 s")


def test_a_missing_backend_shows_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BACKENDS["jax"], "module", "no_such_module_here", raising=False)
    assert try_backend("jax") == Finding("backend jax", "missing", "not installed", "pip install 'ulpfuzz[jax]'")


def test_missing_extras_show_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "EXTRAS", (("no_such_module_here", "certify", "intervals"),))
    (finding,) = doctor._packages()
    assert (finding.status, finding.fix) == ("missing", "pip install 'ulpfuzz[certify]'")


def test_files_in_the_current_folder_that_shadow_us(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctor._shadowed() == []
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "__init__.py").write_text("")
    (tmp_path / "strategies.py").write_text("")
    assert [(f.subject, f.status) for f in doctor._shadowed()] == [
        ("package strategies", "note"),
        ("package results", "note"),
    ]


def test_a_mere_folder_with_our_name_is_harmless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without __init__.py it is imported only where no real package is found."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    assert doctor._shadowed() == []


def test_a_forced_blas_kernel_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert any("OPENBLAS_CORETYPE=Haswell forces" in f.detail for f in doctor._environment())
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    assert not any("forces" in f.detail for f in doctor._environment())


def test_exit_code_needs_one_working_backend() -> None:
    broken = Finding("backend tvm", "broken", "x")
    assert exit_code([Finding("cpu", "ok", "x"), broken]) == 1
    assert exit_code([broken, Finding("backend numpy", "ok", "x")]) == 0


def test_plain_lines_when_piped_and_a_table_in_a_terminal() -> None:
    findings = [Finding("backend jax", "missing", "not installed", "pip install 'ulpfuzz[jax]'")]
    piped, terminal = io.StringIO(), io.StringIO()
    print_doctor(Console(file=piped, width=40), findings)
    assert piped.getvalue() == "missing: backend jax: not installed: fix: pip install 'ulpfuzz[jax]'\n"
    print_doctor(Console(file=terminal, width=100, force_terminal=True), findings)
    assert "\x1b[" in terminal.getvalue()
    assert "ulpfuzz[jax]" in terminal.getvalue()
