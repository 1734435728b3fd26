"""Random legal schedules are legal and keep the bits they have to; what TVM miscompiles is seen for what it is.

The fast form of benchmarks/schedules.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from random_schedules import tally

import results
from fuzz.backends import tvm_moves
from fuzz.backends.tvm_nests import Program
from fuzz.operators import OPERATORS
from fuzz.targets import parse_target
from fuzz.trial import Cell, Session, run_trial
from strategies import make_problem, parse_recipe

pytest.importorskip("tvm")


@pytest.mark.heavy
@pytest.mark.parametrize("operator", ["sigmoid", "sum", "softmax", "layer_norm", "batch_norm", "matmul", "conv2d"])
def test_random_schedules_are_legal_and_keep_their_bits(operator: str) -> None:
    found = tally(operator, 8)
    assert not found.alarms
    assert found.schedules == 8
    assert found.moved >= 5
    assert found.equal == found.due >= 4


@pytest.mark.heavy
def test_with_fused_multiply_add_no_bits_are_due() -> None:
    found = tally("matmul", 6, mcpu="host")
    assert not found.alarms
    assert found.due == 0


@pytest.mark.heavy
def test_a_move_that_hides_a_reordered_sum_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted split that swaps the parts of every reduction and says nothing of it."""
    split = tvm_moves.TABLE["split"][1]

    def swapped(program: Program, place: Any, how: int) -> None:
        nest, at = place
        split(program, place, how)
        outer, inner = nest.loops[at : at + 2]
        if outer.kind == "R":
            program.schedule.reorder(inner.handle, outer.handle)
            nest.loops[at : at + 2] = [inner, outer]
            inner.key, outer.key = outer.key, inner.key

    monkeypatch.setitem(tvm_moves.TABLE, "split", (tvm_moves.TABLE["split"][0], swapped))
    found = tally("sum", 25)
    assert found.verdicts["schedule_variant"] >= 1
    assert all("schedule_variant" in alarm and "split input0_red k1" in alarm for alarm in found.alarms)


MISCOMPILED = {
    "2.0.5.13": {"out_of_bounds_write"},
    "13.0.15": {"nonfinite_mismatch", "wrong", "unstable"},
    "2.0.13": {"out_of_bounds_write"},
}
"""What docs/schedules.md shows. Where one of them fails, TVM has been repaired: drop the rule that avoids it."""


@pytest.mark.heavy
def test_miscompiled_schedules_are_seen(tmp_path: Path) -> None:
    targets = ",".join(f"tvm:llvm[unsafe_schedule={vector}]" for vector in MISCOMPILED)
    command = [sys.executable, "-m", "fuzz.cli", "run", "sum", "--dims", "rows=13,n=9", "--targets", targets]
    ran = subprocess.run(
        [*command, "--trials", "1", "--out", str(tmp_path / "run")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1, ran.stderr
    for row in results.open(tmp_path / "run").rows().to_pylist():
        assert row["verdict"] in MISCOMPILED[row["options"].removeprefix("unsafe_schedule=")], row["target"]


@pytest.mark.heavy
def test_a_vectorized_reduction_with_two_results_is_wrong() -> None:
    contract = OPERATORS["argmax"].contract
    problem = make_problem(
        contract, dims={"rows": 4, "n": 9}, home="float32", recipes=[parse_recipe("normal(0,1)", ("x",))]
    )
    target = parse_target("tvm:llvm[unsafe_schedule=3]", "float32")
    verdicts = {run_trial(Cell(problem, (target,)), 0, i, Session("quality")).rows[0]["verdict"] for i in range(4)}
    assert "wrong" in verdicts
