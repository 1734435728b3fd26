"""Reports from trackers, checked as their users would: the right function is named, benign ones are not accused.

The rows, and what is right, are those of benchmarks/reports.py; every row of docs/checking-reports.md is one of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from quality_modules import BENCHMARKS, load

reports = load("reports")
BY_ID = {report.id: report for report in reports.REPORTS}
FAST = ("017", "021", "025", "025 with truth=", "027", "043 in float32", "091", "093", "138")
"""The others take the same roads."""
PAGE = BENCHMARKS.parent / "docs" / "checking-reports.md"


def told() -> dict[str, list[str]]:
    """Verdicts in the page's table by report."""
    rows = [line.strip("|").split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if "|" in line]
    cells = [[cell.strip() for cell in row] for row in rows if len(row) == 5]
    return {row[0]: row[3].split(" / ") for row in cells if row[0] in BY_ID}


def right(report_id: str, folder: Path, trials: int) -> None:
    report = BY_ID[report_id]
    result = report.check(folder, trials)
    assert reports.answers(result) == report.right, str(result)
    assert report.says in result.sentence
    findings = [verdict if verdict in report.right else reports.HEALTHY for verdict in told()[report_id]]
    assert tuple(findings) == report.right


@pytest.mark.parametrize("report_id", FAST)
def test_a_report_gets_its_answer(tmp_path: Path, report_id: str) -> None:
    right(report_id, tmp_path, 3)


@pytest.mark.long
@pytest.mark.parametrize("report_id", [name for name in BY_ID if name not in FAST])
def test_the_others_too(tmp_path: Path, report_id: str) -> None:
    right(report_id, tmp_path, 10)


def test_the_page_has_every_row() -> None:
    assert set(told()) == set(BY_ID)
