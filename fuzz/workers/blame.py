"""What the death of a worker says about the target it was running, if anything."""

from __future__ import annotations

import contextlib
import signal
from typing import Any

from msgspec import Struct

from fuzz.errors import InternalError
from fuzz.execution import COMPILE, LADDER
from fuzz.surroundings import DAMAGED
from fuzz.trial import Death
from fuzz.workers.breadcrumb import Place
from fuzz.workers.job import Job
from fuzz.workers.limits import Limits
from fuzz.workers.worker_process import FORKSERVER_GONE, WorkerProcess

KILLS_BETWEEN_CALLS = 20
"""SIGKILLs from outside, or lost fork servers, between two calls at one trial before the campaign gives up: no target
can be to blame for them, and an operator may send several before a new worker gets anywhere."""
ACCIDENTS = 3
"""Deaths that nothing here explains (a SIGKILL we did not send, a death between calls) are retried; the third at one
place is no accident."""
TOO_LARGE = 2
"""Calls above the memory limit: the first may stand on what earlier trials left, the second runs in a fresh process."""

EXAMINED = (-signal.SIGSEGV, -signal.SIGBUS)
"""Exit codes of what may be a write to a guarded page: such a call is run again under observation."""


class Excess(Struct, frozen=True):
    """A limit that a worker exceeds: the row of the target if its call is to blame, and the event to report."""

    death: Death
    event: str
    facts: dict[str, Any]


def excess(place: Place, seconds: float, used: float, limits: Limits, memory: float) -> Excess | None:
    """What is wrong with a worker that has been at `place` for `seconds` and holds `used` MiB.

    The row names the limit and not the amount, which would differ from run to run.
    """
    if used > memory:
        where = f"during {doing(place)}" if place.target >= 0 else "between calls"
        death = Death("out_of_memory", f"used more than the limit of {memory:g} MiB {where}")
        return Excess(death, "killed_for_memory", {"used_mib": round(used), "limit_mib": memory})
    limit = limits.compile if place.stage == COMPILE else limits.call
    if place.target >= 0 and seconds > limit:
        death = Death("timed_out", f"{doing(place)} took longer than {limit:g} s")
        return Excess(death, "timed_out", {"limit_s": limit})
    return None


def verdict_of(w: WorkerProcess, job: Job, place: Place, code: int | None, late: bool) -> Death | None:
    """The row of the target at `place`; None when the trial is to be run once more.

    `late` says that what the worker was killed for ended before the signal arrived. InternalError when workers keep
    dying between calls.
    """
    died_by, killed, at = cause(code), w.killed_for, f"during {doing(place)}"
    if late:
        killed = None
    between_calls = place.target < 0
    unknown = killed is None and code in (-signal.SIGKILL, FORKSERVER_GONE)
    if between_calls:
        most = KILLS_BETWEEN_CALLS if unknown else ACCIDENTS
    elif killed is not None:
        most = TOO_LARGE if killed.verdict == "out_of_memory" else 1
    else:
        most = ACCIDENTS if unknown else 1
    if job.unexplained(place, killed.verdict if killed else died_by) < most:
        return None
    if between_calls:
        raise InternalError(
            f"a worker died {most} times outside any call ({killed.error if killed else died_by}), "
            f"at trial {job.name(place.position)}: see {w.setup.log}; finished shards are kept"
        )
    if killed is not None:
        return killed
    if code == -signal.SIGKILL:
        return Death("out_of_memory", f"killed by the system {ACCIDENTS} times {at}")
    if code == DAMAGED:
        return Death("crashed", f"closed files of its process {at}")
    return Death("crashed", f"{died_by} {at}")


def trouble(w: WorkerProcess, trace: str) -> InternalError:
    """The error for an exception of the engine itself in a worker."""
    lines = trace.strip().splitlines()
    if lines:  # what the engine says of itself needs no name of a class
        lines[-1] = lines[-1].removeprefix(f"{InternalError.__module__}.{InternalError.__qualname__}: ")
    job = w.job
    where = f" at trial {job.name(w.crumb.read().position)}" if job is not None else ""
    error = InternalError(
        f"the engine failed in a worker{where}: {lines[-1] if lines else 'no message'}; "
        f"the traceback is in {w.setup.log}; finished shards are kept"
    )
    error.add_note(trace)
    return error


def doing(place: Place) -> str:
    """The stage, and whether it was not at the target's own precision."""
    return f"{place.stage} in the other precision" if place.purpose == LADDER else place.stage


def cause(code: int | None) -> str:
    """A signal's name, or the exit code."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
