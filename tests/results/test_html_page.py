"""The page of every kind of campaign: whole, self-contained, of bounded size, and saying the right things."""

from __future__ import annotations

import base64
import hashlib
import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_checks import Page
from rich.console import Console
from synthetic_rows import TARGETS, batch_norm_rows, make_row

import results
from results.columns import Row
from results.contents.findings import Script
from results.contents.findings import found as findings
from results.contents.operators import lines
from results.contents.rates import rates
from results.findings_file import write_findings
from results.growths import growths
from results.html.distribution import curves
from results.html.findings import cards
from results.html.ladder import ladder
from results.html.page import page
from results.html.points import MOST, samples, worst
from results.html.scatter import caption
from results.markdown.page import page as markdown
from results.report import report
from results.store import Store

NUMPY, TORCH, _, TVM = TARGETS
U = 2.0**-24
NO_FIGURES: dict[str, Any] = {
    name: None
    for name in make_row()
    if name.startswith(("rel_", "above_", "rho_", "ulp_", "abs_")) or name in ("flagged", "elements", "output_digest")
}
HOSTILE = "<script>alert(1)</script>\"'\n&|`" + "x" * 10_000


def element(index: int, relative: float, amplification: float = 100.0, **cells: Any) -> Row:
    """A sampled element with a truth of 2."""
    truth = float(cells.get("truth", 2.0))
    plain: Row = {
        "problem_id": "p" * 16,
        "seed": 7,
        "index": index,
        "output": "y",
        "target": NUMPY,
        "variant": "",
        "against": "truth",
        "trial": f"beef-{index}",
        "operator": "batch_norm",
        "dtype": "float32",
        "kind": "worst",
        "element": index,
        "value": truth * (1 + relative),
        "truth": truth,
        "bound": amplification * abs(truth),
        "amplification": amplification,
        "rho": relative / (U * amplification),
        "inputs": "[]",
    }
    return plain | cells


def with_elements(directory: Path, elements: list[Row]) -> Path:
    """Another shard with a row and these elements."""
    Store(directory).commit(99, [make_row(10**6)], elements)
    return directory


def opened(directory: Path, **more: Any) -> Page:
    return Page(page(results.open(directory), **more))


def faulty(verdict: str, **cells: Any) -> dict[str, Any]:
    figures = {"rho_max": 3e5, "flagged": 12, "rel_max": 1.0, "above_1e01": 9, "above_1e02": 12}
    return {"verdict": verdict, "trial": "beef551b-4", "detail": "far off"} | figures | cells


@pytest.fixture
def healthy(campaign: Callable[..., Path]) -> Path:
    event = {"pair": [NUMPY, TVM], "above": 1}
    made = campaign(batch_norm_rows(200), published="38/5000", published_event=event, title="batch_norm outliers")
    return with_elements(made, [element(n, 1e-7 * (n + 1)) for n in range(40)])


def test_the_answer_comes_first(healthy: Path) -> None:
    found = opened(healthy)
    assert "No implementation is to blame: the one trial with errors above 1e-1" in found.texts[""]
    assert found.sections() == [
        "issues",
        "operators",
        "pairs",
        "scatter",
        "rates",
        "ladder",
        "rho",
        "findings",
        "targets",
        "bits",
        "environment",
        "reading",
    ]
    assert "None: nothing exceeds" in found.texts["issues"]


def test_nothing_is_loaded_and_only_its_own_script_runs(healthy: Path) -> None:
    text = page(results.open(healthy))
    assert Page(text).loaded() == []
    for tag, kind in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind} &#x27;sha256-{digest}&#x27;" in text
    assert "style=" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_rates_have_intervals_and_the_published_one(healthy: Path) -> None:
    said = opened(healthy).texts["rates"]
    assert "38 of 5,000" in said
    assert "0.76 % [0.54, 1.0]" in said
    assert f"{NUMPY} against {TVM}" in said
    assert "Clopper and Pearson" in said


@pytest.mark.parametrize("plan", ["explore", "search"])
def test_plans_without_rates_say_why(campaign: Callable[..., Path], plan: str) -> None:
    found = rates(results.open(campaign([make_row()], shards=1, plan=plan)))
    assert found.refused.startswith("no rate can be read off this campaign")
    assert found.panels == ()


def test_a_survey_has_the_rate_of_its_population(campaign: Callable[..., Path]) -> None:
    rows = [make_row(0, problem_id=f"{n:016x}") for n in range(50)]
    found = rates(results.open(campaign(rows, plan="survey", trials_per_problem=1)))
    assert "the population of the survey" in found.notes[0]


def test_problems_of_a_grid_are_not_pooled(campaign: Callable[..., Path]) -> None:
    rows = [make_row(n, problem_id=f"{p:016x}", dims=f"n={p}") for n in range(10) for p in (2, 8, 64)]
    (panel, *_) = rates(results.open(campaign(rows))).panels
    assert [line.name for line in panel.lines] == ["n=2", "n=8", "n=64"]
    assert {(line.interval.n, line.target) for line in panel.lines} == {(10, NUMPY)}


@pytest.mark.parametrize(
    "cells",
    [
        {},
        NO_FIGURES | {"verdict": "unsupported", "detail": "numpy has no gelu"},
        NO_FIGURES | {"verdict": "crashed", "detail": "SIGSEGV"},
        {name: math.nan for name in make_row() if name.startswith(("rel_", "rho_", "ulp_", "abs_"))},
        dict.fromkeys(("rel_max", "rho_max", "ulp_max", "abs_max", "rel_amplification"), math.inf),
        NO_FIGURES | {"verdict": "indeterminate", "detail": "no second precision", "provenance": None},
        {"elements": 0, "dims": "n=0"},
    ],
    ids=["healthy", "unsupported", "crashed", "nan", "inf", "indeterminate", "empty"],
)
def test_a_single_row_makes_a_page(campaign: Callable[..., Path], cells: dict[str, Any]) -> None:
    directory = campaign([make_row(0, **cells)], shards=1)
    found = opened(directory)
    assert found.outside == []
    assert {"issues", "operators", "findings", "reading"} <= set(found.sections())
    assert "####" in markdown(results.open(directory))


def test_findings_have_commands_and_scripts(campaign: Callable[..., Path]) -> None:
    rows = [make_row(n, TORCH, **faulty("unstable")) for n in range(5)]
    directory = campaign(rows)
    (finding,) = results.open(directory).findings
    texts = {finding.id: Script("import torch\nprint('<b>')\n")}
    found = opened(directory, scripts=[texts])
    said = found.texts["findings"]
    assert "import torch\nprint('<b>')" in said
    assert "stand-alone script, 2 lines" in said
    assert f"ulpfuzz repro {directory} beef551b-4  # finding {finding.id}" in said
    assert f"ulpfuzz repro {directory} {finding.id} --script batch_norm.py" in said
    assert "unstable" in found.texts["issues"]
    late = {finding.id: Script(why_not="no time was left")}
    assert "No script here: no time was left." in cards(findings(results.open(directory), scripts=late), "")


def test_composed_formulas_are_not_blamed(campaign: Callable[..., Path]) -> None:
    rows = [make_row(n, NUMPY, provenance="composed", **faulty("unstable")) for n in range(5)]
    found = opened(campaign(rows))
    assert "No findings." in found.texts["findings"]
    assert "not blamed on the library" in found.texts["findings"]
    assert not [values for tag, values in found.tags if tag == "td" and "bad" in str(values.get("class"))]


def test_text_of_anybody_is_text(campaign: Callable[..., Path]) -> None:
    names = ("operator", "target", "dims", "recipes", "attributes", "implementation", "detail", "region")
    rows = [make_row(n, **faulty("unstable") | dict.fromkeys(names, HOSTILE) | {"trial": HOSTILE}) for n in range(3)]
    rows.append(make_row(4, **NO_FIGURES | {"verdict": "raised", "error": HOSTILE, "detail": HOSTILE}))
    directory = campaign(rows, title=HOSTILE, skipped=[HOSTILE])
    with_elements(directory, [element(n, 0.5, target=HOSTILE, trial="<b>&'", operator=HOSTILE) for n in range(300)])
    text = page(results.open(directory))
    found = Page(text)
    assert text.count("<script>") == 1
    assert "<script>alert(1)" in found.texts["findings"]
    assert len(text) < 10e6
    written = markdown(results.open(directory))
    outside = re.sub(r"^(`{3,}).*?^\1$", "", written, flags=re.DOTALL | re.MULTILINE)
    assert "<script" not in outside.replace(r"\<script", "")
    assert max(len(line) for line in written.splitlines()) < 20_000


def test_several_campaigns_follow_each_other(campaign: Callable[..., Path]) -> None:
    one, other = campaign(batch_norm_rows(20), title="first"), campaign(batch_norm_rows(20), title="second")
    both = results.open(one, other)
    found = Page(page(both))
    assert found.sections().count("operators") == 2
    assert {"c1-operators", "c2-operators"} <= set(found.ids)
    assert markdown(both).count("#### Operators and targets") == 2


def test_dots_are_inside_and_know_their_trial(campaign: Callable[..., Path]) -> None:
    edges = [0.0, 5e-324, 1e-30, U, 0.1, 1.0, 1e5, 1e300]
    elements = [element(n, edges[n % 8], 10.0 ** (n - 10)) for n in range(64)]
    elements[3]["trial"] = "a b-3"
    found = opened(with_elements(campaign(batch_norm_rows(5)), elements))
    assert found.outside == []
    assert len(found.dots()) == 64
    assert "'a b-3'" in [dot["data-trial"] for dot in found.dots()]


def test_elements_without_a_place_are_counted(campaign: Callable[..., Path]) -> None:
    odd = [
        element(0, 0.0, truth=0.0, value=1.0, amplification=math.inf),
        element(1, 0.0, value=math.nan, rho=math.nan),
        element(2, 0.0, value=math.inf, rho=math.inf),
        element(3, 1e-7),
        element(4, 1e-7, amplification=math.inf, rho=0.0),
    ]
    directory = with_elements(campaign(batch_norm_rows(5)), odd)
    (sample,) = samples(results.open(directory))
    assert (len(sample.points), sample.elements, sample.zero, sample.nonfinite) == (1, 5, 1, 3)
    assert "1 with a true value of 0 have no place here" in caption(sample)


def test_outliers_stay_when_there_are_too_many_elements(campaign: Callable[..., Path]) -> None:
    elements = [element(n, 1e-7 * (1 + n / 1e4)) for n in range(9000)]
    elements += [element(10_000 + n, 0.2, 1e8) for n in range(500)]
    elements += [element(20_000 + n, 1e-6, 1.0) for n in range(300)]
    directory = with_elements(campaign(batch_norm_rows(5)), elements)
    (sample,) = samples(results.open(directory))
    assert len(sample.points) == MOST
    assert sample.outliers == sum(point.outlier for point in sample.points) == 800
    assert samples(results.open(directory)) == [sample]
    assert max(point.rho for point in worst(sample)) == max(float(row["rho"] or 0) for row in elements)
    assert caption(sample).startswith("4,000 of 9,800 elements are shown: all of 800 outliers")


def test_an_element_kept_twice_is_one_dot(campaign: Callable[..., Path]) -> None:
    twice = [element(1, 1e-7), element(1, 1e-7, kind="relative")]
    (sample,) = samples(results.open(with_elements(campaign(batch_norm_rows(5)), twice)))
    assert len(sample.points) == sample.elements == 1


def test_the_distribution_is_exact_at_its_thresholds(campaign: Callable[..., Path]) -> None:
    rho = [
        0.0,
        1e-12,
        0.3,
        1.0,
        math.nextafter(1.0, 2.0),
        2.0,
        math.nextafter(2.0, 3.0),
        1e40,
        math.inf,
        math.nan,
        None,
    ]
    rows = [make_row(n, rho_max=value) for n, value in enumerate(rho)]
    (curve,) = curves(results.open(campaign(rows)))
    assert curve.results == 9
    assert [curve.up_to(value) for value in (0.25, 0.31, 1.0, 2.0)] == [2, 3, 4, 6]
    assert curve.steps[-1] == (math.inf, 9)


def test_a_slope_needs_four_lengths(campaign: Callable[..., Path]) -> None:
    def rows(lengths: list[int]) -> list[Row]:
        return [
            make_row(n, reduction_length=length, rho_ideal=0.1 * length**0.5, problem_id=f"{length:016x}")
            for length in lengths
            for n in range(12)
        ]

    few = opened(campaign(rows([10, 100, 1000]))).texts["growth"]
    assert "0.316 at n = 10, 3.16 at 1,000; a slope with an interval needs 4 sizes of 10 trials" in few
    (growth,) = growths(results.open(directory := campaign(rows([10, 100, 1000, 10_000]))))
    assert growth.series[0].law.slope == pytest.approx(0.5)
    assert "error grows like n^0.50 [0.50, 0.50] over 4 lengths: square root" in opened(directory).texts["growth"]
    assert growths(results.open(campaign(rows([10, 100, 1000, 10_000]), plan="explore"))) == []


def test_the_ladder_shows_the_worst_rung(campaign: Callable[..., Path]) -> None:
    rows = [make_row(n, operator=name, above_1e03=int(n == 0)) for n in range(8) for name in ("exp", "log")]
    assert ladder(lines(results.open(campaign(rows)))).count('>1e-3<span class="share">12 %</span>') == 2


def test_an_operator_with_two_outputs_counts_trials_once(campaign: Callable[..., Path]) -> None:
    rows = [make_row(n, output=name, above_1e01=int(name == "var")) for n in range(6) for name in ("mean", "var")]
    directory = campaign(rows)
    (line,) = lines(results.open(directory))
    assert (line.trials, line.above[0]) == (6, 6)


@pytest.mark.parametrize("mixed", [False, True], ids=["all rows", "the finding's rows"])
def test_rows_without_an_environment_have_findings_all_the_same(campaign: Callable[..., Path], mixed: bool) -> None:
    rows = [make_row(i, verdict="wrong", detail="why", environment=None) for i in range(4)]
    if mixed:
        rows += [make_row(i, "torch:cpu") for i in range(4)]
    directory = campaign(rows)
    found = results.open(directory)
    (group,) = found.findings
    assert (group.environments, group.versions, group.trials) == ((), (), 4)
    out = io.StringIO()
    report(found, Console(file=out, width=120))
    for text in (out.getvalue(), markdown(found), page(found)):
        assert "numpy:cpu batch_norm" in text.replace("\\_", "_")
    write_findings(found, directory)
    assert results.open(directory).findings == (group,)
