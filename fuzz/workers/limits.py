"""Limits of time and memory for workers, and what they are where the user names none."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

import psutil
from msgspec import Struct

MIB = 1 << 20
_SHARE = 0.8
"""Of the memory that is available at the start, all workers together: the rest is for the supervisor and the system."""
_LEAST_SHARE = 1024
"""MiB: torch, jax and tvm with their kernels take about 700 in one worker."""
_PAGES = os.sysconf("SC_PAGE_SIZE") / MIB


class Limits(Struct, frozen=True):
    """Wall-clock limits in seconds, memory in MiB of resident set. `inf` means none.

    `shard` bounds what a kill costs, not how long a shard runs: the rows of a shard under way are handed over (and can
    be committed) that often. `memory` ends a worker; None: a share of what is available. A worker is replaced after
    `recycle_shards` shards, or when it has more than `recycle_memory` after a shard (None: half of `memory`): libraries
    leak, and a run may take days. None of this changes the row of a call that stays within its limits.
    """

    call: float = 60.0
    compile: float = 300.0
    memory: float | None = None
    shard: float = math.inf
    recycle_shards: float = 256
    recycle_memory: float | None = None

    def resolved(self, workers: int) -> Resolved:
        """The memory limits in figures, for this many workers on this machine."""
        memory = _share(workers) if self.memory is None else self.memory
        return Resolved(memory, memory / 2 if self.recycle_memory is None else self.recycle_memory)


class Resolved(Struct, frozen=True):
    """MiB that end a worker, and that have it replaced after a shard."""

    memory: float
    recycle_memory: float


def _share(workers: int) -> float:
    """A power of two, so that a resumed campaign on this machine has the same limit and so the same rows."""
    share = available() * _SHARE / workers
    return max(float(_LEAST_SHARE), 2.0 ** math.floor(math.log2(max(share, 1))))


def available() -> float:
    """MiB this process may still take: of the machine, or of its control group where that has less."""
    free = psutil.virtual_memory().available / MIB
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):  # no such group, or "max"
            free = min(free, (int(Path(limit).read_text()) - int(Path(used).read_text())) / MIB)
    return float(free)


def resident(pid: int) -> float:
    """MiB of a process that are in memory; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGES
    except (OSError, IndexError, ValueError):
        return 0.0
