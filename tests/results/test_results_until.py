"""The question that ends a campaign: blocks in order, first decision kept, rows and SQL counted alike."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from results.columns import COLUMNS
from results.statistics.sequential import decide
from results.until import HOPELESS_BLOCKS, Answers, Question, count_rows, question

NAMES = [column.name for column in COLUMNS]
WHO = ("p", "tanh in float32", "a")


def row(**values: Any) -> list[Any]:
    usual = {"problem_id": "p", "operator": "tanh", "home": "float32", "target": "a", "against": "truth", "variant": ""}
    return [(usual | values).get(name) for name in NAMES]


def test_blocks_count_in_their_order_whatever_order_they_arrive_in() -> None:
    blocks = {0: (0, 10), 1: (9, 10), 2: (0, 10), 3: (0, 500)}
    seen = set()
    for order in itertools.permutations(blocks):
        answers = Answers(0.1)
        for block in order:
            answers.add(block, {WHO: blocks[block]})
        answer = answers.of[WHO]
        seen.add((answer.k, answer.n, answer.decision))
    assert seen == {(9, 20, "above")}  # decided by the second block, although all four together say "below"
    assert decide(9, 520, 0.1) == "below"


def test_a_gap_is_waited_for() -> None:
    answers = Answers(0.1)
    answers.add(1, {WHO: (10, 10)})
    assert not answers.of
    answers.add(0, {})
    assert answers.of[WHO].decision == "above"


def test_settled_only_when_everybody_is() -> None:
    answers = Answers(0.1)
    assert not answers.settled
    other = (*WHO[:2], "b")
    answers.add(0, {WHO: (10, 10), other: (1, 10)})
    assert not answers.settled
    answers.add(1, {WHO: (10, 10), other: (10, 10)})
    assert answers.settled


def test_a_trial_has_the_event_if_any_of_its_outputs_has_it() -> None:
    rows = [
        row(index=0, output="y", above_1e01=0),
        row(index=0, output="z", above_1e01=2),
        row(index=1, output="y", above_1e01=0),
        row(index=2, output="y", above_1e01=None),  # crashed: no output to measure
        row(index=3, output="y", above_1e01=5, variant="batch"),
        row(index=3, output="y", above_1e01=5, against="b"),
    ]
    assert count_rows(Question(0.1, 1), rows) == {WHO: (1, 2)}
    assert count_rows(Question(0.1, 1, by_problem=False), rows) == {("", "tanh in float32", "a"): (1, 2)}


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "a")])
def test_a_pair_counts_whichever_way_round_it_was_measured(pair: tuple[str, str]) -> None:
    rows = [
        row(index=0, against="b", above_1e02=1),
        row(index=1, against="b", above_1e02=0),
        row(index=1, above_1e02=1),
    ]
    name = f"{pair[0]} against {pair[1]}"
    assert count_rows(Question(0.1, 2, pair), rows) == {("p", "tanh in float32", name): (1, 2)}


def test_the_manifest_says_what_was_asked() -> None:
    assert question({"plan": "fixed"}) is None
    asked = question({"plan": "survey", "until": {"threshold": 0.25, "above": 1, "pair": ["a", "b"]}})
    assert asked == Question(0.25, 1, ("a", "b"), by_problem=False)
    assert asked.event == "relative error above 1e-1"
    assert Question(0.25).event == "flagged"


def test_targets_without_output_are_not_waited_for() -> None:
    """As the rows on disk are counted they come with no trials, as rows arrive not at all."""
    silent = (*WHO[:2], "b")
    for told in ({}, {silent: (0, 0)}):
        answers = Answers(0.1)
        answers.add(0, {WHO: (10, 10), **told})
        assert answers.settled


def test_a_problem_without_any_output_is_given_up() -> None:
    answers = Answers(0.1)
    for block in range(HOPELESS_BLOCKS):
        assert not answers.settled
        answers.add(block, {})
    assert answers.settled
