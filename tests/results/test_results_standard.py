"""The page of `--recipes standard`: findings first, digits lost, what is absent, and one sentence at the end."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from synthetic_rows import make_row

import results
from results.report import report
from results.standard import cells

ROWS = [
    make_row(0, operator="abs", verdict="exact", rho_max=0.0),
    make_row(0, "torch:cpu", operator="abs", verdict="unsupported", rho_max=None, flagged=None, rel_max=None),
    make_row(0, operator="sum", problem_id="q" * 16, verdict="accumulation_order", rho_max=5.0, flagged=3),
    make_row(0, operator="tanh", problem_id="r" * 16, verdict="rounding", rho_max=0.4),
    make_row(1, operator="tanh", problem_id="r" * 16, verdict="unstable", rho_max=1000.0, flagged=9),
    make_row(2, operator="tanh", problem_id="r" * 16, verdict="subnormals_flushed", rho_max=1e6),
]


def test_findings_come_first_and_flushed_outputs_lose_no_digits(campaign: Callable[..., Path]) -> None:
    found = cells(results.open(campaign(ROWS)))
    assert [cell.operator for cell in found] == ["tanh", "sum", "abs", "abs"]
    first = found[0]
    assert (first.worst_verdict, first.flagged, first.trials, first.digits_lost) == ("unstable", 1, 3, 3.0)
    assert [cell.telling for cell in found] == [True, True, False, False]
    assert [cell.absent for cell in found] == [False, False, False, True]


def test_composed_formulations_are_no_finding(campaign: Callable[..., Path]) -> None:
    (cell,) = cells(results.open(campaign([make_row(verdict="wrong", provenance="composed", flagged=1)])))
    assert not cell.findings
    assert cell.telling


def test_the_page(campaign: Callable[..., Path]) -> None:
    console = Console(file=io.StringIO(), width=100)
    report(results.open(campaign(ROWS, recipes="standard")), console)
    assert isinstance(console.file, io.StringIO)
    page = " ".join(console.file.getvalue().split())
    assert "tanh numpy:cpu float32 unstable 3.0 1.0e3 33 %" in page
    assert "sum numpy:cpu float32 accumulation_order 0.7 5 100 %" in page
    assert "abs exact -" in page
    assert "no output:" not in page
    assert page.endswith("1 of 3 operators have findings against a library: tanh; 5 outputs of targets judged.")
