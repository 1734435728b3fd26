"""Run one kernel under guard: breadcrumb before every foreign call, inputs read-only, failures as values."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from msgspec import Struct, structs

from fuzz.backends.base import Array, Implementation, Unsupported
from fuzz.refusal import refuses
from fuzz.surroundings import Arithmetic
from fuzz.targets import Target
from fuzz.workbench import Bench

COMPILE, RUN = "compile", "run"
CAMPAIGN, LADDER = "campaign", "ladder"
"""Purposes: the arena of the campaign's own inputs, and that of the precision ladder."""
ERROR_LENGTH = 300
"""Characters of a library's message kept in a row; TVM's run to 10 kB of IR."""
_OVERRUN = "bytes outside the output changed"
_CAUGHT = "raised "
_NO_MEMORY = ("bad_alloc", "RESOURCE_EXHAUSTED", "can't allocate memory")
"""What TVM, JAX and PyTorch say where Python would raise MemoryError; none has a class for it on the CPU."""


class Failure(Struct, frozen=True):
    """No output: a verdict without value and the message."""

    verdict: str
    error: str
    implementation: Implementation | None = None


class Ran(Struct, frozen=True):
    """Outputs (views, valid until the kernel's next call) and the wall time of the call in seconds."""

    values: tuple[Array, ...]
    seconds: float
    implementation: Implementation
    told: str = ""
    """What a call under a variant has to say of itself."""


Outcome: TypeAlias = Ran | Failure
Run: TypeAlias = Callable[[Bench, Target, str], Outcome]
"""Run a target of a bench on the arena of a purpose."""


class Breadcrumb(Protocol):
    """Where the worker is, readable after its death."""

    def mark(self, index: int, target: int, stage: str, purpose: str) -> None: ...
    def clear(self) -> None: ...


class NoBreadcrumb:
    """For runs in the user's own process, where nobody picks up the pieces."""

    def mark(self, index: int, target: int, stage: str, purpose: str) -> None:
        """Nothing to record."""

    def clear(self) -> None:
        """Nothing to record."""


def execute(
    bench: Bench,
    target: Target,
    purpose: str,
    mark: Callable[[str], None],
    clear: Callable[[], None],
    variant: str = "",
) -> Outcome:
    """Compile if needed and call `target` on the arena of `purpose`, or under a variant on that of the campaign.

    Python errors become a Failure; deaths do not.
    """
    implementation: Implementation | None = None
    try:
        implementation = target.implementation(bench.problem.operator)
        if not (bench.has_varied(target, variant) if variant else bench.has_kernel(target, purpose)):
            mark(COMPILE)
        with Arithmetic():
            prepared = bench.varied(target, variant) if variant else bench.prepared(target, purpose)
        mark(RUN)
        with Arithmetic():
            start = time.perf_counter()
            values = prepared.call()
            seconds = time.perf_counter() - start
    except Unsupported as reason:
        return Failure("unsupported", str(reason), implementation)
    except MemoryError as error:
        return Failure("out_of_memory", _CAUGHT + _message(error), implementation)
    except BaseException as error:  # whatever a library raises is a result, SystemExit and panics too
        if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            raise  # the user's: in a worker, which ignores the signal, it can only be the library's
        message = _message(error)
        if any(words in message for words in _NO_MEMORY):
            return Failure("out_of_memory", _CAUGHT + message, implementation)
        if not variant and isinstance(error, Exception) and refuses(bench, target, purpose, message):
            return Failure("unsupported", message, implementation)
        return Failure("raised", message, implementation)
    finally:
        clear()
    if prepared.overrun():
        return Failure("out_of_bounds_write", _OVERRUN, implementation)
    outcome = checked(values, bench, target, seconds, implementation)
    return structs.replace(outcome, told=prepared.told()) if isinstance(outcome, Ran) else outcome


def survived(error: str) -> bool:
    """Whether a failure with this message was found by the process itself: it did not die of it."""
    return error == _OVERRUN or error.startswith(_CAUGHT)


def checked(values: Any, bench: Bench, target: Target, seconds: float, implementation: Implementation) -> Outcome:
    """What a kernel returned, or how it is not what is due."""
    if not isinstance(values, tuple | list):
        return Failure("raised", f"returned {type(values).__name__}, a tuple of arrays is due", implementation)
    if len(values) != len(bench.output_shapes):
        return Failure("raised", f"returned {len(values)} outputs, {len(bench.output_shapes)} are due", implementation)
    for value, shape in zip(values, bench.output_shapes, strict=True):
        if not isinstance(value, np.ndarray):
            return Failure("raised", f"returned {type(value).__name__}, an array is due", implementation)
        if value.shape != shape:
            return Failure("raised", f"returned shape {value.shape}, {shape} is due", implementation)
        if value.dtype != target.dtype:
            return Failure("dtype_mismatch", f"returned {value.dtype}, {target.dtype} is due", implementation)
    return Ran(tuple(np.asarray(value) for value in values), seconds, implementation)  # no masked arrays, no matrices


def _message(error: BaseException) -> str:
    """The last non-empty line of a message, with its type: libraries put a dump of their state before it.

    Printable, and text that can be stored: a library may put anything into its message.
    """
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001  # a foreign __str__
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    message = f"{type(error).__name__}: {lines[-1] if lines else ''}"[:ERROR_LENGTH]
    return "".join(c if c.isprintable() else "\ufffd" for c in message)
