"""Two campaigns compared: what is shared, what is tested and how, what is refused, what is said."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from synthetic_rows import TARGETS, batch_norm_rows, make_row, outlier

import results
from results.columns import SCHEMA_VERSION, Row
from results.comparison.campaigns import Campaigns, compare
from results.comparison.changes import RateChange
from results.comparison.headline import headline
from results.comparison.lines import Line
from results.comparison.plain import campaigns_json
from results.comparison.report import print_campaigns

Write = Callable[..., Path]
NUMPY, TORCH = TARGETS[:2]


def compared(first: Path, second: Path) -> Campaigns:
    return compare(results.open(first), results.open(second))


def only(found: Campaigns) -> Line:
    (line,) = found.lines
    return line


def rate(line: Line, event: str) -> RateChange:
    (change,) = [change for change in line.rates if change.event == event]
    return change


def rows(trials: int, events: int = 0, **cells: Any) -> list[Row]:
    """Healthy trials with scattered rho, the first `events` of which have a relative error above 1e-1."""
    scatter = np.random.default_rng(cells.get("seed", 7)).uniform(0.3, 0.9, trials)
    return [
        make_row(index, rho_max=float(scatter[index]), **(outlier(0.5) if index < events else {}) | cells)
        for index in range(trials)
    ]


def renamed(found: list[Row], **cells: Any) -> list[Row]:
    return [row | cells for row in found]


@pytest.mark.parametrize("name", ["two words", "a=b c=d", "=", " ", "line\nend", "\0"])
def test_outputs_of_any_name_are_told_apart(campaign: Write, name: str) -> None:
    first = [make_row(0, output=output, output_digest=f"{n:032x}") for n, output in enumerate(("y", name))]
    other = [first[0], first[1] | {"output_digest": "f" * 32}]
    found = compared(campaign(first), campaign(other))
    assert (only(found).outputs, only(found).equal) == (2, 1)


def test_one_seed_run_twice_is_bitwise_identical(campaign: Write) -> None:
    found = compared(campaign(batch_norm_rows(30)), campaign(batch_norm_rows(30)))
    assert headline(found) == "Bitwise identical: all 120 outputs of 120 shared trials of targets."
    assert not found.failed
    assert not found.setting
    assert found.tests == 0
    assert {line.way for line in found.lines} == {"pairs"}


def test_what_was_not_shared_is_named_beside_identical_bits(campaign: Write) -> None:
    found = compared(campaign(rows(30)), campaign(rows(20)))
    assert headline(found).endswith("20 shared trials of targets. A has 10 more, which were not compared.")


def test_other_bits_without_other_rates(campaign: Write) -> None:
    later = rows(30)
    for row in later[:4]:
        row["output_digest"] = "f" * 32
    found = compared(campaign(rows(30)), campaign(later))
    assert (only(found).equal, only(found).outputs) == (26, 30)
    assert "Of 30 shared outputs 4 have other bits." in headline(found)
    assert not found.failed


def test_a_missing_output_is_no_equal_output(campaign: Write) -> None:
    later = rows(30)
    later[0] |= {"output_digest": None}
    found = compared(campaign(rows(30)), campaign(later))
    assert (only(found).equal, only(found).outputs) == (29, 30)
    assert not found.identical


def test_shared_trials_are_compared_in_pairs(campaign: Write) -> None:
    """8 trials that become outliers: McNemar's 2 * 0.5^8, where two samples would need twice as many."""
    first, second = campaign(rows(400, 20)), campaign(rows(400, 28))
    found = compared(first, second)
    change = rate(only(found), "above 1e-1")
    assert (change.only_first, change.only_second) == (0, 8)
    assert change.p == pytest.approx(2 * 0.5**8)
    assert change.test == "exact McNemar test"
    assert change.differs
    assert change.worse
    assert found.failed
    assert "above 1e-1 rose from 5.0 % to 7.0 %" in headline(found)
    assert not compared(second, first).failed


def test_only_the_pairs_count_where_some_trials_are_shared(campaign: Write) -> None:
    found = compared(campaign(rows(100, 3)), campaign(rows(60, 3)))
    change = rate(only(found), "above 1e-1")
    assert (change.first_n, change.second_n) == (60, 60)
    assert (only(found).first_trials, only(found).shared) == (100, 60)


def test_other_seeds_are_two_samples(campaign: Write) -> None:
    found = compared(campaign(rows(2000, 10)), campaign(rows(2000, 40, seed=8)))
    line = only(found)
    change = rate(line, "above 1e-1")
    assert (line.way, line.shared, line.of) == ("samples", 0, "the trials of one problem")
    assert change.test == "chi-square without correction"
    assert change.p == results.compare_with_published(40, 2000, 10, 2000).p
    assert change.ratio == pytest.approx(4)
    assert change.first == results.rate_interval(10, 2000)
    assert found.failed
    assert headline(found).startswith("batch_norm on numpy:cpu in float32: above 1e-1 rose from 0.50 % to 2.0 %")


def test_what_could_have_been_seen_is_said(campaign: Write) -> None:
    found = compared(campaign(rows(2000, 20)), campaign(rows(2000, 22, seed=8)))
    change = rate(only(found), "above 1e-1")
    from results.statistics.planning import power_of_comparison

    assert found.tests == 3
    assert change.detectable is not None
    assert power_of_comparison(0.0105, 2000, change.detectable, 2000, 0.05 / 3) == pytest.approx(0.8, abs=1e-6)
    assert headline(found).startswith("No difference seen in 3 tests. A rate above 1e-1 2.")
    assert "would have been seen with probability 0.8" in headline(found)


def test_equal_keys_with_other_inputs_are_not_the_same_trials(campaign: Write) -> None:
    other = [row | {"input_digest": f"{int(row['index'] or 0) + 99:032x}"} for row in rows(50)]
    found = compared(campaign(rows(50)), campaign(other))
    line = only(found)
    assert (line.way, line.shared, line.inputs_differ) == ("samples", 0, 50)
    assert not found.identical


def test_a_digest_that_was_not_written_is_no_difference(campaign: Write) -> None:
    other = renamed(rows(50), input_digest=None)
    assert only(compared(campaign(rows(50)), campaign(other))).shared == 50


def test_targets_of_another_device_are_paired(campaign: Write) -> None:
    gpu = renamed(rows(30), target="numpy:cuda", device="cuda", output_digest="a" * 32)
    line = only(compared(campaign(rows(30)), campaign(gpu)))
    assert line.pair.respelled
    assert line.pair.target == "numpy:cpu -> numpy:cuda"
    assert (line.shared, line.equal) == (30, 0)


def test_equal_spelling_goes_first_and_the_rest_is_listed(campaign: Write) -> None:
    gpu = renamed(rows(30), target="numpy:cuda", device="cuda")
    found = compared(campaign(rows(30)), campaign([*rows(30), *gpu]))
    assert only(found).pair.target == "numpy:cpu"
    assert [(one.side, one.target, one.operators) for one in found.alone] == [(1, "numpy:cuda", ("batch_norm",))]


def test_two_targets_of_a_backend_are_not_guessed(campaign: Write) -> None:
    two = [*renamed(rows(30), target="numpy:a"), *renamed(rows(30), target="numpy:b")]
    found = compared(campaign(rows(30)), campaign(two))
    assert not found.lines
    assert len(found.alone) == 3
    assert headline(found).startswith("Nothing to compare")


@pytest.mark.parametrize("plan", ["search", "exhaustive"])
def test_other_plans_are_refused_with_the_reason(campaign: Write, plan: str) -> None:
    found = compared(campaign(rows(30, 3), plan=plan), campaign(rows(30, 5), plan=plan))
    line = only(found)
    assert line.way == "refused"
    assert line.why.startswith(f"no change between campaigns can be read off this campaign (plan {plan})")
    assert found.tests == 0
    assert (rate(line, "above 1e-1").first_k, rate(line, "above 1e-1").second_k) == (3, 5)
    assert rate(line, "above 1e-1").first is None


def test_plans_that_differ_are_refused(campaign: Write) -> None:
    found = compared(campaign(rows(30)), campaign(rows(30), plan="survey"))
    assert "its campaigns have different plans" in only(found).why


def test_a_campaign_that_ended_by_a_decision_is_refused(campaign: Write) -> None:
    found = compared(campaign(rows(30), until={"threshold": 0.01}), campaign(rows(30)))
    assert "ended when a rate was decided" in only(found).why
    assert found.identical


def test_other_problems_are_not_compared(campaign: Write) -> None:
    other = renamed(rows(30, 2), problem_id="q" * 16)
    found = compared(campaign(rows(30)), campaign(other))
    assert only(found).why.startswith("no problem ran on both sides")
    assert headline(found).startswith("Nothing could be tested: no problem ran on both sides")
    assert rate(only(found), "above 1e-1").second_k == 2


def grid(problems: int, trials: int, events: int, seed: int = 7) -> list[Row]:
    return [
        row | {"problem_id": f"{number:016x}"} for number in range(problems) for row in rows(trials, events, seed=seed)
    ]


def test_a_small_grid_has_a_line_for_each_problem(campaign: Write) -> None:
    found = compared(campaign(grid(3, 200, 2)), campaign(grid(3, 200, 20, seed=8)))
    assert [line.problem for line in found.lines] == [f"{number:016x}" for number in range(3)]
    assert all(rate(line, "above 1e-1").differs for line in found.lines)


def test_a_large_grid_is_compared_by_problems(campaign: Write) -> None:
    found = compared(campaign(grid(20, 5, 0)), campaign(grid(20, 5, 1, seed=8)))
    line = only(found)
    assert (line.way, line.problems, line.of) == ("cells", 20, "the problems of this plan")
    change = rate(line, "above 1e-1")
    assert change.test == "sign-flip permutation test over cells"
    assert change.differs
    assert change.worse
    assert line.rho.test.endswith("of the problems' medians")


def test_explorations_are_compared_by_the_problems_they_share(campaign: Write) -> None:
    found = compared(campaign(grid(20, 2, 0), plan="explore"), campaign(grid(15, 2, 1, seed=8), plan="explore"))
    assert (only(found).way, only(found).problems) == ("cells", 15)
    assert rate(only(found), "above 1e-1").first is None


def test_one_problem_of_an_exploration_is_one_cell(campaign: Write) -> None:
    """Its trials were chosen, each like the one before: they are no sample of anything."""
    found = compared(campaign(rows(40), plan="explore"), campaign(rows(40, 30, seed=8), plan="explore"))
    assert only(found).way == "cells"
    assert rate(only(found), "above 1e-1").why == "the two sides differ in fewer than two problems"
    assert found.tests == 0


def test_pairs_need_an_output_on_both_sides(campaign: Write) -> None:
    later = rows(30, 3)
    for row in later[:2]:
        row |= {"above_1e01": None, "above_1e02": None, "rho_max": None}
    change = rate(only(compared(campaign(rows(30)), campaign(later))), "above 1e-1")
    assert (change.first_n, change.second_n, change.only_second) == (28, 28, 1)


def survey(trials: int, events: int, seed: int) -> list[Row]:
    return [row | {"problem_id": f"{seed:08x}{row['index']:08x}"} for row in rows(trials, events, seed=seed)]


def test_surveys_of_one_population_are_two_samples(campaign: Write) -> None:
    facts = {"plan": "survey", "trials_per_problem": 1, "population": "p1"}
    found = compared(campaign(survey(500, 5, 1), **facts), campaign(survey(500, 30, 2), **facts))
    assert (only(found).way, only(found).of) == ("samples", "the population of the survey")
    assert rate(only(found), "above 1e-1").differs
    other = compared(campaign(survey(500, 5, 1), **facts), campaign(survey(500, 30, 2), **facts | {"population": "p2"}))
    assert "different populations" in only(other).why


def test_larger_errors_are_a_difference(campaign: Write) -> None:
    later = [row | {"rho_max": float(row["rho_max"] or 0) * 1.01} for row in rows(100)]
    found = compared(campaign(rows(100)), campaign(later))
    assert only(found).rho.differs
    assert (only(found).rho.changed, only(found).rho.rose) == (100, 100)
    assert found.failed
    fallen = compared(campaign(later), campaign(rows(100)))
    assert only(fallen).rho.differs
    assert not fallen.failed


def test_p_values_are_adjusted_for_all_tests_together(campaign: Write) -> None:
    before, after = [], []
    for number in range(5):
        events = 18 if number == 0 else 6
        before += renamed(rows(200, 6), target=f"numpy:{number}")
        after += renamed(rows(200, events, seed=8), target=f"numpy:{number}")
    found = compared(campaign(before), campaign(after))
    changes = [rate(line, "above 1e-1") for line in found.lines]
    assert found.tests == 15
    assert changes[0].p == results.compare_with_published(18, 200, 6, 200).p < 0.05
    assert not any(change.differs for change in changes)
    assert not found.failed


def test_unsupported_and_abandoned_trials_did_not_run(campaign: Write) -> None:
    mixed = rows(30)
    mixed[0] |= {"verdict": "unsupported"}
    mixed[1] |= {"verdict": "indeterminate", "detail": "not run: the target had ended too many workers"}
    assert only(compared(campaign(mixed), campaign(rows(30)))).first_trials == 28


@pytest.mark.parametrize("cells", [{"rho_max": float("nan")}, {"rho_max": None}, {"rho_max": float("inf")}])
def test_without_a_finite_rho_there_is_no_test_of_it(campaign: Write, cells: Row) -> None:
    nothing = {"above_1e01": None, "above_1e02": None, "flagged": None}
    found = compared(campaign(renamed(rows(20), **cells, **nothing)), campaign(renamed(rows(20, seed=8), **cells)))
    line = only(found)
    assert (line.rho.p, line.rho.first.trials, line.rho.first.unknown) == (None, 0, 20)
    assert rate(line, "above 1e-1").why == "no trial has an output to measure"
    assert headline(found).startswith("No difference seen") or headline(found).startswith("Nothing could be tested")
    json.loads(campaigns_json(found))


def test_one_trial_a_side(campaign: Write) -> None:
    found = compared(campaign(rows(1), shards=1), campaign(rows(1, 1, seed=8), shards=1))
    assert only(found).rho.why == "fewer than 10 trials with a rho on a side"
    assert rate(only(found), "above 1e-1").p == pytest.approx(0.5)
    assert not found.failed


def test_other_schemas_are_read_as_nulls(campaign: Write) -> None:
    found = compared(campaign(rows(20)), campaign(rows(20), schema_version=99, plan="fixed"))
    assert [(item.name, item.first, item.second) for item in found.setting] == [
        ("schema version", str(SCHEMA_VERSION), "99")
    ]
    assert found.identical


def test_versions_and_machines_that_differ_are_named(campaign: Write) -> None:
    first, second = campaign(rows(20)), campaign(rows(20))
    for place, version in ((first, "2.4.6"), (second, "2.5.0")):
        record = {"e" * 16: {"versions": {"numpy": version, "torch": "2.13.0"}, "cpu": "EPYC"}}
        (place / "environments.json").write_text(json.dumps(record))
    found = compared(first, second)
    assert [(item.name, item.first, item.second) for item in found.setting] == [("numpy", "2.4.6", "2.5.0")]
    assert found.setting[0].environment


def test_of_long_lists_only_what_differs_is_named(campaign: Write) -> None:
    first, second = campaign(rows(20)), campaign(rows(20))
    threads = {"OMP_NUM_THREADS": "1"}
    for place, variables, flags in (
        (first, threads, ["avx", "avx2", "fma"]),
        (second, threads | {"ATEN_CPU_CAPABILITY": "default"}, ["avx", "avx512f", "fma"]),
    ):
        record = {"e" * 16: {"variables": variables, "cpu_flags": flags}}
        (place / "environments.json").write_text(json.dumps(record))
    assert [(item.name, item.first, item.second) for item in compared(first, second).setting] == [
        ("cpu flags of one only", "avx2", "avx512f"),
        ("ATEN_CPU_CAPABILITY", "-", "default"),
    ]


def test_json_has_every_figure(campaign: Write) -> None:
    found = compared(campaign(rows(200, 4)), campaign(rows(200, 9, seed=8)))
    plain = json.loads(campaigns_json(found))
    assert plain["headline"] == headline(found)
    assert plain["adjusted_by"] == "bh"
    (line,) = plain["lines"]
    assert [change["event"] for change in line["rates"]] == ["above 1e-1", "above 1e-2", "flagged"]
    assert line["rates"][0]["second_k"] == 9
    assert line["rho"]["superiority"] == pytest.approx(0.5, abs=0.1)


def test_many_lines_are_cut_with_the_telling_ones_first(campaign: Write) -> None:
    before = [row for n in range(30) for row in renamed(rows(40), target=f"numpy:{n}")]
    after = [row for n in range(30) for row in renamed(rows(40, 12 * (n == 29)), target=f"numpy:{n}")]
    said = io.StringIO()
    print_campaigns(compared(campaign(before), campaign(after)), Console(file=said, width=110))
    told = said.getvalue()
    assert told.startswith("batch_norm on numpy:29 in float32: above 1e-1 rose from 0 % to 30 % of the trials")
    assert "6 more lines, with equal bits or larger p-values" in told
    assert told.index("numpy:29", told.index("Trials")) < told.index("numpy:0 ")
