"""Gradients from the command line: campaigns, scripts, and healthy libraries that nobody accuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from running import Cli

from fuzz.operators import OPERATORS
from results.reading import open as open_results

pytestmark = pytest.mark.long

UNSTABLE = {
    "tanh", "sigmoid", "expm1", "elu", "selu", "softsign", "gelu", "gelu_tanh", "softplus", "log_sigmoid", "silu",
    "mish", "cosh", "sinh", "erfinv",
}  # fmt: skip
"""docs/gradients.md says why."""


def test_a_campaign_of_gradients_reports_and_its_script_shows_the_defect(ulpfuzz: Cli, tmp_path: Path) -> None:
    ran = ulpfuzz.ok(
        "run", "tanh", "softmax", "--gradients", "--recipes", "standard", "--trials", 1, "--targets", "torch,jax,numpy",
        "--out", "c", "--no-shrink",
    )  # fmt: skip
    assert "unstable: " in ran.stdout
    assert "tanh.grad (d_x)" in ran.stdout
    assert "torch:cpu softmax.grad (d_x)" not in ran.stdout
    assert "unsupported" in ran.stdout
    ran = ulpfuzz.ok("findings", "c", "--json")
    finding = next(item for item in json.loads(ran.stdout)["findings"] if item["backend"] == "torch")
    ulpfuzz.ok("repro", "c", finding["id"], "--script", "script.py")
    text = (tmp_path / "script.py").read_text()
    assert "torch.autograd.grad(torch.tanh(x), x, d_y)[0]" in text
    assert subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_healthy_gradients_are_not_flagged(ulpfuzz: Cli, tmp_path: Path) -> None:
    """The standard campaign of all but the functions that docs/gradients.md names; jax flushes subnormal numbers."""
    healthy = sorted(set(OPERATORS) - UNSTABLE)
    assert len(healthy) >= 40
    ulpfuzz.ok(
        "run", *healthy, "--gradients", "--recipes", "standard", "--trials", 2, "--seed", 5, "--targets", "torch,jax",
        "--out", "c", "--no-shrink", timeout=900,
    )  # fmt: skip
    accused = open_results(tmp_path / "c").records(
        "SELECT DISTINCT operator, target, verdict FROM trials JOIN verdicts ON verdict = name "
        "WHERE finding AND verdict <> 'subnormals_flushed'"
    )
    assert accused == []
