"""The supervisor with real workers: stopping gently, going on, recycling, limits."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.errors import InternalError
from fuzz.extensions import load_extension
from fuzz.plan import Piece, Shard
from fuzz.trial import Cell
from fuzz.workers.health import WorkerHealth
from fuzz.workers.job import Job
from fuzz.workers.supervisor import Finished, Limits, Supervisor
from fuzz.workers.worker import Setup
from results.columns import COLUMNS, TIMINGS

SLOW = """
import ctypes, gc, multiprocessing, os, signal, sys, time, warnings
import numpy as np
from fuzz.extend import FunctionBackend, register

IN_WORKER = multiprocessing.parent_process() is not None
KEPT = []
{once}
slow = FunctionBackend("{name}")


@slow.operator("exp")
def exp(x):
    {body}
    return np.exp(x)


register(slow)
"""
_AT = {column.name: number for number, column in enumerate(COLUMNS)}


class Campaign:
    """A supervisor in this process, its jobs, and what it handed over."""

    def __init__(self, folder: Path, body: str, once: str, name: str) -> None:
        self.folder = folder
        (folder / "tmp").mkdir(exist_ok=True)
        self.source = folder / f"{name}.py"
        self.source.write_text(SLOW.format(body=body, once=once, name=name))
        load_extension(self.source)
        spec = CampaignSpec(problems=(ProblemSpec("exp", {"n": 4}),), targets=("numpy", name))
        self.cell: Cell = resolve(spec).cells[0]
        self.finished: list[Finished] = []
        self.received = 0
        self.events: list[tuple[str, dict[str, Any]]] = []

    def supervisor(self, workers: int = 1, limits: Limits | None = None) -> Supervisor:
        """`on_event` collects in `events`."""
        setup = Setup("", "", 0, "test", ("numpy",), (str(self.source),), str(self.folder))
        return Supervisor(self.folder, setup, workers, limits or Limits(), (), self._event)

    def _event(self, kind: str, facts: dict[str, Any]) -> None:
        self.events.append((kind, facts))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]

    def column(self, name: str) -> list[Any]:
        """Of all rows of the misbehaving target that were handed over complete."""
        rows = [row for finished in self.finished if finished.complete for row in finished.rows]
        return [row[_AT[name]] for row in rows if not row[_AT["target"]].startswith("numpy")]

    def shard(self, number: int, trials: int) -> Shard:
        return Shard(number, (Piece(self.cell, number * trials, (number + 1) * trials),))

    def count(self, trials: int, rows: list[list[Any]]) -> None:
        self.received += trials


@pytest.fixture
def make(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    numbers = itertools.count()

    def made(body: str = "pass", once: str = "") -> Campaign:
        return Campaign(tmp_path, body, once, f"b{abs(hash(request.node.nodeid)) % 10**8}x{next(numbers)}")

    return made


def facts(rows: list[list[Any]]) -> list[list[Any]]:
    """Rows as text without timings: NaN equals NaN."""
    return [[repr(v) for column, v in zip(COLUMNS, row, strict=True) if column.name not in TIMINGS] for row in rows]


def test_an_endless_plan_is_taken_lazily_and_stopped_gently(make: Any) -> None:
    campaign = make()
    taken: list[int] = []

    def jobs() -> Iterator[Job]:
        for number in itertools.count():
            taken.append(number)
            yield Job(campaign.shard(number, 20))

    with campaign.supervisor(2) as supervisor:
        supervisor.run(jobs(), campaign.finished.append, campaign.count, lambda: len(campaign.finished) >= 5)
    assert len(taken) <= len(campaign.finished) + 2
    for finished in campaign.finished:
        assert finished.complete == (finished.position == 20)
        assert len(finished.rows) == 2 * finished.position


def test_a_stopped_shard_goes_on_where_it_was_and_equals_an_undisturbed_one(make: Any) -> None:
    campaign = make("time.sleep(0.05)")
    shard = campaign.shard(0, 30)
    with campaign.supervisor() as supervisor:
        supervisor.run(iter([Job(shard)]), campaign.finished.append, campaign.count, lambda: campaign.received > 0)
        (part,) = campaign.finished
        assert not part.complete
        assert 0 < part.position < 30
        rest = Job(shard, part.position, part.rows, part.elements)
        supervisor.run(iter([rest]), campaign.finished.append, campaign.count)
        supervisor.run(iter([Job(shard)]), campaign.finished.append, campaign.count)
    _, resumed, whole = campaign.finished
    assert resumed.complete
    assert whole.complete
    assert facts(resumed.rows) == facts(whole.rows)
    assert repr(resumed.elements) == repr(whole.elements)
    assert campaign.received == 60


def test_a_stop_waits_for_the_trial_a_worker_is_on_and_for_no_other(make: Any) -> None:
    campaign = make("time.sleep(0.6)")
    asked: list[float] = []

    def stop() -> bool:
        if campaign.received and not asked:
            asked.append(time.monotonic())
        return bool(asked)

    with campaign.supervisor() as supervisor:
        supervisor.run(iter([Job(campaign.shard(0, 50))]), campaign.finished.append, campaign.count, stop)
    assert time.monotonic() - asked[0] < 5  # a trial takes 0.6 s, the shard 30
    assert campaign.finished[0].position == campaign.received <= 3


def test_workers_that_are_still_starting_are_not_waited_for(make: Any) -> None:
    campaign = make(once="time.sleep(20 * IN_WORKER)")
    began = time.monotonic()
    with campaign.supervisor() as supervisor:
        jobs = iter([Job(campaign.shard(0, 5)), Job(campaign.shard(1, 5))])
        asked = itertools.count()
        supervisor.run(jobs, campaign.finished.append, campaign.count, lambda: next(asked) > 0)
        assert time.monotonic() - began < 15
        assert campaign.finished == []
        assert supervisor.restarts == 0


def test_a_call_that_hangs_during_a_stop_is_killed_at_its_limit_and_costs_the_present_trial_only(make: Any) -> None:
    first = 'first = globals().setdefault("FIRST", x.copy())'
    campaign = make(f"{first}; time.sleep(999 if x.dtype == first.dtype and (x != first).any() else 0.25)")
    arrived: list[float] = []

    def stop() -> bool:
        """Once the second trial is under way."""
        if campaign.received and not arrived:
            arrived.append(time.monotonic())
        return bool(arrived) and time.monotonic() - arrived[0] > 0.3

    with campaign.supervisor(limits=Limits(call=1.0, compile=5.0)) as supervisor:
        supervisor.run(iter([Job(campaign.shard(0, 40))]), campaign.finished.append, campaign.count, stop)
        assert supervisor.restarts == 1
        assert not any(w.process.is_alive() for w in supervisor._workers)
    (part,) = campaign.finished
    assert not part.complete
    assert part.position == campaign.received == 1


def test_leaving_at_an_interrupt_ends_every_worker_at_once(make: Any) -> None:
    campaign = make("time.sleep(5)")
    calls = itertools.count()

    def stop() -> bool:
        if next(calls) > 12:
            raise KeyboardInterrupt
        return False

    pids: list[int] = []
    jobs = (Job(campaign.shard(number, 5)) for number in itertools.count())
    with campaign.supervisor(2) as supervisor:
        with pytest.raises(KeyboardInterrupt):
            supervisor.run(jobs, campaign.finished.append, campaign.count, stop)
        pids += [w.process.pid for w in supervisor._workers]
        began = time.monotonic()
    assert len(pids) == 2
    assert time.monotonic() - began < 2
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_workers_are_replaced_after_so_many_shards_and_no_row_changes(make: Any) -> None:
    campaign = make()
    with campaign.supervisor(2) as supervisor:
        jobs = [Job(campaign.shard(number, 5)) for number in range(6)]
        supervisor.run(iter(jobs), campaign.finished.append, campaign.count)
        before = sorted(itertools.chain.from_iterable(facts(f.rows) for f in campaign.finished))
        assert supervisor.replaced.recycled == 0
    campaign.finished.clear()
    with campaign.supervisor(2, Limits(recycle_shards=2)) as supervisor:
        jobs = [Job(campaign.shard(number, 5)) for number in range(6)]
        supervisor.run(iter(jobs), campaign.finished.append, campaign.count)
        assert supervisor.replaced.recycled >= 2
        assert supervisor.restarts == 0
        assert len(supervisor.health()) <= 2
        living = {
            child.pid for child in psutil.Process().children(recursive=True) if "forkserver" in str(child.cmdline())
        }
        assert (
            len(living - {w.pid for w in supervisor.health()}) == 1
        )  # the fork server; no zombie, no worker left over
    assert sorted(itertools.chain.from_iterable(facts(f.rows) for f in campaign.finished)) == before
    assert campaign.kinds().count("recycled") == supervisor.replaced.recycled


def test_a_worker_that_has_grown_is_replaced_after_its_shard(make: Any) -> None:
    campaign = make("KEPT.append(np.ones(1_000_000))")
    with campaign.supervisor(limits=Limits(recycle_memory=300)) as supervisor:
        supervisor.run(
            (Job(campaign.shard(number, 20)) for number in range(6)), campaign.finished.append, campaign.count
        )
        assert 1 <= supervisor.replaced.recycled <= 5
    assert len(campaign.finished) == 6
    assert set(campaign.column("verdict")) <= {"rounding", "exact"}


def test_a_call_that_takes_too_much_memory_is_ended_and_named(make: Any) -> None:
    campaign = make("[KEPT.append(np.ones(2_000_000)) or time.sleep(0.01) for _ in range(500)]")
    with campaign.supervisor(limits=Limits(memory=700)) as supervisor:
        supervisor.run(iter([Job(campaign.shard(0, 2))]), campaign.finished.append, campaign.count)
        assert supervisor.replaced.out_of_memory == 4  # each trial twice: the second time in a fresh worker
    assert campaign.column("verdict") == ["out_of_memory"] * 2
    assert set(campaign.column("error")) == {"used more than the limit of 700 MiB during run"}
    used = [facts["used_mib"] for kind, facts in campaign.events if kind == "killed_for_memory"]
    assert min(used) > 700


def test_what_earlier_trials_left_is_not_blamed_on_the_call_that_crosses_the_limit(make: Any) -> None:
    campaign = make("KEPT.append(np.ones(12_000_000)); time.sleep(0.25)")
    with campaign.supervisor(limits=Limits(memory=700)) as supervisor:
        supervisor.run(iter([Job(campaign.shard(0, 12))]), campaign.finished.append, campaign.count)
        assert supervisor.replaced.out_of_memory >= 1
    assert len(campaign.column("verdict")) == 12
    assert set(campaign.column("verdict")) <= {"rounding", "exact"}


def test_rows_of_a_long_shard_are_handed_over_while_it_runs(make: Any) -> None:
    campaign = make("time.sleep(0.1)")
    with campaign.supervisor(limits=Limits(shard=0.5)) as supervisor:
        supervisor.run(iter([Job(campaign.shard(0, 25))]), campaign.finished.append, campaign.count)
        assert supervisor.replaced.deaths == 0
    *parts, whole = campaign.finished
    assert len(parts) >= 2
    assert [part.complete for part in parts] == [False] * len(parts)
    assert whole.complete
    positions = [part.position for part in campaign.finished]
    assert positions == sorted(set(positions))
    for part in parts:
        assert facts(part.rows) == facts(whole.rows)[: 2 * part.position]


def test_health_says_what_every_worker_is_doing(make: Any) -> None:
    campaign = make("time.sleep(0.3)")
    seen: list[WorkerHealth] = []
    with campaign.supervisor(2) as supervisor:

        def look() -> bool:
            seen.extend(supervisor.health())
            return False

        jobs = (Job(campaign.shard(number, 4)) for number in range(2))
        supervisor.run(jobs, campaign.finished.append, campaign.count, look)
        idle = supervisor.health()
    assert {w.state for w in idle} == {"idle"}
    assert {w.name for w in idle} == {"worker-0", "worker-1"}
    assert all(w.rss_mib > 20 and w.shards == 1 and w.pid > 0 for w in idle)
    running = [w for w in seen if w.stage == "run"]
    assert running
    assert {w.state for w in running} == {"running"}
    assert all(w.target.endswith(":cpu") and "-" in w.trial and 0 <= w.call_seconds < 30 for w in running)


def test_events_tell_what_happened_to_workers(make: Any) -> None:
    campaign = make("os._exit(7)")
    with campaign.supervisor() as supervisor:
        supervisor.run(iter([Job(campaign.shard(0, 8))]), campaign.finished.append, campaign.count)
        assert supervisor.replaced.died == 5
    assert campaign.kinds()[:2] == ["worker_started", "worker_died"]
    assert campaign.kinds()[-3:] == ["worker_died", "quarantined", "worker_started"]
    died = [facts for kind, facts in campaign.events if kind == "worker_died"]
    assert {(facts["cause"], facts["stage"]) for facts in died} == {("exit code 7", "run")}
    assert len({facts["trial"] for facts in died}) == 5
    quarantined = next(facts for kind, facts in campaign.events if kind == "quarantined")
    assert (quarantined["deaths"], quarantined["trials"]) == (5, 5)
    assert campaign.column("verdict") == ["crashed"] * 5 + ["indeterminate"] * 3


def test_a_kernel_that_writes_into_the_connection_of_the_engine_ends_the_campaign_with_a_line(make: Any) -> None:
    """Nobody can tell afterwards whose rows these were."""
    send = "os.write(fd, (3).to_bytes(4, 'big') + b'\\xc1\\xc1\\xc1')"
    sockets = "[fd for fd in range(3, 64) if 'socket' in os.path.realpath(f'/proc/self/fd/{{fd}}')]"
    campaign = make(f"[{send} for fd in {sockets.format()}]")
    with campaign.supervisor() as supervisor, pytest.raises(InternalError, match="a kernel wrote into its connection"):
        supervisor.run(iter([Job(campaign.shard(0, 8))]), campaign.finished.append, campaign.count)
