"""What jax makes of float64 here: the ways to switch it on, each tried in a process of its own, a plain line for each.

Without it a float64 array becomes a float32 one and nothing says so; which switches work when is what users ask.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, json

import fuzz
from fuzz.backends.base import present

VARIABLE = "JAX_ENABLE_X64"
SECONDS = 60.0
NARROW, WIDE = "float32", "float64"
WHAT_TO_DO = (
    f"set {VARIABLE}=1 before Python starts, or call jax.config.update('jax_enable_x64', True) before the first array "
    "is made; make parameters and inputs afterwards, or cast them; check the dtype of results"
)


class Facts(Struct, frozen=True, kw_only=True):
    """The dtype of what came of a float64 NumPy array; see `fuzz.cli.doctor_x64_probe`."""

    plain: str
    """Handed to jax as it is."""
    warned: bool
    """Whether a warning was given then."""
    variable_late: str
    """With the environment variable set after the import."""
    context: str
    """Inside `with jax.enable_x64(True)`."""
    context_over: str
    """A new array after it."""
    thread: str
    """In a thread started inside the context."""
    update: str
    """A new array after jax.config.update."""
    update_before: str
    """An array made before it, in a sum with a float64 array made after it."""
    update_kept: str
    """An array made before it, on its own."""


class Line(Struct, frozen=True):
    """What a user should expect of one way."""

    way: str
    expect: str
    surprises: bool
    """Whether float64 is lost."""


def x64_lines(timeout: float = SECONDS) -> list[Line] | str | None:
    """A line for each way, in order; why they could not be tried; None where jax is missing."""
    if not present("jax"):
        return None
    without = {name: value for name, value in os.environ.items() if name != VARIABLE}
    with ThreadPoolExecutor(2) as pool:
        off = pool.submit(_measured, without, timeout)
        on = pool.submit(_measured, without | {VARIABLE: "1"}, timeout)
        first, second = off.result(), on.result()
    for facts in (first, second):
        if isinstance(facts, str):
            return facts
    assert isinstance(first, Facts)
    assert isinstance(second, Facts)
    return _lines(first, second.plain)


def _lines(facts: Facts, variable: str) -> list[Line]:
    quietly = "with a warning" if facts.warned else "without a warning"
    return [
        _line("by default", facts.plain, "a float64 NumPy array stays float64",
              f"a float64 NumPy array becomes {facts.plain}, {quietly}"),
        _line(f"{VARIABLE}=1 before Python starts", variable, "float64 stays float64", "it has no effect"),
        _line(f"{VARIABLE}=1 in os.environ after the import", facts.variable_late, "float64 stays float64",
              f"it is ignored: new arrays are {facts.variable_late}"),
        _line("jax.config.update after arrays were made", facts.update_kept, "arrays made before are float64",
              f"new arrays are {facts.update}; arrays made before stay {facts.update_kept}, and a sum with a float64 "
              f"one is {facts.update_before} with their digits"),
        _line("with jax.enable_x64(True)", facts.context, f"float64 inside; new arrays behind it are "
              f"{facts.context_over}", f"new arrays inside are {facts.context}"),
        _line("a thread started inside that context", facts.thread, "the context holds there, too",
              f"the context does not reach it: its new arrays are {facts.thread}"),
    ]  # fmt: skip


def _line(way: str, dtype: str, kept: str, lost: str) -> Line:
    return Line(way, kept if dtype == WIDE else lost, dtype != WIDE)


def _measured(environment: Mapping[str, str], timeout: float) -> Facts | str:
    """What a new process finds, or one line on why it found nothing."""
    root = str(Path(fuzz.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH", ""))))
    command = [sys.executable, "-P", "-m", "fuzz.cli.doctor_x64_probe"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=timeout,
            check=False,
            env={**environment, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"},
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {timeout:g} s"
    try:
        return json.decode((done.stdout.strip().splitlines() or [b""])[-1], type=Facts)
    except (DecodeError, ValidationError):
        last = done.stderr.decode(errors="replace").strip().splitlines()
        return f"the process ended with code {done.returncode}" + (f": {last[-1]}" if last else "")
