"""The generator of large campaigns writes what a run writes."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import pytest
from rich.console import Console

import results
from results.findings import computed
from results.findings_file import read_findings
from results.report import report

ROWS = Path(__file__).parent.parent.parent / "benchmarks" / "rows.py"


def generate(folder: Path, **how: int) -> int:
    spec = importlib.util.spec_from_file_location("benchmark_rows", ROWS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written: int = module.generate(folder, **how)
    return written


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "campaign"
    assert generate(folder, rows=12_000, trials=160) >= 12_000
    return folder


def test_a_generated_campaign_is_whole(large: Path) -> None:
    opened = results.open(large)
    (row,) = opened.records("""
        SELECT count(*) AS n, count(DISTINCT (problem_id, seed, "index", output, target, variant, against)) AS keys,
               count(DISTINCT problem_id) AS problems, count(*) FILTER (verdict = 'unsupported') AS missing,
               count(*) FILTER (rho_max > 2) AS bad, count(*) FILTER (flagged > 0) AS flagged
        FROM measurements
    """)
    assert row["n"] == row["keys"] >= 12_000
    assert row["problems"] == len(opened.covered[0]) >= 8
    assert row["missing"] > 0 < row["bad"] == row["flagged"]
    (kept,) = opened.records("SELECT count(*) AS n, max(rho) AS rho FROM elements")
    assert kept["n"] > 0
    assert kept["rho"] > 0
    assert read_findings(large) == computed(opened)


def test_its_report_names_the_findings_and_quantiles(large: Path) -> None:
    out = io.StringIO()
    report(results.open(large), Console(file=out, width=120))
    assert "exact quantiles over outputs" in out.getvalue()
    assert "loses more than rounding explains" in out.getvalue()


def test_the_same_seed_gives_the_same_rows(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generate(tmp_path / name, rows=500, trials=40, seed=3)
    one, two = (results.open(tmp_path / name).rows() for name in ("one", "two"))
    assert one.equals(two)
