"""The command in a process of its own, and what it leaves behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

import results
from results.columns import KEY, TIMINGS

Row = dict[str, Any]
COMMAND = (sys.executable, "-m", "fuzz.cli")
"""`ulpfuzz` as a module: the same code without the launcher of the virtual environment."""
TINY = ("sum", "--dims", "rows=3,n=8", "--targets", "numpy")


def _environment(variables: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"} | variables


class Cli:
    """Runs `ulpfuzz` in one folder; what is still running at the end of a test is ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[str]] = []

    def __call__(self, *arguments: object, timeout: float = 120, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env=_environment(variables),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )

    def ok(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command that must end with exit code 0 or 1 (a finding)."""
        ran = self(*arguments, **options)
        assert ran.returncode in (0, 1), ran.stderr
        return ran

    def start(self, *arguments: object, **variables: str) -> subprocess.Popen[str]:
        """Start in a process group of its own, output in pipes."""
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env=_environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def rows_of(directory: Path) -> dict[tuple[Any, ...], Row]:
    """Rows by key without timings; no key may come twice."""
    listed = results.open(directory).rows().to_pylist()
    found = {
        tuple(row[name] for name in KEY): {name: value for name, value in row.items() if name not in TIMINGS}
        for row in listed
    }
    assert len(found) == len(listed), "a key comes twice"
    return found


def elements_of(directory: Path) -> list[str]:
    """Sampled elements as text: NaN equals NaN."""
    return sorted(map(repr, results.open(directory).elements.to_table().to_pylist()))


def differing(one: dict[tuple[Any, ...], Row], other: dict[tuple[Any, ...], Row]) -> list[tuple[Any, ...]]:
    """Keys whose rows differ, or that only one has."""
    return [key for key in one.keys() | other.keys() if repr(one.get(key)) != repr(other.get(key))]


def wait_for(condition: Callable[[], Any], seconds: float = 60.0, what: str = "condition") -> Any:
    """Poll until the condition holds; its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)
    return value


def in_session(leader: int) -> list[psutil.Process]:
    """Living processes of the session that process `leader` began: the command, its fork server, workers."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def fork_servers(leader: int) -> list[psutil.Process]:
    """multiprocessing's process that workers are forked from."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [p for p in psutil.Process(leader).children() if "multiprocessing.forkserver" in " ".join(p.cmdline())]
    return []


def workers_of(leader: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [worker for server in fork_servers(leader) for worker in server.children()]
    return []


PLANTED = '''
"""A backend for each way to misbehave, where the first input element exceeds 1. PLANTED=off: none of them does."""
import ctypes, os, signal, sys, time
import numpy as np
from fuzz.extend import Backend, FunctionBackend, SimpleKernel, register

ON = os.environ.get("PLANTED") != "off"

def bad(x):
    return ON and x.flat[0] > 1

def poke(address):
    ctypes.memset(address, 0x11, 4)

def garbage():
    os.write(1, b"\\xff\\x00garbage" * 999)
    os.write(2, b"\\xfe\\x01garbage" * 999)
    print("more", flush=True)

FATAL = {
    "segv": lambda x, out: ctypes.string_at(8),
    "hang": lambda x, out: time.sleep(999),
    "past": lambda x, out: poke(out.ctypes.data + out.nbytes),
    "before": lambda x, out: poke(out.ctypes.data - 4),
    "pastinput": lambda x, out: poke(x.ctypes.data + x.nbytes),
    "modify": lambda x, out: x.__setitem__(0, 7),
    "exit3": lambda x, out: os._exit(3),
    "abort": lambda x, out: os.abort(),
    "fpe": lambda x, out: os.kill(os.getpid(), signal.SIGFPE),
    "sysexit": lambda x, out: sys.exit(5),
    "raise": lambda x, out: (_ for _ in ()).throw(RuntimeError("first line\\nplanted trouble")),
    "noise": lambda x, out: garbage(),
}
RETURNED = {
    "shape": lambda y: y[:2],
    "wide": lambda y: y.astype(np.float16),
    "none": lambda y: None,
    "list": lambda y: list(y),
    "object": lambda y: object(),
}

def writing(fault):
    def total(x, *, axis, out):
        np.sum(x, axis=axis, out=out)
        if bad(x):
            fault(x, out)
    return total

def returning(change):
    def total(x, *, axis):
        y = np.sum(x, axis=axis)
        return change(y) if bad(x) else y
    return total

def rung(fault):
    def total(x, *, axis, out):
        np.sum(x, axis=axis, out=out)
        if ON and x.dtype == np.float64:
            fault(x, out)
    return total

for name, fault in FATAL.items():
    made = FunctionBackend(name)
    made.operator("sum")(writing(fault))
    register(made)
for name, change in RETURNED.items():
    made = FunctionBackend(name)
    made.operator("sum")(returning(change))
    register(made)
for name in ("segv", "hang"):
    made = FunctionBackend("rung" + name)
    made.operator("sum")(rung(FATAL[name]))
    register(made)

class Compiling(FunctionBackend):
    """Misbehaves when a kernel is prepared."""
    def prepare(self, request):
        if ON:
            FATAL[self.name.removeprefix("compile")](request.inputs["x"], request.outputs[0])
        return super().prepare(request)

for name in ("segv", "hang", "raise"):
    made = Compiling("compile" + name)
    made.operator("sum")(lambda x, *, axis: np.sum(x, axis=axis))
    register(made)

class Odd(FunctionBackend):
    """A kernel of one's own that returns no tuple."""
    def prepare(self, request):
        kernel = super().prepare(request)
        return SimpleKernel(lambda: None if bad(request.inputs["x"]) else kernel())

made = Odd("odd")
made.operator("sum")(lambda x, *, axis: np.sum(x, axis=axis))
register(made)
'''
