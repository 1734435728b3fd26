"""What became of findings: the very trials tell, else their number; what did not run tells nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from synthetic_rows import make_row

import results
from results.columns import Row
from results.comparison.campaigns import Campaigns, compare
from results.comparison.fates import all_on_one_side
from results.comparison.headline import headline

Write = Callable[..., Path]
BAD = {"verdict": "unstable", "flagged": 3, "rho_max": 40.0, "region": "x < -2.75"}


def rows(trials: int, bad: int = 0, **cells: Any) -> list[Row]:
    """Trials of which the first `bad` have a finding."""
    return [make_row(index, **(BAD if index < bad else {}) | cells) for index in range(trials)]


def fates(found: Campaigns) -> list[tuple[str, int]]:
    return [(item.fate, item.again) for item in found.findings]


def compared(first: Path, second: Path) -> Campaigns:
    return compare(results.open(first), results.open(second))


def test_the_same_trials_tell(campaign: Write) -> None:
    bad, good = campaign(rows(50, 2)), campaign(rows(50))
    new = compared(good, bad)
    assert fates(new) == [("new", 2)]
    assert new.failed
    assert headline(new).startswith("New finding: numpy:cpu batch_norm (y) in float32: unstable, x < -2.75.")
    fixed = compared(bad, good)
    assert fates(fixed) == [("fixed", 2)]
    assert not fixed.failed
    assert headline(fixed).startswith("Fixed finding: ")
    assert fixed.findings[0].why.startswith("2 trials that have it ran in the second campaign, too, and none of them")


def test_one_passing_trial_is_enough_where_the_inputs_are_the_same(campaign: Write) -> None:
    assert fates(compared(campaign(rows(50, 1)), campaign(rows(1), shards=1))) == [("fixed", 1)]


def test_still_there(campaign: Write) -> None:
    found = compared(campaign(rows(50, 2)), campaign(rows(50, 3)))
    assert fates(found) == [("still there", 0)]
    assert found.findings[0].why == "2 of 50 trials before, 3 of 50 after"
    assert not found.failed


@pytest.mark.parametrize(("bad", "fate"), [(3, "not seen again"), (5, "fixed")])
def test_other_trials_tell_by_their_number(campaign: Write, bad: int, fate: str) -> None:
    """All of k in one of two equal halves: about 2^-k."""
    found = compared(campaign(rows(100, bad)), campaign(rows(100, seed=8)))
    (item,) = found.findings
    assert item.fate == fate
    assert item.chance == pytest.approx(stats.hypergeom(200, 100, bad).pmf(bad))
    assert not found.failed


def test_a_rare_new_finding_is_new_and_chance_is_named(campaign: Write) -> None:
    found = compared(campaign(rows(100)), campaign(rows(100, 1, seed=8)))
    assert fates(found) == [("new", 0)]
    assert found.findings[0].why.endswith("chance explains it")
    assert "Chance explains 1 of them." in headline(found)
    assert found.failed


@pytest.mark.parametrize(
    "other", [{"operator": "exp"}, {"dtype": "float64"}, {"target": "torch:cpu", "backend": "torch"}]
)
def test_what_did_not_run_there_is_neither_new_nor_fixed(campaign: Write, other: Row) -> None:
    bad, good = campaign(rows(50, 2)), campaign(rows(50, **other))
    for found in (compared(bad, good), compared(good, bad)):
        assert fates(found) == [("not run there", 0)]
        assert not found.failed


def test_the_problem_has_to_run_there(campaign: Write) -> None:
    here = [*rows(50, 2), *rows(50, problem_id="q" * 16)]
    there = rows(50, problem_id="q" * 16)
    assert fates(compared(campaign(here), campaign(there))) == [("not run there", 0)]


def test_a_survey_tells_of_its_population(campaign: Write) -> None:
    facts = {"plan": "survey", "trials_per_problem": 1, "population": "p1"}
    one = [row | {"problem_id": f"a{number:015x}"} for number, row in enumerate(rows(100, 6))]
    other = [row | {"problem_id": f"b{number:015x}"} for number, row in enumerate(rows(100, seed=8))]
    assert fates(compared(campaign(one, **facts), campaign(other, **facts))) == [("fixed", 0)]
    strange = campaign(other, **facts | {"population": "p2"})
    assert fates(compared(campaign(one, **facts), strange)) == [("not run there", 0)]


def test_trials_with_other_inputs_are_other_trials(campaign: Write) -> None:
    other = rows(50, input_digest="f" * 32)
    (item,) = compared(campaign(rows(50, 2)), campaign(other)).findings
    assert (item.fate, item.again) == ("not seen again", 0)


def test_findings_of_paired_targets_are_the_same_finding(campaign: Write) -> None:
    gpu = {"target": "numpy:cuda", "device": "cuda"}
    assert fates(compared(campaign(rows(50, 2)), campaign(rows(50, 2, **gpu)))) == [("still there", 0)]
    assert fates(compared(campaign(rows(50, 2)), campaign(rows(50, **gpu)))) == [("fixed", 2)]


def test_a_trial_without_an_output_is_a_finding(campaign: Write) -> None:
    crashed = {"verdict": "crashed", "output_digest": None, "rho_max": None, "flagged": None, "above_1e01": None}
    crashed |= {"above_1e02": None, "region": "SIGSEGV in run"}
    later = [row | (crashed if int(row["index"] or 0) < 20 else {}) for row in rows(50)]
    found = compared(campaign(rows(50)), campaign(later))
    assert fates(found) == [("new", 20)]
    (line,) = found.lines
    (change,) = [change for change in line.rates if change.event == "finding"]
    assert (change.second_k, change.second_n) == (20, 50)
    assert change.differs
    assert not found.identical


def test_the_probability_is_that_of_the_hypergeometric_law() -> None:
    assert all_on_one_side(3, 10, 20) == pytest.approx(stats.hypergeom(30, 10, 3).pmf(3))
    assert all_on_one_side(1, 5, 0) == 1
