"""Recommended tolerances keep their flake rate: the fast form of benchmarks/tolerances.py."""

from __future__ import annotations

import pytest
from quality_modules import load

simulated = load("tolerances_simulated")
tolerances = load("tolerances")


@pytest.mark.parametrize(("operator", "dims"), [("sum", {"rows": 2, "n": 60}), ("exp", {"n": 60})])
def test_fresh_trials_fail_no_more_often_than_promised(operator: str, dims: dict[str, int]) -> None:
    rare, frequent = reversed(tolerances.case(operator, dims, trials=1000, fresh=800, targets=("numpy",)))
    assert frequent.met, frequent.row()
    assert rare.met, rare.row()
    assert (frequent.advice.pair.level.basis, rare.advice.pair.level.basis) == ("counted", "extrapolated")


@pytest.mark.parametrize("law", list(simulated.LAWS))
@pytest.mark.parametrize(("trials", "flake"), [(400, 1e-2), (1000, 1e-5)])
def test_simulated_campaigns_keep_the_promise_as_often_as_said(law: str, trials: int, flake: float) -> None:
    found = simulated.kept(law, trials, flake, repetitions=25)
    assert found.promised >= 20
    assert found.met, found.row()


def test_the_failures_of_a_pair_are_counted_element_by_element() -> None:
    bench = tolerances.Bench("sum", {"rows": 2, "n": 60}, ("numpy",))
    assert bench.failures([(0.0, 0.0), (0.0, 1.0)], 20) == [20, 0]


def test_a_pair_that_is_too_small_is_missed() -> None:
    case = tolerances.case("sum", {"rows": 2, "n": 60}, trials=400, fresh=1, targets=("numpy",))[0]
    fields = {name: getattr(case, name) for name in ("operator", "flake", "advice")}
    assert tolerances.Case(**fields, fails=40, fresh=1500).met is False
    assert tolerances.Case(**fields, fails=15, fresh=1500).met is True


def test_the_laws_know_how_often_a_trial_fails() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    for name, law in simulated.LAWS.items():
        truth = np.abs(rng.standard_normal((20000, simulated.ELEMENTS)))
        error = simulated.U * law.draw(rng, truth)
        rtol, atol = 2 * simulated.U, 1.2 * simulated.U
        seen = float((error > atol + rtol * truth).any(axis=1).mean())
        assert seen == pytest.approx(law.fails(rtol, atol), abs=0.015), name
