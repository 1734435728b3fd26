"""--fail-on: what ends with exit code 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from finding_groups import group
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_rows import TARGETS, make_row

import results
from results.errors import FailOnError, InvalidRate
from results.fail_on import (
    FailOn,
    FlaggedRate,
    evaluate,
    failing_rate,
    flagged_rates,
    is_wrong,
    parse_fail_on,
    require_plan,
)
from results.statistics.proportions import one_sided_lower
from results.verdicts import VERDICTS


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("new", FailOn("new")),
        (" wrong ", FailOn("wrong")),
        ("none", FailOn("none")),
        ("rate>0.01", FailOn("rate", 0.01)),
        ("rate > 1e-3", FailOn("rate", 1e-3)),
        ("rate>0", FailOn("rate", 0.0)),
    ],
)
def test_rules_are_read_and_written(text: str, rule: FailOn) -> None:
    assert parse_fail_on(text) == rule
    assert parse_fail_on(str(rule)) == rule
    assert failing_rate(text) == (rule.limit if rule.rule == "rate" else None)


@pytest.mark.parametrize(
    "text", ["", "newer", "rate", "rate>", "rate>x", "rate>1", "rate>-0.1", "rate>nan", "rate<0.1"]
)
def test_bad_rules_are_one_line(text: str) -> None:
    with pytest.raises(FailOnError, match=r"rate>0\.01") as raised:
        parse_fail_on(text)
    assert "\n" not in str(raised.value)


def test_wrong_begins_where_results_make_no_sense() -> None:
    assert [name for name in VERDICTS if is_wrong(name)] == [
        "identity_broken",
        "out_of_range",
        "nonfinite_mismatch",
        "wrong",
        "input_modified",
        "out_of_bounds_write",
        "raised",
        "out_of_memory",
        "timed_out",
        "crashed",
    ]


@pytest.mark.parametrize(
    ("rule", "verdicts", "failed"),
    [
        ("new", [], False),
        ("new", ["subnormals_flushed"], True),
        ("wrong", [], False),
        ("wrong", ["unstable", "low_precision"], False),
        ("wrong", ["unstable", "nonfinite_mismatch"], True),
        ("none", ["crashed"], False),
    ],
)
def test_rules_about_findings(rule: str, verdicts: list[str], failed: bool) -> None:
    decision = evaluate(parse_fail_on(rule), [group(verdict=verdict) for verdict in verdicts])
    assert decision.failed is failed
    assert decision.why


def test_a_rate_fails_only_where_the_lower_bound_exceeds_it() -> None:
    rates = [FlaggedRate("a", 3, 100, one_sided_lower(3, 100)), FlaggedRate("b", 30, 1000, one_sided_lower(30, 1000))]
    assert not evaluate(FailOn("rate", 0.0083), [group()], rates[:1]).failed
    assert evaluate(FailOn("rate", 0.0081), [], rates[:1]).failed
    decision = evaluate(FailOn("rate", 0.02), [], rates)
    assert decision.failed
    assert "1 of 2 flagged rates are above 0.02 with 95 % confidence each, the highest b: 30 of 1,000" in decision.why
    assert not evaluate(FailOn("rate", 0.5), [group(verdict="crashed")], rates).failed


@settings(deadline=None)
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_lower_bound_is_the_exact_one(counts: tuple[int, int]) -> None:
    from scipy.stats import binomtest

    k, n = counts
    exact = binomtest(k, n, alternative="greater").proportion_ci(0.95, "exact").low
    assert one_sided_lower(k, n) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("plan", ["explore", "search", "exhaustive", "mixed", None])
def test_plans_without_rates_refuse_the_rule_before_anything_runs(plan: str | None) -> None:
    with pytest.raises(FailOnError, match="has no rates"):
        require_plan(FailOn("rate", 0.1), plan)
    require_plan(FailOn("new"), plan)


@pytest.mark.parametrize("plan", ["fixed", "survey"])
def test_plans_with_rates_take_it(plan: str) -> None:
    require_plan(FailOn("rate", 0.1), plan)


def test_rates_are_of_each_problem_of_a_fixed_plan(campaign: Callable[..., Path]) -> None:
    rows = [
        make_row(i, t, problem_id=f"{p:016x}", flagged=int(p == 1 and i < 5))
        for i in range(20)
        for p in range(2)
        for t in TARGETS[:2]
    ]
    found = {(rate.what, rate.flagged, rate.trials) for rate in flagged_rates(results.open(campaign(rows)))}
    assert ("torch:cpu batch_norm (problem 00000000)", 5, 20) in found
    assert len(found) == 4


def test_rates_are_of_each_operator_of_a_survey(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, problem_id=f"{i:016x}", operator=("exp", "log")[i % 2], flagged=int(i == 3)) for i in range(20)]
    opened = results.open(campaign(rows, plan="survey", trials_per_problem=1))
    assert [(r.what, r.flagged, r.trials) for r in flagged_rates(opened)] == [
        ("numpy:cpu exp in float32", 0, 10),
        ("numpy:cpu log in float32", 1, 10),
    ]


def test_no_rates_of_a_search(campaign: Callable[..., Path]) -> None:
    with pytest.raises(InvalidRate):
        flagged_rates(results.open(campaign([make_row(0)], plan="search")))
