"""Rates that the plan supports are exact; everything else is refused with the reason."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_rows import TARGETS, batch_norm_rows, make_row

import results
from results.columns import Row
from results.contents import rates as contents
from results.errors import InvalidRate, QueryError
from results.published import compare_published
from results.report import report
from results.statistics.clustered import generator_rate

EVENT = "above_1e01 > 0"


def survey_rows(problems: int, trials: int = 1) -> list[Row]:
    """Problems with `trials` draws each; every tenth problem has an outlier."""
    return [
        make_row(t, target, problem_id=f"{p:016x}", operator=f"op{p % 4}", above_1e01=int(p % 10 == 0))
        for p in range(problems)
        for t in range(trials)
        for target in TARGETS
    ]


def test_a_fixed_problem_has_a_rate_for_each_target(campaign: Callable[..., Path]) -> None:
    rows = batch_norm_rows(400)
    table = results.rate(results.open(campaign(rows)), EVENT, by=("target",))
    assert [row.group["target"] for row in table.rows] == sorted(TARGETS)
    for row in table.rows:
        mine = [r for r in rows if r["target"] == row.group["target"] and r["against"] == "truth"]
        k = sum(int(r["above_1e01"] or 0) > 0 for r in mine)
        assert row.interval == results.rate_interval(k, 400)
        assert row.upper == results.one_sided_upper(k, 400)


def test_a_pair_has_a_rate(campaign: Callable[..., Path]) -> None:
    found = results.open(campaign(batch_norm_rows(50)))
    (row,) = results.rate(found, "above_1e02 > 0", against=TARGETS[-1]).rows
    assert row.interval.n == 50


def test_a_trial_counts_once_with_all_its_outputs_and_targets(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, t, output=o, above_1e01=i % 2) for i in range(10) for t in TARGETS for o in ("q", "r")]
    (row,) = results.rate(results.open(campaign(rows)), EVENT).rows
    assert (row.interval.k, row.interval.n) == (5, 10)


def test_a_survey_has_a_population_rate(campaign: Callable[..., Path]) -> None:
    found = results.open(campaign(survey_rows(100), plan="survey"))
    table = results.rate(found, EVENT, by=("target",), population=True)
    assert "population" in table.of
    assert {(row.interval.k, row.interval.n) for row in table.rows} == {(10, 100)}


def test_no_output_means_no_trial(campaign: Callable[..., Path]) -> None:
    rows = [make_row(0), make_row(1, verdict="raised", above_1e01=None)]
    found = results.open(campaign(rows))
    assert results.rate(found, EVENT).rows[0].interval.n == 1
    (row,) = results.rate(found, "verdict = 'raised'").rows
    assert (row.interval.k, row.interval.n) == (1, 2)


def refused(found: results.Results, reason: str, **arguments: object) -> None:
    with pytest.raises(InvalidRate, match=reason):
        results.rate(found, EVENT, **arguments)  # type: ignore[arg-type]


def test_a_fixed_plan_says_nothing_about_a_population(campaign: Callable[..., Path]) -> None:
    refused(results.open(campaign(batch_norm_rows(5))), "use a survey", population=True)


def test_problems_of_a_fixed_plan_are_not_pooled(campaign: Callable[..., Path]) -> None:
    found = results.open(campaign(survey_rows(20, trials=3)))
    refused(found, "20 problems of a fixed plan were chosen, not drawn")
    refused(found, "5 problems of a fixed plan", by=("operator", "target"))
    assert len(results.rate(found, EVENT, by=("problem_id",)).rows) == 20


def test_a_problem_that_a_survey_draws_twice_leaves_its_trials_independent(campaign: Callable[..., Path]) -> None:
    found = results.open(campaign(survey_rows(20, trials=3), plan="survey", trials_per_problem=1))
    assert results.rate(found, "flagged > 0", population=True).of == "the population of the survey"


def test_a_survey_with_several_trials_a_problem_has_the_interval_of_clusters(campaign: Callable[..., Path]) -> None:
    found = results.open(campaign(survey_rows(40, trials=3), plan="survey"))
    expected = generator_rate([3 if p % 10 == 0 else 0 for p in range(40)], 3)
    for population in (False, True):
        table = results.rate(found, EVENT, by=("target",), population=population)
        assert table.clustered
        assert table.of == "the population of the survey, by problems of several trials each"
        assert [row.group["target"] for row in table.rows] == sorted(TARGETS)
        for row in table.rows:
            assert (row.interval.k, row.interval.n, row.interval.rate) == (12, 120, 0.1)
            assert (row.interval.low, row.interval.high) == (expected.low, expected.high)
            assert row.upper == expected.upper
            assert row.interval.high > 1.2 * results.rate_interval(12, 120).high
    alone = results.rate(found, EVENT, by=("problem_id",))
    assert (alone.of, alone.clustered) == ("the trials of one problem", False)
    refused(found, "not independent draws", by=("problem_id",), population=True)


def test_one_problem_says_nothing_about_the_population(campaign: Callable[..., Path]) -> None:
    rows = survey_rows(4, trials=3) + survey_rows(1, trials=3)
    rows[-12:] = [row | {"operator": "alone"} for row in rows[-12:]]
    table = results.rate(results.open(campaign(rows, plan="survey")), EVENT, by=("operator",))
    single = next(row for row in table.rows if row.group["operator"] == "op1")
    assert not table.clustered  # every operator has one problem: the trials of each are a sample of it
    assert table.of == "the trials of one problem"
    assert single.interval == results.rate_interval(0, 3)
    rows += [row | {"problem_id": "q", "operator": "alone"} for row in rows[-12:]]
    mixed = results.rate(results.open(campaign(rows, plan="survey")), EVENT, by=("operator",))
    by = {row.group["operator"]: row for row in mixed.rows}
    assert mixed.clustered
    assert (by["op1"].interval.low, by["op1"].interval.high, by["op1"].upper) == (0.0, 1.0, 1.0)
    assert by["alone"].interval.low > 0


def test_clusters_that_a_decision_ended_have_no_interval(campaign: Callable[..., Path]) -> None:
    until = {"event": EVENT, "threshold": 0.1}
    refused(results.open(campaign(survey_rows(20, trials=3), plan="survey", until=until)), "not independent draws")


def test_reports_of_clusters_say_which_interval_they_show(campaign: Callable[..., Path]) -> None:
    rows = survey_rows(40, trials=3)
    rows += [row | {"against": TARGETS[1]} for row in rows if row["target"] == TARGETS[0]]
    found = results.open(campaign(rows, plan="survey", published="38/5000"))
    out = io.StringIO()
    report(found, Console(file=out, width=200))
    printed = " ".join(out.getvalue().split())
    assert "problems of several trials each (Korn and Graubard)" in printed
    assert "Clopper" not in printed
    panel = next(panel for panel in contents.rates(found).panels if "1e-1" in panel.event)
    low, high = (
        getattr(generator_rate([3 if p % 10 == 0 else 0 for p in range(40)], 3), end) for end in ("low", "high")
    )
    own = [line for line in panel.lines if line.kind != contents.PUBLISHED]
    assert len(own) == len(TARGETS) + 1
    assert {(line.interval.low, line.interval.high) for line in own} == {(low, high)}
    compared = compare_published(found)
    assert compared is not None
    assert "not independent draws" in compared.refused


@pytest.mark.parametrize("plan", ["explore", "search", "exhaustive", None, "unheard-of"])
def test_other_plans_have_no_rate(campaign: Callable[..., Path], plan: str | None) -> None:
    found = results.open(campaign(survey_rows(20), plan=plan))
    refused(found, f"no rate can be read off this campaign \\(plan {plan}\\)")
    refused(found, "no rate can be read off", by=("problem_id",))


def test_campaigns_of_different_plans_have_no_rate(campaign: Callable[..., Path]) -> None:
    refused(results.open(campaign(survey_rows(5)), campaign(survey_rows(5), plan="survey")), "different plans")


@pytest.mark.parametrize(
    "event", ["", "flagged", "flagged >", "flagged > 0 or 1=1", "flagged > seed", "nonsense > 0", "verdict = 'a' -- '"]
)
def test_only_plain_events_are_read(campaign: Callable[..., Path], event: str) -> None:
    with pytest.raises(QueryError):
        results.rate(results.open(campaign(batch_norm_rows(2))), event)


def test_an_unknown_column_is_named(campaign: Callable[..., Path]) -> None:
    with pytest.raises(QueryError, match="unknown column 'colour'"):
        results.rate(results.open(campaign(batch_norm_rows(2))), EVENT, by=("colour",))
