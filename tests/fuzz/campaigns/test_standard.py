"""`run all`, `--operators` and `--recipes standard`: every operator at default sizes on five kinds of inputs."""

from __future__ import annotations

import pytest
from running import Cli, rows_of

import fuzz.campaigns.standard
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.cli.app import invoke
from fuzz.errors import UserError
from fuzz.operators import OPERATORS
from strategies.expressions import parse_recipe
from strategies.precision import PRECISIONS
from strategies.standard import TRIALS, standard_dims, standard_inputs

STANDARD = ["--recipes", "standard"]


@pytest.mark.parametrize("home", PRECISIONS)
def test_every_operator_has_at_least_two_kinds_within_its_domains(home: str) -> None:
    for operator in OPERATORS.values():
        problems = standard_inputs(operator.contract, home)
        assert len(problems) >= 2
        assert [problem for i, problem in enumerate(problems) if problem in problems[:i]] == []
        for problem in problems:
            for spec in operator.contract.inputs:
                recipe = parse_recipe(problem[spec.name], (spec.name,))
                recipe.check(home, ())
                low, high = recipe.support(home)
                assert spec.domain.low <= low <= high <= spec.domain.high


def test_the_five_kinds() -> None:
    problems = standard_inputs(OPERATORS["exp"].contract, "float32")
    assert [problem["x"] for problem in problems] == [
        "normal(0,1)",
        "uniform(0,1)",
        "offset(1000,1)",
        "signed(loguniform(1e-09,1000))",
        "normal(0,30)",
    ]


def test_default_sizes_keep_the_contract() -> None:
    for operator in OPERATORS.values():
        dims = standard_dims(operator.contract)
        for dim in operator.contract.dims:
            assert dims[dim.name] >= dim.minimum
            assert not dim.within or dims[dim.name] <= dims[dim.within]
    assert standard_dims(OPERATORS["sum"].contract) == {"rows": 16, "n": 4096}
    assert standard_dims(OPERATORS["conv2d"].contract)["H"] == 16


def test_all_resolves_to_every_operator_and_dtype() -> None:
    spec = CampaignSpec((ProblemSpec("all"),), dtypes=("float32", "float16"), targets=("numpy",), recipes="standard")
    cells = resolve(spec).cells
    assert {(cell.problem.operator, cell.problem.home) for cell in cells} == {
        (name, home) for name in OPERATORS for home in ("float32", "float16")
    }
    assert 4 * len(OPERATORS) <= len(cells) / 2 <= 6 * len(OPERATORS)


def test_all_goes_with_a_survey() -> None:
    spec = fuzz.campaigns.standard.named(CampaignSpec((ProblemSpec("all"),), plan="survey"))
    assert [problem.operator for problem in spec.problems] == list(OPERATORS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["all"], "'all' needs sizes and inputs: add --recipes standard, or --plan survey"),
        (["all", "sum", *STANDARD], "'all' stands for every operator: name it alone"),
        (["all", "--dims", "n=3", *STANDARD], "belong to one operator: leave them out with 'all'"),
        (["sum", "--recipes", "standart"], "unknown recipe set 'standart': did you mean 'standard'?"),
        (["sum", "--input", "x=normal(0,1)", *STANDARD], "use one of the two"),
        (["sum", "--plan", "survey", *STANDARD], "the plan survey draws its recipes itself"),
        (["c.toml", *STANDARD], "--recipes goes with operators"),
        (["--operators", "summ", *STANDARD], "unknown operator 'summ': did you mean 'sum'?"),
    ],
)
def test_bad_combinations_are_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["run", *arguments, "--targets", "numpy"]) == 2
    out, message = capsys.readouterr()
    assert not out
    assert says in message
    assert message.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_dims_may_be_given(tmp_path) -> None:
    spec = CampaignSpec((ProblemSpec("sum", {"rows": 2, "n": 3}),), targets=("numpy",), recipes="standard")
    assert {cell.problem.dims for cell in resolve(spec).cells} == {(("n", 3), ("rows", 2))}
    with pytest.raises(UserError):
        resolve(CampaignSpec((ProblemSpec("sum", {"rows": 2}),), targets=("numpy",), recipes="standard"))


def test_a_campaign_of_some_operators(ulpfuzz: Cli) -> None:
    chosen = ("--operators", "exp,log", "conv1d", *STANDARD)
    ran = ulpfuzz.ok("run", *chosen, "--targets", "numpy", "--dtype", "float32", "--dtype", "float16", "--out", "c")
    rows = rows_of(ulpfuzz.folder / "c").values()
    assert {(row["operator"], row["dtype"]) for row in rows} == {
        (name, dtype) for name in ("exp", "log", "conv1d") for dtype in ("float32", "float16")
    }
    assert len(rows) == 2 * (5 + 5 + 5) * TRIALS
    assert "Within rounding in float16" in ran.stdout
    assert ran.stdout.strip().splitlines()[-1].endswith("outputs of targets judged.")
