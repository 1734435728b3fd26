"""What works on this machine, what is missing, and the line that mends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from rich.console import Console
from rich.table import Table
from rich.text import Text

import fuzz
from fuzz.backends import BACKENDS
from fuzz.backends.base import present
from fuzz.campaigns.environment import environment, environment_id
from fuzz.cli.doctor_x64 import VARIABLE, WHAT_TO_DO, Line, x64_lines
from fuzz.extensions import load_entry_points, load_extension

Status: TypeAlias = Literal["ok", "note", "missing", "broken"]

EXTRAS = (
    ("flint", "certify", "rigorous intervals (Arb) for flagged trials"),
    ("mpmath", "certify", "reference values in any precision"),
)
"""Module, extra that installs it, what it is for."""

PROBE_SECONDS = 120.0
"""Importing TVM took 16 s on a busy two-core machine; a cold disk takes longer."""

_STYLES: dict[Status, str] = {"ok": "green", "note": "yellow", "missing": "yellow", "broken": "red"}


class Finding(Struct, frozen=True):
    """One fact about the installation. `fix` is what to do about it, or empty."""

    subject: str
    status: Status
    detail: str
    fix: str = ""


def diagnose(extensions: Sequence[Path] = (), timeout: float = PROBE_SECONDS) -> list[Finding]:
    """Environment, packages, then every backend, each tried in a process of its own (all at the same time)."""
    for path in extensions:
        load_extension(path)
    load_entry_points()
    with ThreadPoolExecutor(len(BACKENDS) + 1) as pool:
        wide = pool.submit(x64_lines, timeout)
        backends = pool.map(lambda name: try_backend(name, extensions, timeout), BACKENDS)
        return [*_environment(), *_packages(), *_shadowed(), *backends, *x64_findings(wide.result())]


def exit_code(findings: Iterable[Finding]) -> int:
    """0 when at least one backend works, else 1."""
    return 0 if any(f.subject.startswith("backend ") and f.status == "ok" for f in findings) else 1


def print_doctor(console: Console, findings: Sequence[Finding]) -> None:
    """A table in a terminal, one line a finding when piped."""
    if not console.is_terminal:
        for finding in findings:
            parts = (finding.status, finding.subject, finding.detail, finding.fix and f"fix: {finding.fix}")
            console.print(": ".join(filter(None, parts)), markup=False, highlight=False, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "found", "to mend it"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        status = Text(finding.status, _STYLES[finding.status])
        table.add_row(status, Text(finding.subject), Text(finding.detail), Text(finding.fix))
    console.print(table)


def x64_findings(tried: list[Line] | str | None) -> list[Finding]:
    """What to expect of float64 in jax, way by way, and what to do."""
    if tried is None:
        return [Finding("jax float64", "missing", "jax is not installed, so nothing of it was tried")]
    if isinstance(tried, str):
        return [Finding("jax float64", "broken", tried)]
    lines = [Finding("jax float64", "note" if one.surprises else "ok", f"{one.way}: {one.expect}") for one in tried]
    told = [Finding("jax float64", "ok", f"what to do: {WHAT_TO_DO}")]
    here = os.environ.get(VARIABLE)
    if here is not None:
        told.append(Finding("jax float64", "note", f"{VARIABLE}={here} is set in this environment"))
    return [*lines, *told]


def try_backend(name: str, extensions: Sequence[Path] = (), timeout: float = PROBE_SECONDS) -> Finding:
    """Import the backend and run one tiny operator in every format, in a process of its own."""
    subject, found = f"backend {name}", BACKENDS[name]
    if (line := found.missing()) is not None:
        return Finding(subject, "missing", "not installed", line)
    again = found.install.replace("pip install", "pip install --force-reinstall") if found.install else ""
    root = str(Path(fuzz.__file__).resolve().parent.parent)
    command = [sys.executable, "-P", "-m", "fuzz.cli.doctor_probe", name, *(str(path.resolve()) for path in extensions)]
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
    except subprocess.TimeoutExpired:
        return Finding(subject, "broken", f"no answer within {timeout:g} s", again)
    facts = _last_json(done.stdout)
    if facts is None:
        return Finding(subject, "broken", _death(done.returncode, done.stderr), again)
    if "error" in facts:
        return Finding(subject, "broken", str(facts["error"]), again)
    return _working(subject, facts)


def _working(subject: str, facts: dict[str, Any]) -> Finding:
    versions = ", ".join(f"{key} {value}" for key, value in facts["versions"].items())
    devices = ", ".join(facts["devices"])
    failed = {dtype: reason for dtype, reason in facts["runs"].items() if reason}
    if len(failed) == len(facts["runs"]):
        return Finding(subject, "broken", f"runs nothing: {next(iter(failed.values()))}")
    notes = [f"{dtype} does not run: {reason}" for dtype, reason in failed.items()]
    if facts["flushes_subnormals"]:
        notes.append("importing it makes this process flush subnormal numbers to zero")
    ran = ", ".join(dtype for dtype in facts["runs"] if dtype not in failed)
    return Finding(subject, "ok", "; ".join(filter(None, (versions, f"devices {devices}", f"ran {ran}", *notes))))


def _last_json(output: str) -> dict[str, Any] | None:
    lines = output.strip().splitlines()
    try:
        value = json.loads(lines[-1]) if lines else None
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _death(code: int, errors: str) -> str:
    if code < 0:
        return f"the process died of {signal.Signals(-code).name}"
    lines = errors.strip().splitlines()
    return f"the process ended with code {code}" + (f": {lines[-1]}" if lines else "")


def _environment() -> list[Finding]:
    facts = environment()
    kernels = ", ".join(f"{b['library']} {b['version']} kernel {b['kernel']}" for b in facts["blas"])
    where = f"{facts['python']}, {facts['platform']}, {facts['libc']}"
    findings = [
        Finding("environment", "ok", f"ulpfuzz {fuzz.__version__}, {where}, id {environment_id(facts)}"),
        Finding("cpu", "ok", f"{facts['cpu']}: {' '.join(facts['cpu_flags']) or 'instruction sets unknown'}"),
        Finding("BLAS of NumPy", "ok" if kernels else "note", kernels or "not recognised by threadpoolctl"),
        Finding("variables", "ok", " ".join(f"{k}={v}" for k, v in facts["variables"].items()) or "none set"),
    ]
    if coretype := facts["variables"].get("OPENBLAS_CORETYPE"):
        detail = f"OPENBLAS_CORETYPE={coretype} forces this kernel: NumPy and SciPy may compute other bits without it"
        findings.append(Finding("BLAS of NumPy", "note", detail, "unset OPENBLAS_CORETYPE to test what users run"))
    bits = facts["longdouble_bits"]
    if bits >= 64:
        return [*findings, Finding("long double", "ok", f"{bits} significant bits")]
    return [*findings, Finding("long double", "note", f"{bits} significant bits: float64 truths take a slower road")]


def _packages() -> list[Finding]:
    findings = []
    for module, extra, purpose in EXTRAS:
        if present(module):
            findings.append(Finding(f"package {module}", "ok", purpose))
        else:
            line = f"pip install 'ulpfuzz[{extra}]'"
            findings.append(Finding(f"package {module}", "missing", f"{purpose}: not installed", line))
    return findings


def _shadowed() -> list[Finding]:
    """Modules in the current folder that a script started here would import in place of ours."""
    findings = []
    root = Path(fuzz.__file__).resolve().parent.parent
    for name in fuzz.SIBLINGS:
        spec = PathFinder.find_spec(name, [os.getcwd()])
        if spec is None or spec.origin is None:  # absent, or a mere folder: it gives way to a real package
            continue
        place = Path(spec.origin)
        if root not in place.resolve().parents:
            detail = f"./{place.relative_to(Path.cwd())} hides ulpfuzz's own from scripts started in this folder"
            findings.append(
                Finding(f"package {name}", "note", detail, "rename it, or start Python from another folder")
            )
    return findings
