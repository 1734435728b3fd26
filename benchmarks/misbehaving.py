"""Backends that misbehave, one for each way, on the trials named in the file $MISBEHAVING; elsewhere they are right.

An extension like anybody's: `ulpfuzz run ... --extension benchmarks/misbehaving.py`.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import json
import math
import mmap
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuzz.extend import FunctionBackend, register

PLAN = os.environ.get("MISBEHAVING", "")
X86 = platform.machine() == "x86_64"
KEPT: list[Any] = []
_libc = ctypes.CDLL(None)
_libm = ctypes.CDLL("libm.so.6")
UPWARD = 0x800 if X86 else 0x400000
FLUSH = 0x8040
"""Flush-to-zero and denormals-are-zero in MXCSR."""


class Kind(NamedTuple):
    """A way to misbehave: what it does with the inputs and the output, and the verdict due; "" for none."""

    verdict: str
    fault: Callable[[Any, Any], Any]
    returns: bool = False
    """The kernel returns what `fault` makes of the right result; otherwise it writes into the engine's buffer."""


@functools.cache
def planned() -> dict[str, set[int]]:
    """By backend: the checksums of the first inputs on which it misbehaves."""
    return {name: set(sums) for name, sums in json.loads(Path(PLAN).read_text()).items()} if PLAN else {}


def checksum(first: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(first).tobytes())


def poke(address: int) -> None:
    ctypes.memset(address, 0x11, 4)


def bus_error() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 4096)
        file.flush()
        pages = mmap.mmap(file.fileno(), 4096)
        file.truncate(0)
        pages.read(1)


def illegal() -> None:
    if not X86:
        os.kill(os.getpid(), signal.SIGILL)
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\x0f\x0b")
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()


def divide_by_zero() -> None:
    if not X86:
        os.kill(os.getpid(), signal.SIGFPE)
    _libc.div(1, 0)


def overflow_the_stack() -> None:
    sys.setrecursionlimit(10**9)

    def deeper(x: Any) -> Any:
        return max([x], key=deeper)

    deeper(1)


def run_out() -> None:
    while True:
        KEPT.append(np.ones(4_000_000))


def busy() -> None:
    while True:
        math.sqrt(2.0)


def exit_in_a_thread() -> None:
    threading.Thread(target=lambda: os._exit(4)).start()
    time.sleep(60)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


def throw(error: BaseException) -> None:
    raise error


def recurse(x: int) -> int:
    return recurse(x + 1)


def babble() -> None:
    for stream in (1, 2):
        for _ in range(40):
            os.write(stream, bytes(range(256)) * 400)
    print("\x1b[31m\udcff".encode(errors="replace"), flush=True)


def deadlock() -> None:
    lock = threading.Lock()
    lock.acquire()
    for _ in range(3):
        threading.Thread(target=lock.acquire).start()


def compete() -> None:
    end = time.monotonic() + 1
    threading.Thread(target=lambda: all(time.monotonic() < end for _ in itertools.count())).start()


def chdir_to_nowhere() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)


def close_output() -> None:
    os.close(1)
    os.close(2)


def close_streams() -> None:
    sys.stdout.close()
    sys.stderr = None  # type: ignore[assignment]


def hide_signals() -> None:
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGTERM, signal.SIGBUS, signal.SIGINT):
        signal.signal(number, lambda *_: None)


def leave_a_timer() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.02)


def flush_subnormals() -> None:
    environment = ctypes.create_string_buffer(256)
    _libm.fegetenv(environment)
    if X86:
        control = int.from_bytes(environment[28:32], "little") | FLUSH
        environment[28:32] = control.to_bytes(4, "little")
    _libm.fesetenv(environment)


def warn_as_errors() -> None:
    warnings.simplefilter("error")
    np.seterr(all="raise")


def lower_limits() -> None:
    sys.setrecursionlimit(90)
    gc.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def trace_everything() -> None:
    sys.settrace(lambda *_: throw(RuntimeError("traced")))  # type: ignore[arg-type, func-returns-value]


def fork_and_return() -> None:
    os.fork()


def fork_and_linger() -> None:
    if os.fork() == 0:
        time.sleep(15)
        os._exit(0)


def leave_a_process() -> None:
    KEPT.append(subprocess.Popen(["sleep", "15"]))


def forget_the_environment() -> None:
    os.environ.clear()
    os.umask(0o777)


def nest(depth: int) -> Any:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested


KINDS: dict[str, Kind] = {
    # the process dies
    "null": Kind("crashed", lambda x, out: ctypes.string_at(8)),
    "readpast": Kind("crashed", lambda x, out: ctypes.string_at(x.ctypes.data + (1 << 16), 1 << 30)),
    "stack": Kind("crashed", lambda x, out: overflow_the_stack()),
    "abort": Kind("crashed", lambda x, out: os.abort()),
    "fpe": Kind("crashed", lambda x, out: divide_by_zero()),
    "ill": Kind("crashed", lambda x, out: illegal()),
    "bus": Kind("crashed", lambda x, out: bus_error()),
    "terminated": Kind("crashed", lambda x, out: os.kill(os.getpid(), signal.SIGTERM)),
    "exit0": Kind("crashed", lambda x, out: os._exit(0)),
    "exit3": Kind("crashed", lambda x, out: os._exit(3)),
    "exit255": Kind("crashed", lambda x, out: os._exit(255)),
    "threadexit": Kind("crashed", lambda x, out: exit_in_a_thread()),
    "closeall": Kind("crashed", lambda x, out: os.closerange(3, 4096)),
    "killed": Kind("out_of_memory", lambda x, out: os.kill(os.getpid(), signal.SIGKILL)),
    # it does not come back
    "busy": Kind("timed_out", lambda x, out: busy()),
    "sleep": Kind("timed_out", lambda x, out: time.sleep(999)),
    "gil": Kind("timed_out", lambda x, out: ctypes.PyDLL(None).sleep(999)),
    "stopped": Kind("timed_out", lambda x, out: os.kill(os.getpid(), signal.SIGSTOP)),
    # memory
    "grow": Kind("out_of_memory", lambda x, out: run_out()),
    "allocate": Kind("out_of_memory", lambda x, out: np.empty(1 << 59)),
    "badalloc": Kind("out_of_memory", lambda x, out: throw(RuntimeError("std::bad_alloc"))),
    # it writes where it may not
    "modify": Kind("input_modified", lambda x, out: x.reshape(-1).__setitem__(0, 7)),
    "past": Kind("out_of_bounds_write", lambda x, out: poke(out.ctypes.data + -(-out.nbytes // 64) * 64)),
    "before": Kind("out_of_bounds_write", lambda x, out: poke(out.ctypes.data - 4)),
    "pastinput": Kind("out_of_bounds_write", lambda x, out: poke(x.ctypes.data + -(-x.nbytes // 64) * 64)),
    # it raises
    "raise": Kind("raised", lambda x, out: throw(RuntimeError("planted"))),
    "longmessage": Kind("raised", lambda x, out: throw(RuntimeError("dump\n" * 2_000_000 + "é" * 5000))),
    "notext": Kind("raised", lambda x, out: throw(RuntimeError("\udcff\x00\x1b[31m\u202e bad bytes"))),
    "unprintable": Kind("raised", lambda x, out: throw(Unprintable())),
    "sysexit": Kind("raised", lambda x, out: sys.exit(5)),
    "interrupt": Kind("raised", lambda x, out: throw(KeyboardInterrupt())),
    "generatorexit": Kind("raised", lambda x, out: throw(GeneratorExit())),
    "stopiteration": Kind("raised", lambda x, out: throw(StopIteration())),
    "recursion": Kind("raised", lambda x, out: recurse(0)),
    # it returns something else
    "none": Kind("raised", lambda x, y: None, returns=True),
    "list": Kind("raised", lambda x, y: list(y), returns=True),
    "nested": Kind("raised", lambda x, y: nest(500), returns=True),
    "object": Kind("raised", lambda x, y: object(), returns=True),
    "generator": Kind("raised", lambda x, y: (v for v in y), returns=True),
    "short": Kind("raised", lambda x, y: y[:2], returns=True),
    "matrix": Kind("raised", lambda x, y: np.array([y, y]), returns=True),
    "narrow": Kind("dtype_mismatch", lambda x, y: y.astype(np.float16), returns=True),
    "swapped": Kind("dtype_mismatch", lambda x, y: y.astype(">f4"), returns=True),
    "complex": Kind("dtype_mismatch", lambda x, y: y.astype(np.complex64), returns=True),
    "objects": Kind("dtype_mismatch", lambda x, y: y.astype(object), returns=True),
    "text": Kind("dtype_mismatch", lambda x, y: y.astype(str), returns=True),
    "nan": Kind("nonfinite_mismatch", lambda x, y: np.full_like(y, np.nan), returns=True),
    "infinite": Kind("nonfinite_mismatch", lambda x, y: np.full_like(y, -np.inf), returns=True),
    "unwritten": Kind("nonfinite_mismatch", lambda x, out: out.view(np.uint32).fill(0xFFFFFFFF)),
    # it is right, and leaves something behind
    "babble": Kind("", lambda x, out: babble()),
    "deadlock": Kind("", lambda x, out: deadlock()),
    "compete": Kind("", lambda x, out: compete()),
    "chdir": Kind("", lambda x, out: chdir_to_nowhere()),
    "closeoutput": Kind("", lambda x, out: close_output()),
    "closestreams": Kind("", lambda x, out: close_streams()),
    "hidesignals": Kind("", lambda x, out: hide_signals()),
    "timer": Kind("", lambda x, out: leave_a_timer()),
    "rounding": Kind("", lambda x, out: _libm.fesetround(UPWARD)),
    "flush": Kind("", lambda x, out: flush_subnormals()),
    "traps": Kind("", lambda x, out: _libm.feenableexcept(0x1D)),
    "strict": Kind("", lambda x, out: warn_as_errors()),
    "limits": Kind("", lambda x, out: lower_limits()),
    "trace": Kind("raised", lambda x, out: trace_everything()),
    "seed": Kind("", lambda x, out: np.random.seed(0)),
    "fork": Kind("", lambda x, out: fork_and_return()),
    "linger": Kind("", lambda x, out: fork_and_linger()),
    "process": Kind("", lambda x, out: leave_a_process()),
    "environment": Kind("", lambda x, out: forget_the_environment()),
    "masked": Kind("", lambda x, y: np.ma.masked_array(y, np.ones_like(y)), returns=True),
    "strided": Kind("", lambda x, y: y[::-1].copy()[::-1], returns=True),
    "readonly": Kind("", lambda x, y: np.frombuffer(y.tobytes(), y.dtype), returns=True),
}


def right(operator: str) -> Callable[..., Any]:
    return {
        "sum": lambda x, axis: np.sum(x, axis=axis),
        "exp": np.exp,
        "add": np.add,
    }[operator]


def returning(name: str, kind: Kind, operator: str) -> Callable[..., Any]:
    def kernel(*inputs: Any, **attributes: Any) -> Any:
        y = right(operator)(*inputs, **attributes)
        return kind.fault(inputs[0], y) if checksum(inputs[0]) in planned().get(name, ()) else y

    return kernel


def writing(name: str, kind: Kind, operator: str) -> Callable[..., Any]:
    def kernel(*inputs: Any, out: Any, **attributes: Any) -> None:
        out[...] = right(operator)(*inputs, **attributes)
        if checksum(inputs[0]) in planned().get(name, ()):
            kind.fault(inputs[0], out)

    return kernel


for _name, _kind in KINDS.items():
    _backend = FunctionBackend(_name)
    for _operator in ("sum", "exp", "add"):
        _make = returning if _kind.returns else writing
        _backend.operator(_operator, name=_name)(_make(_name, _kind, _operator))
    register(_backend)
