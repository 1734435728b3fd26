"""Power of variants: no alarm over healthy operators, whose bits do vary; a rare fault found by a campaign."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import results
from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from fuzz.variants import expanded
from results.columns import Row
from results.verdicts import VERDICTS
from strategies import make_problem, parse_recipe
from strategies.standard import standard_dims

PLANTED = Path(__file__).parents[1] / "fuzz" / "variants" / "planted_variants.py"
FEW = ("matmul", "softmax", "layer_norm", "conv2d", "sqrt")
OF_VARIANTS = {"batch_variant", "layout_variant", "position_variant", "schedule_variant", "nondeterministic"}


def _rows(name: str, trials: int) -> list[Row]:
    contract = OPERATORS[name].contract
    recipes = [parse_recipe(spec.default, (spec.name,)) for spec in contract.inputs]
    problem = make_problem(contract, dims=standard_dims(contract), home="float32", recipes=recipes)
    targets = tuple(Target(backend, "cpu", "float32") for backend in ("numpy", "torch"))
    session, cell = Session("test"), Cell(problem, targets, variants=expanded(["all"]))
    return [row for index in range(trials) for row in run_trial(cell, 0, index, session).rows if row["variant"]]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.long) for name in OPERATORS]
)
def test_nobody_is_blamed_for_rounding(name: str) -> None:
    rows = _rows(name, 1 if name in FEW else 3)
    found = [row for row in rows if row.get("verdict") and VERDICTS[str(row["verdict"])].finding]
    assert not found, [(row["target"], row["variant"], row["verdict"], row["detail"]) for row in found[:3]]
    against_own = [row for row in rows if row["against"] != "truth"]
    assert not against_own or any(row["verdict"] == "exact" for row in against_own)


def test_bits_do_vary() -> None:
    """Else the test above would test nothing."""
    changed = [row for row in _rows("matmul", 1) if row["against"] != "truth" and row["verdict"] != "exact"]
    assert {str(row["target"]) for row in changed} == {"numpy:cpu", "torch:cpu"}
    assert all(float(str(row["abs_max"])) > 0 for row in changed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel", "variants", "verdict"),
    [
        ("sometimes", "repeat", "nondeterministic"),
        ("sometimes", "batch", "nondeterministic"),
        ("half", "batch", "batch_variant"),
        ("half_alone", "batch", "batch_variant"),
        ("contiguous", "layout[F],layout[strided]", "layout_variant"),
        ("position", "position", "position_variant"),
        ("healthy", "all", ""),
        ("refuses", "layout", ""),
    ],
)
def test_a_campaign_gives_a_planted_fault_its_verdict(kernel: str, variants: str, verdict: str, tmp_path: Path) -> None:
    trials = "150" if kernel == "sometimes" else "10"
    where = ("--extension", str(PLANTED), "--targets", f"planted[impl={kernel}]", "--out", str(tmp_path / "made"))
    request = ["run", "matmul", "--dims", "M=40,K=64,N=12", "--trials", trials, "--variants", variants, *where]
    command = [sys.executable, "-m", "fuzz.cli", *request, "--no-shrink"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == bool(verdict)
    groups = results.open(tmp_path / "made").findings
    assert {group.verdict for group in groups} & OF_VARIANTS == ({verdict} if verdict else set())
