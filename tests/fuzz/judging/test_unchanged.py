"""Bits that an option may not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trial_cases import Lab

from fuzz.backends import BACKENDS, register
from fuzz.backends.base import Backend, Kernel, OptionSpec, Request, SimpleKernel
from fuzz.judging.judge import Judgement
from fuzz.judging.unchanged import differing, unchanged
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial

ROUNDING = Judgement("rounding", "rho 0.3")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_zeros_of_either_sign_differ_and_nan_equals_nan(dtype: str) -> None:
    one = np.array([[1, 0.0, np.nan], [np.inf, 2, 3]], dtype)
    other = np.array([[1, -0.0, -np.nan], [np.inf, 2, 3]], dtype)
    assert differing(one, other).tolist() == [1]
    assert differing(one, one).size == 0


def test_equal_bits_keep_the_judgement() -> None:
    values = np.ones(4, np.float32)
    assert unchanged(values, values.copy(), "split", ROUNDING) is ROUNDING


def test_one_bit_is_a_schedule_variant_that_names_the_primitives() -> None:
    values = np.ones(4, np.float32)
    changed = values.copy()
    changed[2] = np.nextafter(np.float32(1), np.float32(2))
    found = unchanged(changed, values, "split y i by 8; vectorize y i_1", ROUNDING)
    assert found.verdict == "schedule_variant"
    for part in ("1 of 4 elements", "the first at 2", "split y i by 8; vectorize y i_1", "rounding: rho 0.3"):
        assert part in found.detail


def test_a_finding_keeps_its_verdict_and_says_so() -> None:
    values = np.ones(4, np.float32)
    found = unchanged(2 * values, values, "split", Judgement("wrong", "s = 1"))
    assert found.verdict == "wrong"
    assert found.detail.startswith("s = 1; 4 of 4 elements are not those of the default schedule")


class Scheduling(Backend):
    """Adds up rows; under the schedules `off` and `swapped` with an error of one bit, which `off` may not have."""

    name = "scheduling"
    options = (OptionSpec("schedule", "", "", ("", "on", "off", "swapped")),)
    calls: list[str]

    def prepare(self, request: Request) -> Kernel:
        schedule = request.options["schedule"]
        (x,), (out,) = request.inputs.values(), request.outputs

        def call() -> tuple[np.ndarray, ...]:
            self.calls.append(schedule)
            np.copyto(out, x.astype(np.float64).sum(axis=1))
            if schedule in ("off", "swapped"):
                out[0] = np.nextafter(out[0], np.inf, dtype=out.dtype)
            return (out,)

        facts = {"schedule": f"primitives of {schedule}"}
        return SimpleKernel(call, True, facts, same_bits=("schedule",) if schedule in ("on", "off") else ())


@pytest.fixture
def backend() -> Any:
    made = Scheduling()
    made.calls = []
    made.implementation("sum", "rows", "rows")(lambda x, axis: x)
    register(made)
    yield made
    del BACKENDS["scheduling"]


def verdicts(*schedules: str) -> list[tuple[str, str]]:
    targets = tuple(Target("scheduling", "cpu", "float32", (("schedule", name),) if name else ()) for name in schedules)
    rows = run_trial(Cell(Lab().problem("sum"), targets), 0, 0, Session("test")).rows
    return [(str(row["verdict"]), str(row["detail"])) for row in rows]


def test_a_planted_schedule_is_told_from_a_reordered_sum(backend: Scheduling) -> None:
    plain, on, off, swapped = verdicts("", "on", "off", "swapped")
    assert plain == on
    assert off[0] == "schedule_variant"
    assert "primitives of off" in off[1]
    assert swapped[0] == "rounding"


def test_the_default_schedule_runs_for_it_where_it_is_no_target(backend: Scheduling) -> None:
    ((verdict, _),) = verdicts("off")
    assert verdict == "schedule_variant"
    assert backend.calls == ["off", ""]


def test_it_runs_once_a_trial_for_all_schedules(backend: Scheduling) -> None:
    assert [verdict for verdict, _ in verdicts("off", "on")] == ["schedule_variant", "exact"]
    assert backend.calls.count("") == 1


def test_nothing_is_compared_with_a_default_that_fails(backend: Scheduling, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = Scheduling.prepare

    def failing(self: Scheduling, request: Request) -> Kernel:
        if request.options["schedule"] == "":
            raise RuntimeError("planted")
        return prepare(self, request)

    monkeypatch.setattr(Scheduling, "prepare", failing)
    assert [verdict for verdict, _ in verdicts("", "off")] == ["raised", "rounding"]
