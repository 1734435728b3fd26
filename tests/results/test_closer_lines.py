"""Which of the targets of a pair is closer to the truth: from rows to the section of the reports."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from synthetic_rows import make_row

from results.closer import closer_lines
from results.columns import Row
from results.contents.closer import TITLE, closer
from results.html.sections import sections
from results.layout import TextConsole
from results.markdown.page import page
from results.reading import open as open_results
from results.report_closer import print_closer

Campaign = Callable[..., Path]


def rows(trials: int, factor: float = 0.6, problem: str = "p", exceptions: int = 1, **cells: Any) -> list[Row]:
    """On all but `exceptions` trials the error of torch in d_w is `factor` times that of jax; in d_x it is a toss."""
    rng = np.random.default_rng(2)
    found = []
    for index in range(trials):
        scale = float(np.exp(rng.normal()))
        for output, ratio in (("d_w", 1 / factor if index < exceptions else factor), ("d_x", (0.99, 1.01)[index % 2])):
            shared = {"problem_id": problem * 16, "output": output, "operator": "dense.grad", **cells}
            found += [
                make_row(index, "torch:cpu", abs_rms=ratio * scale, **shared),
                make_row(index, "jax:cpu", abs_rms=scale, **shared),
                make_row(index, "torch:cpu", against="jax:cpu", rms_ratio=ratio, verdict=None, **shared),
            ]
    return found


def test_the_closer_one_is_named_and_only_where_one_is(campaign: Campaign) -> None:
    found = closer_lines(open_results(campaign(rows(400))))
    weights, inputs = found.lines
    assert (weights.output, weights.closer) == ("d_w", "torch:cpu")
    assert (weights.found.first_closer, weights.found.trials) == (399, 400)
    assert weights.found.ratio == 0.6
    assert weights.adjusted is not None
    assert weights.found.p < 1e-100 < weights.adjusted * 1e100
    assert (inputs.output, inputs.closer, inputs.found.first_closer) == ("d_x", "", 200)


def test_p_is_adjusted_for_all_lines(campaign: Campaign) -> None:
    (line, other) = closer_lines(open_results(campaign(rows(6, exceptions=0)))).lines
    assert line.found.p == 2 * 0.5**6
    assert line.adjusted == 2 * line.found.p
    assert line.closer == ""
    assert other.closer == ""


def test_problems_of_a_fixed_plan_are_apart_and_those_of_a_survey_together(campaign: Campaign) -> None:
    both = [*rows(10, problem="p"), *rows(10, problem="q")]
    assert len(closer_lines(open_results(campaign(both))).lines) == 4
    each = [row for number in range(10) for row in rows(1, problem=f"{number:x}", exceptions=0)]
    weights, _ = closer_lines(open_results(campaign(each, plan="survey"))).lines
    assert (weights.problem_id, weights.found.trials) == ("", 10)


def test_a_search_is_refused_with_the_reason(campaign: Campaign) -> None:
    results = open_results(campaign(rows(10), plan="search"))
    assert "steered" in closer_lines(results).refused
    content = closer(results)
    assert content is not None
    assert content.notes[0].startswith("Not compared: ")


def test_without_a_pair_there_is_no_section(campaign: Campaign) -> None:
    results = open_results(campaign([row for row in rows(10) if row["against"] == "truth"]))
    assert closer_lines(results).lines == ()
    assert closer(results) is None


def test_rows_that_are_too_old_to_tell_are_said_to_be(campaign: Campaign) -> None:
    older = rows(10)
    for row in older:
        row["rms_ratio"] = None
    refused = closer_lines(open_results(campaign(older, schema_version=5))).refused
    assert refused == "its rows are of a schema before 6, which does not tell"
    assert closer_lines(open_results(campaign(older))).refused == ""


def test_trials_without_a_figure_are_left_out(campaign: Campaign) -> None:
    both = rows(20)
    both[2]["rms_ratio"] = both[8]["rms_ratio"] = None
    weights, _ = closer_lines(open_results(campaign(both))).lines
    assert weights.found.trials == 18


def test_every_report_has_the_section(campaign: Campaign) -> None:
    results = open_results(campaign(rows(400)))
    text = io.StringIO()
    print_closer(results, TextConsole(file=text, width=140))
    for shown in (text.getvalue(), page(results), "".join(s.body + s.title for s in sections(results, None, {}))):
        assert TITLE in shown
        assert "399 of 400" in shown
        assert "0.6" in shown
