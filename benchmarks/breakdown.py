"""Where the CPU time of a trial goes: timers around the stages of `run_trial`, then the way of its rows to the disk."""

from __future__ import annotations

import functools
import multiprocessing
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import contenders
import msgspec
from contenders import WARM_UP_TRIALS, InProcess

import fuzz.trial
from fuzz.measure import PairYardstick, Yardstick
from fuzz.oracle.bound import Bound
from fuzz.workbench import Prepared
from results.store import Store

BLOCKS = 20
BATCH_TRIALS = 20
"""Rows that fit into the pipe at once, so that one process can send and receive."""
SHARD_TRIALS = 1000
"""A shard of a long campaign holds one to twenty seconds of trials."""


class Stopwatch:
    """Exclusive CPU seconds by stage: what a stage inside another takes is not counted twice."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside = [0.0]

    def around(self, owner: Any, attribute: str, name: Callable[..., str]) -> None:
        """Replace a function of a class or module by one that is timed; `name` gets its arguments."""
        function = getattr(owner, attribute)

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._inside.append(0.0)
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.process_time() - start
                self.seconds[name(*args)] += whole - self._inside.pop()
                self._inside[-1] += whole

        setattr(owner, attribute, timed)


def _watch() -> Stopwatch:
    watch = Stopwatch()
    watch.around(fuzz.trial, "draw", lambda *_: "generation")
    watch.around(Bound, "__call__", lambda *_: "truth and its bound")
    watch.around(Yardstick, "refresh", lambda *_: "yardstick")
    watch.around(Prepared, "call", lambda prepared: f"kernel, {prepared.target.backend}")
    watch.around(Yardstick, "measure", lambda *_: "metrics, both targets")
    watch.around(PairYardstick, "compare", lambda *_: "metrics, the pair")
    watch.around(contenders, "run_trial", lambda *_: "guards, judging, rows")
    watch.around(InProcess, "encode", lambda *_: "packing the rows")
    return watch


def breakdown(trials: int) -> dict[str, float]:
    """Median CPU microseconds a trial by stage, in the order of their happening. Replaces functions of this process."""
    loop = InProcess()
    loop.run(WARM_UP_TRIALS)
    watch = _watch()
    each = max(1, trials // BLOCKS)
    taken: list[dict[str, float]] = []
    for _ in range(BLOCKS):
        watch.seconds.clear()
        loop.run(each)
        taken.append({name: seconds / each * 1e6 for name, seconds in watch.seconds.items()})
    order = [name for name in taken[0] if name not in ("guards, judging, rows", "packing the rows")]
    stages = {
        name: statistics.median(block[name] for block in taken)
        for name in [*order, "guards, judging, rows", "packing the rows"]
    }
    return stages | _transport(loop)


def _transport(loop: InProcess) -> dict[str, float]:
    """CPU microseconds a trial of a message's way to the supervisor, and of a shard's to the disk."""
    loop.run(BATCH_TRIALS)
    message = loop.message
    ours, theirs = multiprocessing.Pipe()

    def send() -> None:
        theirs.send_bytes(message)
        ours.recv_bytes()

    rows = msgspec.msgpack.decode(message)[2] * (SHARD_TRIALS // BATCH_TRIALS)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        return {
            "pipe": _cpu(send) / BATCH_TRIALS,
            "supervisor: unpacking": _cpu(lambda: msgspec.msgpack.decode(message)) / BATCH_TRIALS,
            "writing (Parquet, checksum, rename)": _cpu(lambda: store.commit(0, rows)) / SHARD_TRIALS,
        }


def _cpu(action: Callable[[], object], repeats: int = 9) -> float:
    """Median CPU microseconds of an action."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        taken.append((time.process_time() - start) * 1e6)
    return statistics.median(taken)
