"""Schedules as further targets: drawn by seed, written down, run, and shown again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from running import Cli, rows_of

from fuzz.campaigns.manifest import manifest_of
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.errors import UserError
from fuzz.targets import parse_target

SOFTMAX = ProblemSpec("softmax", {"rows": 4, "n": 16})


def names(**changes: Any) -> list[tuple[str, ...]]:
    given = {"problems": (SOFTMAX,), "targets": ("numpy", "tvm"), "schedules": 3} | changes
    manifest = manifest_of(resolve(CampaignSpec(**given)), None)
    return [group.targets for group in manifest.groups]


pytest.importorskip("tvm")


def test_they_follow_the_targets_safe_ones_first() -> None:
    (targets,) = names(unsafe_schedules=2)
    assert targets[:2] == ("numpy:cpu", "tvm:llvm")
    assert [name.partition("=")[0] for name in targets[2:]] == 3 * ["tvm:llvm[schedule"] + 2 * [
        "tvm:llvm[unsafe_schedule"
    ]
    assert len(set(targets)) == 7


def test_samples_of_meta_schedule_stand_between() -> None:
    (targets,) = names(meta_schedules=2, unsafe_schedules=1)
    kinds = [name.partition("[")[2].partition("=")[0] for name in targets[2:]]
    assert kinds == 3 * ["schedule"] + 2 * ["meta_schedule"] + ["unsafe_schedule"]
    assert all(re.fullmatch(r"tvm:llvm\[meta_schedule=[0-9]{1,6}\]", name) for name in targets[5:7])
    (alone,) = names(targets=("tvm",), schedules=0, meta_schedules=5)
    assert alone[1:3] == targets[5:7]
    (other,) = names(targets=("tvm",), schedules=0, meta_schedules=5, seed=1)
    assert set(other[1:]).isdisjoint(alone[1:])


def test_they_depend_on_seed_problem_and_target_and_nothing_else() -> None:
    (one,) = names()
    assert names() == [one]
    assert names(schedules=5)[0][:3] == one[:3]
    assert set(names(seed=1)[0][2:]).isdisjoint(one[2:])
    other = names(problems=(ProblemSpec("softmax", {"rows": 4, "n": 17}),))[0]
    assert set(other[2:]).isdisjoint(one[2:])
    host = names(targets=("numpy", "tvm:llvm[mcpu=host]"))[0]
    assert all("mcpu=host,schedule=" in name for name in host[2:])


def test_a_target_with_a_schedule_gets_no_others() -> None:
    (targets,) = names(targets=("tvm", "tvm:llvm[schedule=2.1]"))
    assert targets[1] == "tvm:llvm[schedule=2.1]"
    assert len(targets) == 5
    (targets,) = names(targets=("tvm", "tvm:llvm[meta_schedule=3]"), meta_schedules=2)
    assert len(targets) == 7


def test_a_survey_draws_them_for_each_operator() -> None:
    one, other = names(problems=(ProblemSpec("softmax"), ProblemSpec("sum")), plan="survey", trials=4)
    assert len(one) == len(other) == 5
    assert set(one[2:]).isdisjoint(other[2:])


def test_pairs_stay_what_they_were() -> None:
    given = CampaignSpec((SOFTMAX,), targets=("numpy", "tvm"), pairs=(("numpy", "tvm"),), schedules=2)
    manifest = manifest_of(resolve(given), None)
    assert manifest.cells[0].pairs == (("numpy:cpu", "tvm:llvm"),)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schedules": -1}, "--schedules -1: use a whole number from 0 to"),
        ({"unsafe_schedules": 10**6}, "--unsafe-schedules 1000000"),
        ({"meta_schedules": -2}, "--meta-schedules -2: use a whole number from 0 to"),
        ({"targets": ("numpy",)}, "none of the targets has schedules"),
        ({"targets": ("numpy",), "schedules": 0, "meta_schedules": 1}, "--meta-schedules: none of the targets has"),
        ({"targets": ("tvm:llvm[schedule=2.1]",)}, "add tvm without one"),
    ],
)
def test_mistakes_are_said_in_one_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        names(**changes)
    assert "\n" not in str(error.value)


def test_a_typed_schedule_is_spelled_canonically() -> None:
    assert parse_target("tvm:llvm[schedule=0.0.0.02.1.0]", "float32").spelling("float32") == "tvm:llvm[schedule=2.1]"
    assert parse_target("tvm:llvm[schedule=0]", "float32").options == ()
    with pytest.raises(UserError, match=r"option schedule of target .* cannot read schedule 'fast'"):
        parse_target("tvm:llvm[schedule=fast]", "float32")


def test_a_typed_seed_is_spelled_canonically() -> None:
    assert parse_target("tvm:llvm[meta_schedule=007]", "float32").options == (("meta_schedule", "7"),)
    for text in ("-1", "1.5", "fast", "1000000", "\u0663"):
        with pytest.raises(UserError, match=r"cannot read meta_schedule .*: write a whole number from 0 to") as error:
            parse_target(f"tvm:llvm[meta_schedule={text}]", "float32")
        assert "\n" not in str(error.value)


@pytest.mark.heavy
def test_a_campaign_with_drawn(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    asked = ("softmax", "--dims", "rows=3,n=11", "--targets", "tvm", "--trials", 2)
    cli.ok("run", *asked, "--schedules", 3, "--meta-schedules", 3, "--out", "run")
    (cell,) = json.loads((tmp_path / "run/campaign.json").read_text())["cells"]
    rows = rows_of(tmp_path / "run")
    assert {row["target"] for row in rows.values()} == set(cell["targets"])
    assert {row["verdict"] for row in rows.values()} <= {"exact", "rounding"}
    kinds = [name.partition("[")[2].partition("=")[0] for name in cell["targets"]]
    assert kinds == ["", *3 * ["schedule"], *3 * ["meta_schedule"]]
    shown = cli("repro", "run", "1", "--source").stdout
    assert "@T.prim_func" in shown
    assert "outputs equal bit for bit" in shown
    for name in cell["targets"][1:]:
        assert f"{name}: " in shown
    for name in cell["targets"][4:]:
        assert re.search(rf"^{re.escape(name)}: .*decompose_reduction T_softmax_", shown, re.MULTILINE)


PLANTED = """
import time
from fuzz.backends import tvm_moves
from fuzz.extend import FunctionBackend, register

def nested(program, place, how):
    program.did("parallel", place[0].block)
    for loop in place[0].loops[:2]:
        program.schedule.parallel(loop.handle)

tvm_moves.TABLE["parallel"] = (tvm_moves.places_of_split, nested)
tvm_moves.TABLE["split"] = (tvm_moves.places_of_split, lambda *_: time.sleep(999))
register(FunctionBackend("planted"))
"""


@pytest.mark.long
@pytest.mark.heavy
def test_a_schedule_that_does_not_compile_or_takes_too_long_is_a_row(tmp_path: Path) -> None:
    """Nested parallel loops are refused by TVM's code generator, not when they are scheduled."""
    (tmp_path / "planted.py").write_text(PLANTED)
    targets = "tvm,tvm:llvm[schedule=2],tvm:llvm[schedule=4]"
    asked = ("matmul", "--dims", "M=3,K=9,N=3", "--targets", targets, "--extension", "planted.py", "--trials", 1)
    Cli(tmp_path).ok("run", *asked, "--compile-timeout", 10, "--out", "run")
    found = {row["options"]: row for row in rows_of(tmp_path / "run").values()}
    assert found[""]["verdict"] == "rounding"
    assert (found["schedule=2"]["verdict"], found["schedule=2"]["region"]) == ("timed_out", "in compile")
    assert found["schedule=4"]["verdict"] == "raised"
    assert "CompileError: TVM cannot compile this" in found["schedule=4"]["error"]
