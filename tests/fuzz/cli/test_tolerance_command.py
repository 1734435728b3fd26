"""`ulpfuzz tolerance`, on rows of a campaign in this process and by the command line's errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuzz.cli.app import invoke
from fuzz.operators import OPERATORS
from fuzz.targets import parse_target
from fuzz.trial import Cell, Session, run_trial
from results.columns import ALLOWANCES, allowance_column
from results.reading import open as open_results
from results.statistics.proportions import one_sided_lower
from results.store import Store
from strategies import make_problem, parse_recipe


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 trials of a sum of cancelling terms."""
    folder = tmp_path_factory.mktemp("tolerance") / "campaign"
    folder.mkdir()
    (folder / "campaign.json").write_text(json.dumps({"format": "ulpfuzz campaign", "plan": "fixed"}))
    recipes = [parse_recipe("normal(0,1)", ("x",))]
    problem = make_problem(OPERATORS["sum"].contract, dims={"rows": 4, "n": 50}, home="float32", recipes=recipes)
    targets = (parse_target("numpy", "float32"), parse_target("numpy", "float64"))
    cell, session = Cell(problem, targets), Session("test")
    Store(folder).commit(0, [row for i in range(300) for row in run_trial(cell, 0, i, session).rows])
    return folder


def test_engine_rows_hold_what_each_trial_needs(directory: Path) -> None:
    rows = open_results(directory).sql("select * from trials where dtype = 'float32'").to_pylist()
    for row in rows[:50]:
        needed = [row["abs_max"], *(row[allowance_column(k)] for k in ALLOWANCES)]
        assert needed == sorted(needed, reverse=True)
        assert row["truth_mean"] > 0
        below = next((k for k in ALLOWANCES if k * 2.0**-24 >= row["rel_max"]), None)
        assert below is None or row[allowance_column(below)] == 0


def test_the_pair_is_printed_ready_to_copy(directory: Path, capsys: Any) -> None:
    assert invoke(["tolerance", str(directory), "--flake", "1e-2"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("Tolerances with a flake rate of 0.01 or less: 2 of 2\n")
    call = re.search(r"numpy\.testing\.assert_allclose\(got, want, rtol=(\S+), atol=(\S+)\)  # sum float32", said.out)
    assert call
    assert float(call[1]) < 1e-5
    assert 0 < float(call[2]) < 1e-4


def test_the_pair_passes_on_fresh_trials(directory: Path, capsys: Any) -> None:
    assert invoke(["tolerance", str(directory), "--flake", "1e-2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    pair = next(one for one in found["tolerances"] if one["dtype"] == "float32")
    assert (pair["keeps_flake"], pair["basis"], pair["trials"], pair["targets"]) == (
        True,
        "counted",
        300,
        ["numpy:cpu"],
    )
    rng, failed = np.random.default_rng(1), 0
    for _ in range(1000):
        x = rng.standard_normal((4, 50)).astype(np.float32)
        truth = x.astype(np.float64).sum(axis=-1)
        failed += not np.allclose(x.sum(axis=-1), truth, rtol=pair["rtol"], atol=pair["atol"])
    assert one_sided_lower(failed, 1000, 0.999) <= 1e-2


def test_what_is_not_promised_is_said(directory: Path, capsys: Any) -> None:
    assert invoke(["tolerance", str(directory)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "a flake rate of 1e-06 is not promised: 300 trials are too few to extrapolate, which takes 1,000" in said
    assert "2,995,731 trials of a problem would promise 1e-06 without extrapolation" in said


@pytest.mark.parametrize("flake", ["0", "1", "-1e-3", "nan", "7"])
def test_a_flake_rate_that_is_none(directory: Path, capsys: Any, flake: str) -> None:
    assert invoke(["tolerance", str(directory), "--flake", flake]) == 2
    assert re.fullmatch(r"ulpfuzz: --flake \S+: give a probability between 0 and 1, .*\n", capsys.readouterr().err)


def test_what_is_no_campaign(tmp_path: Path, capsys: Any) -> None:
    assert invoke(["tolerance", str(tmp_path / "nothing")]) == 2
    (tmp_path / "campaign.json").write_text(json.dumps({"format": "ulpfuzz campaign", "plan": "fixed"}))
    assert invoke(["tolerance", str(tmp_path)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert "there is no directory" in told[0]
    assert "holds no finished trials yet" in told[1]


def test_a_plan_that_supports_none(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "campaign.json").write_text(json.dumps({"format": "ulpfuzz campaign", "plan": "search"}))
    Store(tmp_path).commit(0, [{"problem_id": "p", "index": 0, "target": "numpy:cpu", "against": "truth"}])
    assert invoke(["tolerance", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("ulpfuzz: no tolerance can be read off this campaign (plan search): its ")
