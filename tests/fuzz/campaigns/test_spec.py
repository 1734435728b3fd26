"""Requests, resolved: what a campaign file means, and that a manifest survives its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz.campaigns.manifest import manifest_from_plain, manifest_of
from fuzz.campaigns.request import CampaignSpec, ProblemSpec, Published
from fuzz.campaigns.spec import read_toml, resolve
from fuzz.errors import UserError

FILE = """
title = "both"
plan = "fixed"
trials = 7
seed = 3
dtype = "float64"
targets = ["numpy", "jax[mode=eager]"]
pairs = [["numpy", "jax"]]
extensions = ["mine.py", "../other.py"]

[published]
rate = "3/70"
pair = ["numpy", "jax"]
above = 2

[[problem]]
operator = "softmax"
dims = {rows = 2, n = 5}
attributes = {axis = 0}
inputs = {x = "offset(1e3)"}
"""


def test_a_campaign_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(FILE)
    spec, extensions = read_toml(tmp_path / "c.toml")
    assert spec == CampaignSpec(
        title="both",
        trials=7,
        seed=3,
        dtypes=("float64",),
        targets=("numpy", "jax[mode=eager]"),
        pairs=(("numpy", "jax"),),
        published=Published("3/70", ("numpy", "jax"), 2),
        problems=(ProblemSpec("softmax", {"rows": 2, "n": 5}, {"axis": 0}, {"x": "offset(1e3)"}),),
    )
    assert extensions == (tmp_path / "mine.py", tmp_path / "../other.py")


@pytest.mark.parametrize("plan", ["fixed", "survey"])
def test_a_manifest_is_the_same_after_json(plan: str) -> None:
    problem = ProblemSpec("exp", {"n": 3}) if plan == "fixed" else ProblemSpec("exp")
    spec = CampaignSpec(
        problems=(problem,),
        plan=plan,
        dtypes=("float32", "float64"),
        targets=("numpy", "numpy[impl=exp]"),
        pairs=(("numpy[impl=exp]", "numpy"),),
        published=Published("0/3", ("numpy[impl=exp]", "numpy")),
    )
    resolved = resolve(spec)
    manifest = manifest_of(resolved, 5)
    again = manifest_from_plain(json.loads(json.dumps(manifest.plain())))
    assert again == manifest
    assert again.total == 2000
    assert again.backends == ("numpy",)
    assert again.published_event is not None
    assert again.published_event.pair == ("numpy:cpu[impl=exp]", "numpy:cpu")
    assert tuple(record.cell() for record in again.cells) == resolved.cells
    assert len({record.seed(0) for record in again.survey}) == len(again.survey)


def test_one_cell_a_problem_and_dtype() -> None:
    problems = tuple(ProblemSpec("exp", {"n": n}) for n in (3, 0))
    cells = resolve(CampaignSpec(problems=problems, dtypes=("float32", "float64"), targets=("numpy",))).cells
    assert [(dict(c.problem.dims)["n"], c.problem.home) for c in cells] == [
        (3, "float32"),
        (3, "float64"),
        (0, "float32"),
        (0, "float64"),
    ]


def test_home_is_the_narrowest_dtype() -> None:
    spec = CampaignSpec(
        problems=(ProblemSpec("exp", {"n": 3}),), dtypes=("float64",), targets=("numpy[dtype=float32]", "numpy")
    )
    (cell,) = resolve(spec).cells
    assert cell.problem.home == "float32"
    assert [target.spelling("float32") for target in cell.targets] == ["numpy:cpu", "numpy:cpu[dtype=float64]"]


def test_the_same_rows_twice_are_refused() -> None:
    """Both dtypes end in float64 cells of one problem."""
    spec = CampaignSpec(
        problems=(ProblemSpec("exp", {"n": 3}),), dtypes=("float32", "float64"), targets=("numpy[dtype=float64]",)
    )
    with pytest.raises(UserError, match="asked for twice"):
        resolve(spec)


def test_one_recipe_may_fill_two_inputs(tmp_path: Path) -> None:
    """As typed or as a key of a file; an unknown name is named."""
    (tmp_path / "c.toml").write_text(
        '[[problem]]\noperator = "divide"\ndims = {n = 9}\ninputs = {"x, y" = "quotient_ties(15)"}\n'
    )
    typed = ProblemSpec("divide", {"n": 9}, {}, {"x,y": "quotient_ties(15)"})
    spec, _ = read_toml(tmp_path / "c.toml")
    for problems in (spec.problems, (typed,)):
        (cell,) = resolve(CampaignSpec(problems, targets=("numpy",))).cells
        assert [recipe.fills for recipe in cell.problem.recipes] == [("x", "y")]
    with pytest.raises(UserError, match="'z'"):
        resolve(CampaignSpec((ProblemSpec("divide", {"n": 9}, {}, {"x,z": "quotient_ties(15)"}),), targets=("numpy",)))
