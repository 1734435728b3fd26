"""Which question can be asked of trials that were chosen in which way, and why not.

One table. A plan is how the problems of a campaign were chosen; "mixed" are campaigns of different plans read together.
docs/statistics.md shows the table; everything that computes a statistic of a campaign asks `require` first.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from results.errors import InvalidRate, NotPermitted

Question: TypeAlias = Literal[
    "rate",
    "population rate",
    "published rate",
    "paired",
    "drift",
    "tail",
    "bias",
    "growth",
    "factors",
    "sequential",
    "tolerance",
]
Plan: TypeAlias = Literal["fixed", "survey", "explore", "search", "exhaustive", "mixed"]

PLANS: tuple[Plan, ...] = ("fixed", "survey", "explore", "search", "exhaustive", "mixed")

NOUNS: dict[Question, str] = {
    "paired": "comparison of two backends",
    "drift": "change between campaigns",
    "tail": "rarer error",
    "bias": "bias",
    "growth": "growth law",
    "factors": "effect of a factor",
    "tolerance": "tolerance",
}
"""What a refusal says there is none of; the other questions are about rates."""


class Answer(Struct, frozen=True):
    """Whether a plan supports a question: what the statistic then describes, or why there is none."""

    of: str = ""
    """What it describes when trials are pooled; empty where they must not be."""
    cells: str = ""
    """What it describes when each problem is a cell: one value a problem, or problems as clusters. Empty where the
    statistic would describe nothing."""
    why: str = ""
    """Why there is no answer, and what to do."""
    names_plan: bool = False
    """`why` is a whole sentence about the plan."""


_CHOSEN = "its problems were chosen to find failures, not drawn from a population"
_SURVEY = "use a survey, or a fixed plan for one problem"
_STEERED = "its inputs were steered towards large errors; re-run its findings with fresh seeds to get a rate"
_EVERYTHING = "it ran every input there is: its counts are not a sample, read them as they are"
_NO_RATE = {
    "explore": Answer(why=f"{_CHOSEN}; {_SURVEY}"),
    "search": Answer(why=_STEERED),
    "exhaustive": Answer(why=_EVERYTHING),
    "mixed": Answer(why="its campaigns have different plans; open them one by one"),
}
_ONE = "the trials of one problem"
_THESE = "the problems of this plan"
_POPULATION = "the population of the survey"
_SAMPLE = {"fixed": Answer(_ONE), "survey": Answer(_POPULATION), **_NO_RATE}
_CLUSTERED = {"fixed": Answer(_ONE, _THESE), "survey": Answer(_POPULATION, _POPULATION), **_NO_RATE}
_FRESH = "re-run its findings with fresh seeds and a fixed plan"

TABLE: dict[Question, dict[str, Answer]] = {
    "rate": _CLUSTERED,
    "published rate": _SAMPLE,
    "sequential": _SAMPLE,
    "population rate": {
        **_CLUSTERED,
        "fixed": Answer(
            why="a fixed plan says nothing about other problems than its own: use a survey for the population's rate",
            names_plan=True,
        ),
    },
    "paired": {
        **_CLUSTERED,
        "explore": Answer(cells=_THESE),
        "search": Answer(why=f"its inputs were steered towards large errors of one backend; {_FRESH}"),
        "exhaustive": Answer(why="it ran every input there is: compare the counts as they are"),
    },
    "drift": {
        **_CLUSTERED,
        "explore": Answer(cells=_THESE),
        "search": Answer(why=f"each campaign steered its inputs towards errors of its own; {_FRESH}"),
        "exhaustive": Answer(why="it ran every input there is: compare the counts as they are"),
    },
    "tail": {
        **_SAMPLE,
        "survey": Answer(_POPULATION, _POPULATION),
        "search": Answer(why=f"its largest errors are what it looked for; {_FRESH}"),
        "exhaustive": Answer(why="it ran every input there is: its maximum is the maximum, nothing is rarer"),
    },
    "bias": {
        **_SAMPLE,
        "survey": Answer(_POPULATION, _POPULATION),
        "search": Answer(why=f"its inputs were steered towards large errors; {_FRESH}"),
        "exhaustive": Answer(why="it ran every input there is: its mean is the mean, without an interval"),
    },
    "growth": {
        **_NO_RATE,
        "fixed": Answer(cells="the sizes of this plan"),
        "survey": Answer(why="its sizes come with other inputs and attributes; run a fixed plan over a grid of sizes"),
        "explore": Answer(why=f"{_CHOSEN}; run a fixed plan over a grid of sizes"),
        "search": Answer(why="its inputs were steered towards large errors; run a fixed plan over a grid of sizes"),
        "exhaustive": Answer(why="its operator has one input number and no size to grow with"),
    },
    "factors": {
        **_NO_RATE,
        "fixed": Answer(cells=_THESE),
        "survey": Answer(cells=_POPULATION),
        "explore": Answer(why=f"{_CHOSEN}, each like the one before; use a survey"),
        "search": Answer(why="its inputs were steered towards large errors; use a survey"),
        "exhaustive": Answer(why="it ran every input there is: compare the counts as they are"),
    },
    "tolerance": {
        **_SAMPLE,
        "fixed": Answer(_ONE, _THESE),
        "search": Answer(why=f"its largest errors are what it looked for; {_FRESH}"),
        "exhaustive": Answer("every input there is", "every input there is"),
    },
}
"""Every question under every plan."""

_POOLED = (
    "{problems} problems of a fixed plan were chosen, not drawn: pooling them is no {noun} of anything; "
    "group by problem_id"
)
_SHARED = (
    "several trials share a problem and are not independent draws of the population: "
    "survey with one trial a problem, or group by problem_id"
)


def require(
    question: Question, plan: str | None, *, problems: int = 1, repeated: bool = False, cells: bool = False
) -> str:
    """What an answer to `question` would describe; an error with the reason and a remedy where there is none.

    `problems`: the largest number of problems whose trials are pooled. `repeated`: some of them have several trials,
    and not because a survey of one trial a problem drew one twice. `cells`: the statistic takes one value a problem, or
    treats problems as clusters (`statistics.clustered`, `paired.compare_cells`), instead of pooling trials; "growth"
    and "factors" always do.

    Raises InvalidRate for rates, NotPermitted for other questions; KeyError for a question that is not in the table.
    """
    answers, noun = TABLE[question], NOUNS.get(question, "rate")
    answer = answers.get(str(plan), Answer(why=f"nothing is known about a plan {plan!r}"))
    error = NotPermitted if question in NOUNS else InvalidRate
    if answer.why:
        refusal = f"no {noun} can be read off this campaign (plan {plan}): "
        raise error(answer.why if answer.names_plan else refusal + answer.why)
    if (cells or not answer.of) and answer.cells:
        return answer.cells
    if plan == "survey":
        if not repeated:
            return answer.of
        if problems > 1 or question == "population rate":
            raise error(_SHARED)
        return _ONE
    if problems > 1:
        raise error(_POOLED.format(problems=problems, noun=noun))
    return answer.of


def markdown() -> str:
    """The table for docs/statistics.md."""
    lines = ["| question | " + " | ".join(PLANS) + " |", "|---" * (len(PLANS) + 1) + "|"]
    reasons: list[str] = []
    for question, answers in TABLE.items():
        cells = []
        for plan in PLANS:
            answer = answers[plan]
            if not answer.why:
                cells.append(_described(answer))
            else:
                if answer.why not in reasons:
                    reasons.append(answer.why)
                cells.append(f"no ({reasons.index(answer.why) + 1})")
        lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"{number}. {reason}" for number, reason in enumerate(reasons, 1))])


def _described(answer: Answer) -> str:
    if answer.of == answer.cells:
        return answer.of
    parts = [answer.of, f"by cells: {answer.cells}" if answer.cells else ""]
    return "; ".join(part for part in parts if part)
