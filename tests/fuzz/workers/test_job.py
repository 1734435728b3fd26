"""A job: what is known of a shard under way, and that it can be rebuilt from the rows on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.plan import Piece, Shard
from fuzz.trial import Cell, Death
from fuzz.workers.breadcrumb import Place
from fuzz.workers.job import QUARANTINE_DEATHS, Job
from results.columns import COLUMNS

CRASH = Death("crashed", "SIGSEGV during run")


def cell(operator_name: str = "sum", **dims: int) -> Cell:
    spec = CampaignSpec(problems=(ProblemSpec(operator_name, dims),), targets=("numpy", "numpy[dtype=float64]"))
    return resolve(spec).cells[0]


ONE, TWO = cell(rows=2, n=3), cell(rows=2, n=4)
SHARD = Shard(0, (Piece(ONE, 0, 30), Piece(TWO, 0, 20)))


def at(position: int, target: int = 0) -> Place:
    return Place(position, SHARD.at(position)[1], target, "run", "campaign", 0.0)


def died(positions: Iterable[int], target: int = 0) -> Job:
    job = Job(SHARD)
    for position in positions:
        job.record(at(position, target), CRASH)
    return job


def not_run(job: Job) -> set[tuple[int, int]]:
    return {key for key, death in job.not_run().items() if death.verdict == "indeterminate"}


def row(position: int, target: int, verdict: str, error: str | None) -> list[Any]:
    piece, index = SHARD.at(position)
    values = {
        "problem_id": piece.cell.problem.id,
        "index": index,
        "target": piece.cell.targets[target].spelling(piece.cell.problem.home),
        "against": "truth",
        "verdict": verdict,
        "error": error,
    }
    return [values.get(column.name) for column in COLUMNS]


def test_a_target_that_dies_at_once_is_quarantined_at_the_fifth_death_on_this_problem_only() -> None:
    assert not_run(died(range(QUARANTINE_DEATHS - 1))) == set()
    assert not_run(died(range(QUARANTINE_DEATHS))) == {(position, 0) for position in range(5, 30)}


def test_scattered_deaths_are_never_quarantined() -> None:
    assert not_run(died(range(1, 30, 2))) == set()  # every second trial: not more than half


def test_deaths_that_become_the_rule_are_quarantined_when_they_outweigh_the_trials_that_ended_well() -> None:
    job = died(range(8, 17))
    (quarantine,) = job.quarantines()
    assert (quarantine.position, quarantine.deaths, quarantine.trials) == (16, 9, 17)
    assert not_run(job) == {(position, 0) for position in range(17, 30)}


def test_trials_are_counted_per_problem_and_target() -> None:
    job = died([*range(4), *range(30, 34)])
    job.record(at(4, 1), CRASH)
    assert not_run(job) == set()
    assert job.record(at(34), CRASH) is not None  # the fifth of the second problem
    assert job.record(at(35), CRASH) is None  # already imposed
    assert not_run(job) == {(position, 0) for position in range(35, 50)}


def test_what_a_job_knows_does_not_depend_on_the_order_of_the_deaths() -> None:
    positions = [9, 2, 0, 7, 3, 4, 1]
    assert died(positions).not_run() == died(sorted(positions)).not_run()


@pytest.mark.parametrize("stop", [0, 3, 5, 6, 29, 30, 31, 50])
def test_deaths_are_read_off_the_rows_on_disk(stop: int) -> None:
    """A job begun behind `stop` trials knows what one that lived through them knows."""
    deaths = {position: Death("timed_out", "run took longer than 1 s") for position in (0, 1, 2, 4, 5, 31)}
    lived = died([])
    for position, death in deaths.items():
        if position < stop:
            lived.record(at(position), death)
    rows = [
        row(position, target, *((deaths[position].verdict, deaths[position].error) if dead else ("rounding", None)))
        for position in range(stop)
        for target in (0, 1)
        if (dead := target == 0 and position in deaths) or True
    ]
    lived.position = stop
    begun = Job(SHARD, stop, rows)
    assert begun.deaths == lived.deaths
    assert begun.not_run() == lived.not_run()
    assert begun.complete == (stop == 50)


def test_failures_that_the_process_outlived_are_no_deaths() -> None:
    outlived = [
        ("out_of_memory", "raised MemoryError: Unable to allocate 4 TiB"),
        ("out_of_bounds_write", "bytes outside the output changed"),
        ("raised", "RuntimeError: no"),
        ("out_of_memory", None),  # in the other precision: the trial has figures
        ("indeterminate", "not run"),
    ]
    rows = [row(position, 0, *failure) for position, failure in enumerate(outlived)]
    assert Job(SHARD, 5, rows).deaths == {}


def test_rows_of_a_pair_are_no_deaths() -> None:
    rows = [row(0, 0, "crashed", "SIGSEGV during run")]
    rows[0][[column.name for column in COLUMNS].index("against")] = "numpy:cpu[dtype=float64]"
    assert Job(SHARD, 1, rows).deaths == {}
