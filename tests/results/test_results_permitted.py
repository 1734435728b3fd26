"""Which question which plan supports."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from results.errors import InvalidRate, NotPermitted, ResultsError
from results.permitted import PLANS, TABLE, Plan, Question, markdown, require

QUESTIONS = get_args(Question)
RATES = ("rate", "population rate", "published rate", "sequential")


def allowed(question: Question, plan: str | None, **facts: object) -> bool:
    try:
        return bool(require(question, plan, **facts))  # type: ignore[arg-type]
    except NotPermitted:
        return False


def test_every_question_has_an_answer_for_every_plan() -> None:
    assert set(TABLE) == set(QUESTIONS)
    for answers in TABLE.values():
        assert set(answers) == set(PLANS) == set(get_args(Plan))
        for answer in answers.values():
            assert bool(answer.why) != bool(answer.of or answer.cells)


def test_what_is_allowed() -> None:
    granted = {question: {plan for plan in PLANS if allowed(question, plan)} for question in QUESTIONS}
    assert granted == {
        "rate": {"fixed", "survey"},
        "population rate": {"survey"},
        "published rate": {"fixed", "survey"},
        "sequential": {"fixed", "survey"},
        "paired": {"fixed", "survey", "explore"},
        "drift": {"fixed", "survey", "explore"},
        "tail": {"fixed", "survey"},
        "bias": {"fixed", "survey"},
        "growth": {"fixed"},
        "factors": {"fixed", "survey"},
        "tolerance": {"fixed", "survey", "exhaustive"},
    }


@pytest.mark.parametrize("plan", [*PLANS, None, "unheard-of"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_refusal_is_one_line_with_a_reason(question: Question, plan: str | None) -> None:
    if allowed(question, plan):
        return
    with pytest.raises(InvalidRate if question in RATES else NotPermitted) as caught:
        require(question, plan)
    text = str(caught.value)
    assert isinstance(caught.value, ResultsError)
    assert type(caught.value) is (InvalidRate if question in RATES else NotPermitted)
    assert "\n" not in text
    assert str(plan) in text
    assert 60 < len(text) < 250


def test_trials_of_several_chosen_problems_are_not_pooled() -> None:
    for question in ("rate", "tail", "bias", "paired", "drift", "sequential", "published rate"):
        assert require(question, "fixed") == "the trials of one problem"
        with pytest.raises(NotPermitted, match="3 problems of a fixed plan were chosen, not drawn"):
            require(question, "fixed", problems=3)


def test_cells_may_be_several() -> None:
    assert require("paired", "fixed", problems=9, cells=True) == "the problems of this plan"
    assert require("paired", "explore", problems=9) == "the problems of this plan"
    assert require("rate", "fixed", problems=9, cells=True) == "the problems of this plan"
    assert require("population rate", "survey", problems=9, repeated=True, cells=True) == "the population of the survey"
    assert require("growth", "fixed", problems=9) == "the sizes of this plan"
    for question in ("tail", "bias", "published rate", "sequential"):
        assert not allowed(question, "fixed", problems=9, cells=True)
    assert not allowed("published rate", "survey", problems=9, repeated=True, cells=True)


def test_trials_that_share_a_surveyed_problem_are_no_draws_of_the_population() -> None:
    for question in ("rate", "tail", "bias", "sequential", "published rate", "paired"):
        assert require(question, "survey", problems=9) == "the population of the survey"
        assert require(question, "survey", problems=1, repeated=True) == "the trials of one problem"
        with pytest.raises(NotPermitted, match="several trials share a problem"):
            require(question, "survey", problems=9, repeated=True)
    with pytest.raises(InvalidRate, match="several trials share a problem"):
        require("population rate", "survey", problems=1, repeated=True)


def test_an_unknown_question_is_a_mistake_of_the_program() -> None:
    with pytest.raises(KeyError):
        require("median", "fixed")  # type: ignore[arg-type]


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text()
    assert markdown() in page
