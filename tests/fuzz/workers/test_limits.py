"""Limits as figures, and what exceeds them."""

from __future__ import annotations

import math
import os

import pytest

from fuzz.workers.blame import excess
from fuzz.workers.breadcrumb import Place
from fuzz.workers.limits import Limits, available, resident

LIMITS = Limits(call=2, compile=10)
RUNNING = Place(3, 7, 1, "run", "campaign", 0.0)
COMPILING = Place(3, 7, 1, "compile", "ladder", 0.0)
BETWEEN = Place(3, 0, -1, "", "campaign", 0.0)


@pytest.mark.parametrize(
    ("place", "seconds", "used", "event", "error"),
    [
        (RUNNING, 1.9, 10, "", ""),
        (RUNNING, 2.1, 10, "timed_out", "run took longer than 2 s"),
        (COMPILING, 9.9, 10, "", ""),
        (COMPILING, 10.1, 10, "timed_out", "compile in the other precision took longer than 10 s"),
        (BETWEEN, 1e9, 10, "", ""),
        (RUNNING, 0.1, 501, "killed_for_memory", "used more than the limit of 500 MiB during run"),
        (RUNNING, 99.0, 501, "killed_for_memory", "used more than the limit of 500 MiB during run"),
        (BETWEEN, 0.1, 501, "killed_for_memory", "used more than the limit of 500 MiB between calls"),
    ],
)
def test_what_exceeds_a_limit(place: Place, seconds: float, used: float, event: str, error: str) -> None:
    found = excess(place, seconds, used, LIMITS, 500.0)
    assert (found.event if found else "") == event
    assert (found.death.error if found else "") == error


def test_memory_by_default_is_a_share_of_what_is_there_in_steps_that_a_resumed_campaign_meets_again() -> None:
    one, four = Limits().resolved(1).memory, Limits().resolved(4).memory
    assert 1024 <= four <= one <= max(available(), 1024)
    assert math.log2(one).is_integer()
    assert Limits().resolved(4).recycle_memory == four / 2


def test_memory_limits_can_be_named_and_lifted() -> None:
    assert Limits(memory=300).resolved(2).memory == 300
    assert Limits(memory=math.inf).resolved(2).recycle_memory == math.inf
    assert Limits(memory=300, recycle_memory=200).resolved(2).recycle_memory == 200


def test_memory_of_a_process() -> None:
    assert resident(os.getpid()) > 5
    assert resident(2**30) == 0
