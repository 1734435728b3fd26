"""Run a script in a fresh process, as whoever receives it would."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

from fuzz.reproduction.saving import save, save_beside, storing
from fuzz.reproduction.script import Text
from fuzz.threads import given_threads

SECONDS = 300.0
DEFECT = "DEFECT: "


class Ran(Struct, frozen=True):
    """How a script ended."""

    code: int
    output: str
    error: str

    @property
    def failed(self) -> bool:
        """Whether it found the defect. (A script that breaks ends with 1, too, but does not say so.)"""
        return self.code == 1 and self.output.rstrip().rpartition("\n")[2].startswith(DEFECT)

    @property
    def why(self) -> str:
        """What went wrong, in a line."""
        lines = [line for line in (self.error or self.output).strip().splitlines() if line.strip()]
        return f"exit code {self.code}" + (f": {lines[-1].strip()[:200]}" if lines else "")


def run_file(path: Path) -> Ran:
    """Run the script at `path` with this interpreter, in its folder, with the threads the user's shell would give."""
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH" and key not in given_threads()
    }
    try:
        ran = subprocess.run(
            [sys.executable, str(path.resolve())],
            cwd=path.resolve().parent,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Ran(124, "", f"it did not end within {SECONDS:g} s")
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def try_out(text: Text, path: Path | None = None) -> Ran:
    """Run a script; where it fails it is kept at `path`. Nothing that does not fail is left there."""
    if path is None:
        with tempfile.TemporaryDirectory(prefix="ulpfuzz-") as folder:
            return try_out(text, Path(folder) / "script.py")
    attempt = path.with_name(f".{path.stem}.{os.getpid()}.py")
    try:
        save(attempt, text.script())
        save_beside(text, path)
        ran = run_file(attempt)
        if ran.failed:
            with storing(path):
                attempt.replace(path)
        elif text.large:
            path.with_name(text.beside).unlink(missing_ok=True)
        return ran
    finally:
        with contextlib.suppress(OSError):
            attempt.unlink(missing_ok=True)
