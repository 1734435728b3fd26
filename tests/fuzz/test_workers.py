"""The supervisor with real workers: stopping gently, going on, recycling, limits."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fuzz.extensions import load_extension
from fuzz.job import Job
from fuzz.plan import Piece, Shard
from fuzz.request import CampaignSpec, ProblemSpec
from fuzz.spec import resolve
from fuzz.supervisor import Finished, Limits, Supervisor
from fuzz.trial import Cell
from fuzz.worker import Setup
from results.columns import COLUMNS, TIMINGS

SLOW = """
import os, time
import numpy as np
from fuzz.extend import FunctionBackend, register

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

    def __init__(self, folder: Path, body: str, name: str) -> None:
        self.folder = folder
        (folder / "tmp").mkdir(exist_ok=True)
        self.source = folder / f"{name}.py"
        self.source.write_text(SLOW.format(body=body, name=name))
        load_extension(self.source)
        spec = CampaignSpec(problems=(ProblemSpec("exp", {"n": 4}),), targets=("numpy", name))
        self.cell: Cell = resolve(spec).cells[0]
        self.finished: list[Finished] = []
        self.received = 0
        self.events: list[tuple[str, dict[str, Any]]] = []

    def supervisor(self, workers: int = 1, limits: Limits | None = None) -> Supervisor:
        setup = Setup("", "", 0, "test", ("numpy",), (str(self.source),), str(self.folder))
        return Supervisor(self.folder, setup, workers, limits or Limits(), ())

    def shard(self, number: int, trials: int) -> Shard:
        return Shard(number, (Piece(self.cell, number * trials, (number + 1) * trials),))

    def count(self, trials: int, rows: list[list[Any]]) -> None:
        self.received += trials


@pytest.fixture
def make(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    numbers = itertools.count()

    def made(body: str = "pass") -> Campaign:
        return Campaign(tmp_path, body, f"b{abs(hash(request.node.nodeid)) % 10**8}x{next(numbers)}")

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
    assert 0.3 < time.monotonic() - asked[0] < 3
    assert campaign.finished[0].position == campaign.received <= 3


def test_workers_that_are_still_starting_are_not_waited_for(make: Any) -> None:
    campaign = make()
    with campaign.supervisor() as supervisor:
        jobs = iter([Job(campaign.shard(0, 5)), Job(campaign.shard(1, 5))])
        asked = itertools.count()
        supervisor.run(jobs, campaign.finished.append, campaign.count, lambda: next(asked) > 0)
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
