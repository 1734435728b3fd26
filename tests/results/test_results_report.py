"""The report: its key sentences, no escape codes in a pipe, nothing lost at 80 columns."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from synthetic_rows import TARGETS, batch_norm_rows, make_row

import results
from results.columns import Row
from results.findings import findings
from results.report import report

NUMPY, TORCH, JAX, TVM = TARGETS
NO_FIGURES: dict[str, Any] = {
    name: None
    for name in make_row()
    if name.startswith(("rel_", "above_", "rho_", "ulp_", "abs_")) or name in ("flagged", "elements", "output_digest")
}


def text(directory: Path, width: int = 100) -> str:
    """The report as piped text, with line ends as spaces, so that sentences can be looked for."""
    return " ".join(raw(directory, width).split())


def raw(directory: Path, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    report(results.open(directory), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def faulty(verdict: str, **cells: Any) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "rho_max": 3e5,
        "flagged": 12,
        "rel_max": 1.0,
        "above_1e01": 9,
        "above_1e02": 12,
    } | cells


@pytest.fixture
def healthy(campaign: Callable[..., Path]) -> Path:
    """A campaign like the one that started this: outliers that the inputs explain, and a published rate."""
    event = {"pair": [TVM, NUMPY], "above": 1}
    return campaign(batch_norm_rows(3000), published="38/5000", published_event=event, title="batch_norm outliers")


def test_outliers_are_explained(healthy: Path) -> None:
    page = text(healthy)
    assert page.startswith("No implementation is to blame: all ")
    assert "trials with errors above 1e-1 have ill-conditioned inputs." in page
    assert "In every one of them the relative error divides by a true value close to 0" in page
    assert "one rounding unit in the inputs and in each step changes the result by 20 % or more" in page
    assert "Findings: none" in page
    assert findings(results.open(healthy)) == []


def test_what_ran_is_named(healthy: Path) -> None:
    page = text(healthy)
    for piece in (
        "batch_norm outliers",
        "batch_norm in float32, C=32,H=28,N=2,W=28",
        '{"eps":1e-05}',
        "var~abs-normal(1,1)",
        "3,000 trials, seed 7, plan fixed",
        "jax:cpu[mode=eager] formula library",
    ):
        assert piece in page


def test_the_published_rate_is_compared(healthy: Path) -> None:
    page = text(healthy, 200)
    assert "Against the published 38/5000 above 1e-1" in page
    assert f"{NUMPY} against {TVM}: " in page
    assert "the same rate as far as 3000 trials can tell (chi-square without correction, p = 0." in page
    assert "Relative risk" in page


def test_identical_bits_are_listed(healthy: Path) -> None:
    page = text(healthy, 200)
    assert f"always identical: {NUMPY} = {TVM}" in page
    assert f"3,000 (100 %): {{{NUMPY}, {TVM}}} {{{JAX}}} {{{TORCH}}}" in page


@pytest.mark.parametrize("width", [80, 140])
def test_a_pipe_gets_plain_text_within_the_width(healthy: Path, width: int) -> None:
    page = raw(healthy, width)
    assert "\x1b" not in page
    assert max(len(line.rstrip()) for line in page.splitlines()) <= width
    for target in TARGETS:
        assert f"  {target}  " in page
    assert "ill_conditioned" in page


def test_a_finding_is_blamed_and_can_be_repeated(campaign: Callable[..., Path]) -> None:
    rows = batch_norm_rows(300)
    for row in rows:
        if row["target"] == TVM and int(row["index"] or 0) % 10 == 0:
            row.update(faulty("unstable", detail="rho 3e5 in either precision", rho_max=1e5 + int(row["index"] or 0)))
    directory = campaign(rows)
    page = text(directory, 200)
    assert page.startswith(f"1 of 4 targets loses more than rounding explains: {TVM} (unstable in 30 of 300 trials of ")
    assert "unstable: the result loses more than rounding and conditioning explain" in page
    assert f"ulpfuzz repro {directory} batch_norm-290" in page
    (group,) = findings(results.open(directory))
    assert (group.operator, group.output, group.target, group.verdict) == ("batch_norm", "y", TVM, "unstable")
    assert (group.trials, group.of_trials, group.trial) == (30, 300, "batch_norm-290")
    assert group.worst_rho == 100290


def test_composed_formulations_are_not_blamed(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, t) for i in range(20) for t in TARGETS]
    rows[1].update(faulty("wrong", provenance="composed"))
    directory = campaign(rows)
    page = text(directory)
    assert page.startswith("No library is to blame: what exceeds rounding, in 1 trial, are formulations that ulpfuzz")
    assert "ill-conditioned" not in page
    assert "Composed from primitives by ulpfuzz: not blamed on the library" in page
    assert findings(results.open(directory)) == []


def test_the_order_of_summation_is_named(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, NUMPY, above_1e01=1, rel_max=0.3, verdict="ill_conditioned") for i in range(5)]
    rows[2]["verdict"] = "accumulation_order"
    page = text(campaign(rows), 200)
    assert (
        "all 5 trials with errors above 1e-1 have ill-conditioned inputs or, in 1 trial, the order of summation."
        in page
    )


def test_failures_have_no_figures_and_are_findings(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, t) for i in range(20) for t in (NUMPY, TVM)]
    for row in rows:
        if row["target"] == TVM:
            row.update(NO_FIGURES | {"verdict": "raised", "error": "InternalError: [x] is :bad:"})
    page = text(campaign(rows), 200)
    assert page.startswith(f"1 of 2 targets fails to give a result: {TVM} (raised in 20 of 20 trials of batch_norm).")
    assert f"no output: {TVM}, batch_norm: raised in 20 trials: InternalError: [x] is :bad:" in page


def test_what_was_skipped_is_said(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, NUMPY) for i in range(5)]
    rows.append(make_row(0, JAX, **NO_FIGURES | {"verdict": "unsupported", "error": "jax has no batch_norm"}))
    page = text(campaign(rows, skipped=["tvm is not installed: pip install 'ulpfuzz[tvm]'"]), 200)
    assert "skipped: tvm is not installed: pip install 'ulpfuzz[tvm]'" in page
    assert f"no output: {JAX}, batch_norm: unsupported in 1 trial: jax has no batch_norm" in page


def test_pairs_without_an_implementation_are_counted_and_fill_no_table(campaign: Callable[..., Path]) -> None:
    none = NO_FIGURES | {"verdict": "unsupported", "error": "none"}
    rows = [make_row(i, t, operator=name) for i in range(4) for t in TARGETS for name in ("tanh", "erf")]
    rows = [row | none if row["operator"] == "erf" and row["target"] in (JAX, TVM) else row for row in rows]
    rows[0].update(none)  # tanh runs on the other trials
    overview = text(campaign(rows), 200).partition("Operators and targets")[2].partition("Each target")[0]
    assert "2 pairs without an implementation." in overview
    shown = [(name, t) for name in ("tanh", "erf") for t in TARGETS if f"{name} {t} " in overview]
    assert shown == [*(("tanh", t) for t in TARGETS), ("erf", NUMPY), ("erf", TORCH)]


def test_nothing_measured(campaign: Callable[..., Path]) -> None:
    rows = [make_row(0, JAX, **NO_FIGURES | {"verdict": "unsupported", "error": "jax has no batch_norm"})]
    assert text(campaign(rows)).startswith("Nothing was measured")


def test_what_was_not_decided_is_listed(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, NUMPY) for i in range(20)]
    rows[4].update(verdict="indeterminate", detail="a divisor has no digits left", above_1e01=1, rel_max=0.5)
    page = text(campaign(rows), 200)
    assert "No implementation is to blame for what could be decided: 0 of 1 trials" in page
    assert f"Not decided batch_norm, {NUMPY}: 1 trials: a divisor has no digits left" in page


def test_an_unfinished_campaign_says_so(campaign: Callable[..., Path]) -> None:
    page = text(campaign(batch_norm_rows(10), trials=50), 200)
    assert "INCOMPLETE: 50 were planned, run `ulpfuzz resume" in page
    assert "--time" not in page


def test_an_unfinished_campaign_with_a_limit_of_time_needs_more_of_it(campaign: Callable[..., Path]) -> None:
    directory = campaign(batch_norm_rows(10), trials=50, seconds=2.0)
    assert f"INCOMPLETE: 50 were planned, run `ulpfuzz resume {directory} --time 1h`" in text(directory, 400)


def test_a_large_rho_that_is_not_flagged_says_why(campaign: Callable[..., Path]) -> None:
    rows = batch_norm_rows(10)
    assert "Not flagged above 2" not in text(campaign(rows), 200)
    flushed = next(row for row in rows if row["target"] == NUMPY)
    flushed.update(verdict="subnormals_flushed", rho_max=1.7e4, flagged=0)
    assert f"Not flagged above 2: {NUMPY}. Reading subnormal numbers as zero" in text(campaign(rows), 200)


def test_operators_that_were_not_reached_are_named(campaign: Callable[..., Path]) -> None:
    asked = [{"operator": name, "home": "float32"} for name in ("batch_norm", "exp", "tanh")]
    page = text(campaign(batch_norm_rows(10), plan="explore", survey=asked, seconds=2.0), 200)
    assert "not reached: 2 of 3 operators: exp, tanh" in page
    cells = [{"problem": {"operator": name, "dims": {}}} for name in ("batch_norm", "sum")]
    assert "not reached: 1 of 2 operators: sum" in text(campaign(batch_norm_rows(10), cells=cells), 200)
    assert "not reached" not in text(campaign(batch_norm_rows(10), cells=cells[:1]), 200)


def test_problems_of_one_size_show_it(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, problem_id=f"{i:016x}", dims="n=8", recipes=f"x=normal(0,{i})") for i in range(1, 4)]
    assert "3 problems of batch_norm in float32 sizes n=8, 3 choices of inputs" in text(campaign(rows), 200)


def survey(problems: int) -> list[Row]:
    rows = []
    for p in range(problems):
        for target in TARGETS:
            row = make_row(0, target, problem_id=f"{p:016x}", operator=f"op{p % 40:02d}", dims=f"N={p}", trial=f"t-{p}")
            if target == TVM and p % 40 == 3:
                row.update(faulty("unstable"))
            rows.append(row)
    return rows


def test_a_survey_is_shown_by_operator(campaign: Callable[..., Path]) -> None:
    directory = campaign(survey(400), plan="survey")
    page = text(directory, 140)
    assert "400 problems of 40 operators in float32 400 choices of sizes, inputs " in page
    assert "op03 tvm:llvm[mcpu=host] 10 10 = 100 % [69, 100] 3.0e5 unstable" in page
    assert "Operators within rounding on every target (39): op00, op01, op02, op04" in page
    assert "of the rate in the survey's population" in page
    assert len(raw(directory, 80).splitlines()) < 120


def test_problems_of_a_grid_are_not_pooled(campaign: Callable[..., Path]) -> None:
    rows = [
        row | {"problem_id": f"{p:016x}", "dims": f"N={p}", "trial": f"{p}-{row['index']}"}
        for p in range(3)
        for row in batch_norm_rows(100, seed=p)
    ]
    page = text(campaign(rows, trials=100), 140)
    assert "Each problem against the truth" in page
    assert "batch_norm N=0" in page
    assert "without intervals: 3 problems of a fixed plan were chosen, not drawn" in page
    many = [row | {"problem_id": f"{p:016x}"} for p in range(15) for row in batch_norm_rows(4)]
    assert "No intervals: a fixed plan says nothing about other problems" in text(campaign(many, trials=4), 140)


def test_infinite_errors_are_shown(campaign: Callable[..., Path]) -> None:
    rows = [make_row(i, NUMPY) for i in range(3)]
    rows[0].update(rel_max=math.inf, rel_amplification=math.inf, above_1e01=1, verdict="ill_conditioned")
    assert f"{NUMPY} inf inf" in text(campaign(rows))


def test_several_campaigns_are_reported_one_by_one(campaign: Callable[..., Path]) -> None:
    console = Console(file=io.StringIO(), width=100)
    report(results.open(campaign(batch_norm_rows(5)), campaign(batch_norm_rows(6))), console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().count("Findings: none") == 2


def test_a_report_is_quick(campaign: Callable[..., Path]) -> None:
    directory = campaign(batch_norm_rows(5000))
    raw(directory, 80)
    before = time.process_time()
    raw(directory, 80)
    assert time.process_time() - before < 2.0


def test_a_flush_to_zero_is_said_apart(campaign: Callable[..., Path]) -> None:
    rows = batch_norm_rows(6)
    for row in rows:
        if row["target"] == JAX and row["against"] == "truth":
            row |= {"verdict": "subnormals_flushed", "flagged": 0}
            row["provenance"] = "library"
    shown = text(campaign(rows))
    assert "No implementation loses more than rounding explains." in shown
    assert "Subnormal numbers are read or written as zero by jax:cpu[mode=eager] in 6 of 6" in shown


def test_a_flush_to_zero_is_one_line_for_all_operators(campaign: Callable[..., Path]) -> None:
    names = ("exp", "sum", "relu")
    rows = [
        make_row(index, "jax:cpu", operator=name, verdict="subnormals_flushed", rho_max=9.0 - index, flagged=1)
        for index, name in enumerate(names)
    ]
    page = text(campaign(rows))
    assert page.count("flushed: the result") == 1
    assert "jax:cpu exp" in page
    assert "also in sum, relu" in page
    assert "jax:cpu sum" not in page
    assert "lists them all" in page


def test_empty_outputs_prove_nothing(campaign: Callable[..., Path]) -> None:
    rows = [row | {"elements": 0} for row in batch_norm_rows(3)]
    assert "Nothing was measured: the outputs of these problems have no elements." in text(campaign(rows))


def test_a_long_accusation_has_a_line_for_each_target(campaign: Callable[..., Path]) -> None:
    rows = [
        row | {"operator": operator, "problem_id": f"{operator}-{row['problem_id']}"} | faulty("unstable")
        for operator in ("batch_norm", "layer_norm", "gelu", "softmax", "logsumexp")
        for row in batch_norm_rows(4)
    ]
    lines = raw(campaign(rows), 300).splitlines()
    targets = sorted({row["target"] for row in rows})
    assert len(targets) > 1
    assert lines[0] == f"{len(targets)} of {len(targets)} targets lose more than rounding explains."
    said = sorted(line.strip() for line in lines[1 : 1 + len(targets)])
    assert said == [
        f"{target}: unstable in 5 operators: batch_norm, gelu, layer_norm, logsumexp, ..." for target in targets
    ]
