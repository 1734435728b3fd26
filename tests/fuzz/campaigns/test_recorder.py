"""The snapshot of a running campaign: counts by trial, pace, events; the same counts from rows on disk."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from recorder_rows import MIXED, row

from fuzz.campaigns.counting import Counts
from fuzz.campaigns.recorder import Recorder
from fuzz.campaigns.snapshot import Snapshot, TargetCounts
from results.store import Store


class Ticking:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Kept:
    """A log in memory."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, float, dict[str, Any]]] = []

    def write(self, event: str, elapsed: float, facts: Mapping[str, Any]) -> None:
        self.lines.append((event, elapsed, dict(facts)))

    def events(self) -> list[str]:
        return [event for event, _, _ in self.lines]


def recorder(**options: Any) -> tuple[Recorder, Ticking, Kept]:
    clock, log = Ticking(), Kept()
    defaults: dict[str, Any] = {"title": "t", "directory": Path("c"), "plan": "fixed", "targets": ["a", "b"]}
    return Recorder(**(defaults | {"clock": clock, "log": log} | options)), clock, log


def test_a_trial_counts_once_whatever_its_outputs() -> None:
    counts = Counts(["a", "b"])
    counts.add(MIXED)
    assert counts.targets() == (
        TargetCounts("a", trials=2, measured=2, above_1e01=1, above_1e02=2, flagged=2),
        TargetCounts("b", trials=1, failures=(("crashed", 1),)),
        TargetCounts("c", trials=2, measured=2, above_1e01=1, above_1e02=1, flagged=2),
    )


def test_findings_are_sorted_by_severity_and_name_the_worst_trial() -> None:
    counts = Counts()
    counts.add(MIXED)
    found = [(f.verdict, f.target, f.trials, f.trial, f.worst_rho) for f in counts.findings()]
    assert found == [
        ("crashed", "b", 1, "pppppppp-0", None),
        ("wrong", "c", 1, "pppppppp-4", None),
        ("unstable", "a", 2, "pppppppp-1", 50.0),
        ("batch_variant", "a", 1, "pppppppp-2", 0.5),
    ]


def test_counts_from_disk_equal_those_of_arriving_rows(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text('{"format": "ulpfuzz campaign", "plan": "fixed"}')
    Store(tmp_path).commit(0, MIXED[:5])
    Store(tmp_path).commit(1, MIXED[5:])
    arrived, loaded = Counts(["a", "b", "d"]), Counts(["a", "b", "d"])
    arrived.add(MIXED)
    loaded.load(tmp_path)
    assert sorted(loaded.targets(), key=str) == sorted(arrived.targets(), key=str)
    assert loaded.findings() == arrived.findings()
    loaded.add([row(5, flagged=1), row(5, output="z", flagged=1)])
    assert loaded.targets()[0] == TargetCounts("a", trials=3, measured=3, above_1e01=1, above_1e02=2, flagged=3)


def test_a_directory_without_rows_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text('{"format": "ulpfuzz campaign", "plan": "fixed"}')
    counts = Counts(["a"])
    counts.load(tmp_path)
    assert counts.targets() == (TargetCounts("a"),)


def test_pace_leaves_out_the_start_and_forgets_after_a_minute() -> None:
    shown, clock, _ = recorder(before=500.0)
    shown.start(10_000, 100)
    clock.now += 50
    shown.advance(100, [])
    first = shown.snapshot()
    assert (first.done, first.elapsed, first.speed, first.eta) == (200, 550.0, None, None)
    for _ in range(60):
        clock.now += 10
        shown.advance(100, [])
    now = shown.snapshot()
    assert now.speed == pytest.approx(10)
    assert now.eta == pytest.approx((10_000 - 6200) / 10)
    clock.now += 1000
    later = shown.snapshot()
    assert later.speed is not None
    assert later.speed < 1
    assert later.elapsed == 500 + 50 + 600 + 1000


def test_the_time_allowed_bounds_the_time_left() -> None:
    shown, clock, _ = recorder(seconds=100.0, before=30.0)
    shown.start(None, 0)
    clock.now += 20
    assert shown.snapshot().eta == 50
    clock.now += 500
    assert shown.snapshot().eta == 0


def test_a_campaign_that_waits_for_a_decision_has_no_time_left_to_tell() -> None:
    shown, clock, _ = recorder(open_end=True)
    shown.start(1_000_000, 0)
    for _ in range(2):
        clock.now += 1
        shown.advance(100, [])
    assert shown.snapshot().eta is None


def test_events_are_counted_and_logged() -> None:
    shown, clock, log = recorder(budget="for 8 h")
    shown.start(10, 0, {"version": "1"})
    for kind in ("worker_started", "worker_died", "recycled", "worker_died", "quarantined"):
        shown.event(kind, {"name": "worker-0"})
    shown.tick()
    clock.now += 11
    shown.tick()
    shown.tick()
    shown.stop("interrupted")
    assert log.lines[0] == ("start", 0.0, {"total": 10, "done": 0, "budget": "for 8 h", "version": "1"})
    assert log.events()[-3:] == ["snapshot", "snapshot", "stop"]
    assert log.lines[-1] == ("stop", 11.0, {"reason": "interrupted", "done": 0})
    last = msgspec.convert(log.lines[-2][2], Snapshot)
    assert last == shown.snapshot()
    assert last.restarts == (("recycled", 1), ("worker_died", 2))
    assert (last.quarantined, last.ended) == (1, "interrupted")


def test_the_clock_stops_with_the_run() -> None:
    shown, clock, _ = recorder()
    shown.start(10, 0)
    clock.now += 5
    shown.stop("done")
    clock.now += 100
    assert shown.snapshot().elapsed == 5


def test_snapshots_are_logged_soon_and_then_every_ten_seconds() -> None:
    shown, clock, log = recorder()
    shown.start(10, 0)
    for _ in range(1000):
        clock.now += 0.1
        shown.tick()
    times = [elapsed for event, elapsed, _ in log.lines if event == "snapshot"]
    assert times[:5] == pytest.approx([1, 3, 7, 15, 25], abs=0.5)
    assert all(9 < later - earlier < 11 for earlier, later in itertools.pairwise(times[4:]))
