"""A campaign's rates against a published count: by target and pair, adjusted, refused where they are no sample."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from synthetic_rows import TARGETS, batch_norm_rows, make_row

import results
from results.columns import Row
from results.comparison.published import against_published
from results.comparison.report_published import print_published
from results.errors import InvalidRate, ResultsError

Write = Callable[..., Path]


def rows(trials: int, events: int, **cells: Any) -> list[Row]:
    return [make_row(index, **{"above_1e01": int(index < events)} | cells) for index in range(trials)]


def test_every_target_and_pair_is_compared(campaign: Write) -> None:
    found = against_published(results.open(campaign(batch_norm_rows(400))), "38/5000")
    names = [line.name for line in found.lines]
    assert names == [
        *(f"batch_norm on {target} in float32" for target in sorted(TARGETS)),
        f"batch_norm on {TARGETS[0]} against {TARGETS[-1]} in float32",
    ]
    assert found.headline == "All 5 rates are the published 38 of 5,000 = 0.76 %, as far as 400 trials can tell."
    assert not found.failed


@pytest.mark.parametrize(("events", "failed", "word"), [(40, True, "Higher"), (0, False, "Lower")])
def test_other_rates_are_named(campaign: Write, events: int, failed: bool, word: str) -> None:
    found = against_published(results.open(campaign(rows(2000, events))), "38/5000")
    (line,) = found.lines
    assert line.comparison == results.compare_with_published(events, 2000, 38, 5000)
    assert found.failed is failed
    assert found.headline.startswith(f"{word} for batch_norm on numpy:cpu in float32, compared with the published")


def test_lines_are_adjusted_together(campaign: Write) -> None:
    every = [row for n in range(8) for row in rows(2000, 25 if n == 0 else 15, target=f"numpy:{n}")]
    found = against_published(results.open(campaign(every)), "38/5000")
    first = found.lines[0]
    assert first.comparison.differs
    assert first.adjusted > 0.05
    assert not found.failed
    said = io.StringIO()
    print_published(found, Console(file=said, width=200))
    assert "; not after adjusting for all lines, p = 0." in " ".join(said.getvalue().split())


def test_problems_of_a_grid_are_compared_one_by_one(campaign: Write) -> None:
    every = [row for n in range(3) for row in rows(50, 1, problem_id=f"{n:016x}", dims=f"n={8**n}")]
    found = against_published(results.open(campaign(every)), "38/5000")
    assert [line.name.split(", ")[1] for line in found.lines] == ["n=1", "n=8", "n=64"]
    assert found.of == "the trials of one problem"


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"plan": "explore"}, "no rate can be read off this campaign"),
        ({"plan": "search"}, "re-run its findings with fresh seeds"),
        ({"plan": "exhaustive"}, "its counts are not a sample"),
        ({"until": {"threshold": 0.01}}, "it ended when its rate was decided"),
    ],
)
def test_what_is_no_sample_is_refused(campaign: Write, manifest: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidRate, match=reason):
        against_published(results.open(campaign(rows(20, 1), **manifest)), "38/5000")


def test_nothing_measured(campaign: Write) -> None:
    with pytest.raises(InvalidRate, match="no trial of this campaign has an output"):
        against_published(results.open(campaign(rows(20, 1, above_1e01=None))), "38/5000")


@pytest.mark.parametrize("text", ["38", "x/y", "3/0", "6/5", "-1/5"])
def test_a_count_has_to_be_one(campaign: Write, text: str) -> None:
    with pytest.raises(ResultsError, match="write it as events/trials"):
        against_published(results.open(campaign(rows(20, 1))), text)
