"""What foreign code may not leave changed behind, because it would change the results of others or end the engine.

After each call: rounding mode, flush-to-zero, NumPy's error handling; in a worker also the process itself, its files,
timers, warnings. After each trial: signals and folder. Each test costs a microsecond or less.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import warnings
from typing import TextIO

import numpy as np

DAMAGED = 86
"""Exit code of a worker that a call left without its files: it ends at that call, which is to blame."""
_LARGEST = 256
"""Bytes that hold a fenv_t: 32 on x86-64 (x87 control word first, MXCSR last), 8 on AArch64."""
_libm = ctypes.CDLL("libm.so.6" if sys.platform == "linux" else None)
_ACTIONS = {
    **dict.fromkeys((signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT), signal.SIG_DFL),
    signal.SIGTERM: signal.SIG_DFL,
    **dict.fromkeys((signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGINT), signal.SIG_IGN),
}
"""A crash ends the process under its own name: TVM's handler prints a trace and hides the signal. A timer left behind
does not end somebody else's call. Ctrl-C in the terminal is the supervisor's business."""


class Arithmetic:
    """A context at whose end this thread computes as at its beginning: rounding, subnormals, traps, np.seterr."""

    def __enter__(self) -> None:
        self._environment = ctypes.create_string_buffer(_LARGEST)
        _libm.fegetenv(self._environment)
        self._errors = np.errstate()
        self._errors.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._errors.__exit__(*exception)  # type: ignore[arg-type]
        _libm.fesetenv(self._environment)


class Process:
    """A worker as it was before any kernel ran: where its output goes, the connection, its folder."""

    def __init__(self, log: int, connection: int) -> None:
        self._log, self._connection = log, connection
        self._same = os.fstat(connection).st_ino
        self._pid, self._folder = os.getpid(), os.getcwd()
        self._out, self._err = sys.stdout, sys.stderr
        self._warnings = list(warnings.filters)
        self._recursion = sys.getrecursionlimit()

    def after_call(self) -> None:
        """Mend what can be; end the process where its files are gone, or where it is a copy that a kernel forked."""
        if os.getpid() != self._pid:
            os._exit(0)
        try:
            os.dup2(self._log, 1)
            os.dup2(self._log, 2)
            if os.fstat(self._connection).st_ino != self._same:
                os._exit(DAMAGED)
        except OSError:
            os._exit(DAMAGED)
        sys.stdout = self._out = _open(self._out, 1)
        sys.stderr = self._err = _open(self._err, 2)
        if warnings.filters != self._warnings:
            warnings.resetwarnings()
            warnings.filters.extend(self._warnings)  # type: ignore[attr-defined]
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        if sys.getrecursionlimit() != self._recursion:
            sys.setrecursionlimit(self._recursion)

    def after_trial(self) -> None:
        """Signals as the supervisor expects them, the folder of old, the garbage collector at work."""
        if any(signal.getsignal(number) is not action for number, action in _ACTIONS.items()):
            default_signals()
        with contextlib.suppress(OSError):  # the folder may be gone
            os.chdir(self._folder)
        sys.settrace(None)
        sys.setprofile(None)
        gc.enable()


def default_signals() -> None:
    """Take signals back from whoever handles them, in Python or below."""
    for number, action in _ACTIONS.items():
        signal.signal(number, action)


def _open(stream: TextIO, descriptor: int) -> TextIO:
    """The stream, or a new one where it was closed."""
    if not stream.closed:
        return stream
    return open(descriptor, "w", closefd=False, errors="backslashreplace")
