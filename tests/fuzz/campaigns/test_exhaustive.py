"""The plan `exhaustive`: what it runs, in which order, what it refuses; a planted wrong number is in its table."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from running import Cli, differing, rows_of

import results
from fuzz.campaigns import exhaustive
from fuzz.campaigns.agenda import Agenda
from fuzz.campaigns.campaign import Campaign
from fuzz.campaigns.manifest import Manifest, manifest_from_plain, manifest_of
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.errors import UserError
from fuzz.operators import OPERATORS
from results.errors import FailOnError, InvalidRate

WRONG_BITS = 0xC37F
"""float16: -3.748..., the one input at which the planted kernel errs."""
PLANTED = f"""
import numpy as np
from fuzz.extend import FunctionBackend, register

made = FunctionBackend("planted")

@made.operator("exp", dtypes=("float16", "float32"))
def exp(x):
    with np.errstate(all="ignore"):
        y = np.exp(x.astype(np.float64)).astype(x.dtype)
    if x.dtype == np.float16:
        y[x.view(np.uint16) == {WRONG_BITS}] *= np.float16(1.01)
    else:
        y[x.view(np.uint32) == 0xC0000001] = np.nan
    return y

register(made)
"""


def asked(*operators: str, **spec: object) -> CampaignSpec:
    given = {"dtypes": ("float16",), "targets": ("numpy",), "plan": "exhaustive"} | spec
    return CampaignSpec(problems=tuple(map(ProblemSpec, operators)), **given)  # type: ignore[arg-type]


def manifest(*operators: str, **spec: object) -> Manifest:
    return manifest_of(resolve(asked(*operators, **spec)), 64)


def test_a_16_bit_format_is_one_trial_and_float32_as_many_as_it_has_blocks() -> None:
    narrow = manifest("exp", "log", dtypes=("float16", "bfloat16"))
    assert (narrow.trials, narrow.total) == (1, 4)
    assert [(c.problem["operator"], c.problem["home"]) for c in narrow.cells] == [
        ("exp", "float16"), ("exp", "bfloat16"), ("log", "float16"), ("log", "bfloat16"),
    ]  # fmt: skip
    assert {json.dumps(c.problem["recipes"]) for c in narrow.cells} == {
        '[{"fills": ["x"], "kind": "bits", "start": 0}]'
    }
    wide = manifest("exp", dtypes=("float32",))
    assert (wide.trials, wide.cells[0].problem["dims"]) == (2**32 // exhaustive.BLOCK, {"n": exhaustive.BLOCK})
    assert manifest("exp", dtypes=("float32",), trials=100).trials == 100
    assert manifest("exp", trials=100).trials == 1
    assert manifest("exp", dtypes=("float32",), time="1h").trials == 2**15
    assert manifest_from_plain(wide.plain()) == wide


def test_one_problem_is_finished_before_the_next_is_compiled() -> None:
    agenda = Agenda(manifest("exp", "log", dtypes=("float32",), trials=256))
    shards = [agenda.shard(number) for number in agenda.numbers()]
    assert [shard.at(0)[0].cell.problem.operator for shard in shards] == ["exp"] * 4 + ["log"] * 4
    assert [shard.trials for shard in shards] == [64] * 8
    cell, index = agenda.find(f"{shards[4].at(0)[0].cell.problem.id[:8]}-200")
    assert (cell.problem.operator, index) == ("log", 200)


def test_shards_of_float32_are_worth_a_file(tmp_path: Path) -> None:
    resolved = resolve(asked("exp", dtypes=("float32",)))
    campaign = Campaign.create(resolved, tmp_path / "c", ())
    assert campaign.manifest.shard_trials == exhaustive.SHARD_NUMBERS // exhaustive.BLOCK
    assert campaign.agenda.blocks == 256


def test_all_stands_for_every_function_of_one_number() -> None:
    names = {str(cell.problem["operator"]) for cell in manifest("all").cells}
    assert {"exp", "relu", "clip", "lgamma", "gelu"} <= names
    assert not names & {"add", "sum", "softmax", "cumsum", "batch_norm", "argmax"}
    assert len(names) == sum(exhaustive.elementwise(known.contract) for known in OPERATORS.values())
    assert len(names) >= 30


def test_attributes_are_the_users() -> None:
    spec = CampaignSpec(
        problems=(ProblemSpec("elu", attributes={"alpha": 0.5}),),
        plan="exhaustive",
        dtypes=("bfloat16",),
        targets=("torch",),
    )
    assert manifest_of(resolve(spec), 1).cells[0].problem["attributes"] == {"alpha": 0.5}


@pytest.mark.parametrize(
    ("operators", "spec", "message"),
    [
        (("softmax",), {}, "softmax is no function of one number"),
        (("add",), {}, "add is no function of one number"),
        (("exp",), {"dtypes": ("float64",)}, "float64 has more numbers than can be run: an exhaustive plan takes bfl"),
        (("exp",), {"dtypes": ("float16", "float32")}, "start a campaign for each"),
        (("exp",), {"recipes": "standard"}, "leave out recipes"),
        (("exp",), {"until": "decided"}, "leave out until"),
        (("exp", "all"), {}, "unknown operator 'all'"),
    ],
)
def test_what_makes_no_sense_is_refused(operators: tuple[str, ...], spec: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        resolve(asked(*operators, **spec))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (ProblemSpec("exp", {"n": 3}), "chooses dims and inputs itself"),
        (ProblemSpec("exp", {}, {}, {"x": "normal(0,1)"}), "chooses dims and inputs itself"),
        (ProblemSpec("all", {}, {"alpha": 1}), "--attr belongs to one operator"),
    ],
)
def test_dims_and_inputs_are_those_of_the_plan(problem: ProblemSpec, message: str) -> None:
    with pytest.raises(UserError, match=message):
        resolve(CampaignSpec(problems=(problem,), plan="exhaustive", dtypes=("float16",), targets=("numpy",)))


def test_a_rule_about_rates_is_refused() -> None:
    with pytest.raises(FailOnError, match="exhaustive"):
        resolve(asked("exp", fail_on="rate>0.1"))


def test_one_wrong_number_is_in_the_table(ulpfuzz: Cli, tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(PLANTED)
    run = ("run", "exp", "--plan", "exhaustive", "--dtype", "float16", "--extension", "planted.py")
    ran = ulpfuzz.ok(*run, "--targets", "planted,numpy", "--out", "a")
    assert "Accuracy in float16, every one of its 65,536 numbers" in ran.stdout
    shown = ulpfuzz.ok("table", "a", "--markdown", "a.md", "--csv", "a.csv").stdout
    x = float(np.array([WRONG_BITS], np.uint16).view(np.float16)[0])
    line = next(line for line in shown.splitlines() if "planted:cpu" in line)
    assert f"{x:.5g}" in line
    assert "99.99 %" in line
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = {row["target"]: row for row in csv.DictReader(file)}
    row = rows["planted:cpu"]
    assert float.fromhex(row["x_hex"]) == float(row["x"]) == x
    assert (row["correctly_rounded"], row["inputs"], row["of_inputs"]) == ("65535", "65536", "65536")
    assert float(row["ulp_max"]) > 5
    assert "planted:cpu" in (tmp_path / "a.md").read_text()
    again = ulpfuzz.ok("repro", "a", "0").stdout
    assert "inputs equal the campaign's bit for bit; outputs equal bit for bit" in again
    with pytest.raises(InvalidRate, match="it ran every input there is"):
        results.rate(results.open(tmp_path / "a"), "flagged > 0")


def test_a_part_of_float32_is_resumed_in_the_middle(ulpfuzz: Cli, tmp_path: Path) -> None:
    """0xC0000001 is the second number of block 0xC000, which is the fourth to run: 0b11 reversed."""
    (tmp_path / "planted.py").write_text(PLANTED)
    run = ("run", "exp", "--plan", "exhaustive", "--targets", "planted", "--extension", "planted.py", "--trials", 6)
    ulpfuzz.ok(*run, "--shard-trials", 2, "--out", "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "parts" / "00000001.parquet").unlink()
    shown = ulpfuzz.ok("table", "b").stdout
    assert "some of its 4,294,967,296 numbers" in shown
    line = next(line for line in shown.splitlines() if "planted:cpu" in line)
    assert line.split()[-1] == "0"
    assert "0.01 %" in line  # four blocks of 2^17
    ulpfuzz.ok("resume", "b")
    assert not differing(rows_of(tmp_path / "a"), rows_of(tmp_path / "b"))
    mismatched = [row for row in rows_of(tmp_path / "b").values() if row["nonfinite_mismatch"]]
    assert [(row["index"], row["nonfinite_input"]) for row in mismatched] == [(3, -2.000000238418579)]
    assert not (tmp_path / "b" / "problems").exists()


@pytest.mark.long
def test_the_table_says_what_is_wrong_with_its_directories(ulpfuzz: Cli) -> None:
    ulpfuzz.ok("run", "exp", "--dims", "n=4", "--targets", "numpy", "--trials", 1, "--out", "f")
    for arguments, message in (
        (("f",), "f: no campaign over all numbers of a format: start one with `ulpfuzz run exp --plan exhaustive"),
        (("f", "f"), "f is named twice"),
        (("nowhere",), "nowhere"),
    ):
        ran = ulpfuzz("table", *arguments)
        assert ran.returncode == 2
        assert message in ran.stderr
    ran = ulpfuzz("run", "exp", "--plan", "exhaustive", "--dtype", "float16", "--targets", "numpy", "--out", "g")
    ran = ulpfuzz("table", "g", "--csv", "no/such/folder.csv")
    assert ran.returncode == 3
    assert "no/such/folder.csv cannot be written" in ran.stderr
