"""Options as further targets: which there are for an operator, how they are drawn, what a campaign makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from running import Cli, rows_of

from fuzz.backends import BACKENDS
from fuzz.backends.base import OptionSpec
from fuzz.campaigns.manifest import manifest_of
from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.errors import UserError
from fuzz.extend import FunctionBackend, register
from fuzz.options import drawn, table, targets_of
from fuzz.schedules import check_drawn
from fuzz.targets import parse_target
from strategies import independent

ROOT = Path(__file__).parents[2]
SUM = ProblemSpec("sum", {"rows": 3, "n": 5})


def names(**changes: Any) -> tuple[str, ...]:
    given = {"problems": (SUM,), "targets": ("numpy",), "options": 3} | changes
    (group,) = manifest_of(resolve(CampaignSpec(**given)), None).groups
    return group.targets


def options_of(text: str, operator: str) -> set[str]:
    return set(table(parse_target(text, "float32"), operator))


def test_only_options_that_may_matter_are_drawn() -> None:
    assert options_of("numpy", "sum") == {"order", "reduce_axis"}
    assert options_of("numpy", "exp") == set()
    assert options_of("numpy", "matmul") == {"order"}
    assert options_of("torch", "exp") == {"threads", "mkldnn"}
    assert options_of("torch", "conv2d") == {"threads", "mkldnn", "memory_format", "matmul_precision"}
    assert options_of("torch:cpu[impl=einsum]", "matmul") == {"threads", "mkldnn", "opt_einsum", "matmul_precision"}
    assert options_of("jax:cpu[mode=eager]", "dense") == {"precision", "batch"}
    assert options_of("tvm", "exp") == {"mcpu", "fma", "fast_math"}
    assert options_of("scipy", "conv2d") == set()


def test_what_needs_a_compiler_or_is_a_schedule_has_to_be_named() -> None:
    by_name = {(b, o.name) for b, found in BACKENDS.items() for o in found.options if len(o.values) < 2}
    assert by_name == {("torch", "compile"), ("tvm", "schedule"), ("tvm", "unsafe_schedule"), ("tvm", "meta_schedule")}


def test_settings_differ_and_none_is_the_default() -> None:
    found = names()
    assert found[0] == "numpy:cpu"
    assert len(set(found)) == len(found) == 4


def test_there_are_no_more_than_all_settings() -> None:
    assert len(names(options=50)) == 6  # two orders, three places of the axis
    assert names(problems=(ProblemSpec("matmul", {"M": 2, "K": 2, "N": 2}),), options=50)[1:] == ("numpy:cpu[order=F]",)


def test_they_depend_on_seed_target_and_problem_and_nothing_else() -> None:
    five = names(targets=("tvm",), options=5)
    assert names(targets=("tvm",), options=5) == five
    assert names(targets=("numpy", "tvm"), options=5)[-5:] == five[1:]
    others = {names(targets=("tvm",), options=5, seed=seed) for seed in range(1, 4)}
    assert five not in others
    longer = ProblemSpec("sum", {"rows": 3, "n": 6})
    assert names(targets=("tvm",), options=5, problems=(longer,)) != five


def test_a_typed_setting_is_kept_and_not_drawn_again() -> None:
    found = names(targets=("numpy", "numpy:cpu[order=F]"), options=50)
    assert len(set(found)) == len(found) == 6
    assert all("order=F" in name for name in names(targets=("numpy:cpu[order=F]",), options=50))


def test_schedules_come_behind_options() -> None:
    found = names(targets=("tvm",), options=2, schedules=2, unsafe_schedules=1)
    assert ["unsafe_schedule=" in name for name in found] == 5 * [False] + [True]
    assert ["schedule=" in name for name in found] == 3 * [False] + 3 * [True]


def test_a_survey_draws_them_for_each_operator() -> None:
    given = CampaignSpec(
        (ProblemSpec("sum"), ProblemSpec("exp")), plan="survey", targets=("numpy",), options=2, trials=4
    )
    assert [len(group.targets) for group in manifest_of(resolve(given), None).groups] == [3, 1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"options": -1}, "--options -1: use a whole number from 0 to"),
        ({"targets": ("scipy",)}, "--options: scipy has no options for these operators: see `ulpfuzz list options`"),
    ],
)
def test_mistakes_are_said_in_one_line(changes: dict[str, Any], words: str) -> None:
    spec = CampaignSpec(**({"problems": (SUM,), "options": 3} | changes))
    with pytest.raises(UserError, match=words) as error:
        check_drawn(spec, [parse_target(text, "float32") for text in spec.targets])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["torch[mkldnn=off,mkldnn=on]", "numpy[order=F,order=C]", "torch[threads=2,threads=3]"]
)
def test_an_option_has_one_value(text: str) -> None:
    with pytest.raises(UserError, match="has two values: remove one"):
        parse_target(text, "float32")


def test_the_strategy_reaches_every_setting() -> None:
    target = parse_target("numpy", "float32")
    found = set(independent(targets_of(target, "sum"), 1, 0, 200))
    assert found == {target, *drawn(target, "sum", 50, 0, {})}


def test_an_option_that_is_not_set_in_calls_is_refused() -> None:
    class Fixed(FunctionBackend):
        options = (OptionSpec("blas", "one", "", ("one", "other"), scope="process"),)

    with pytest.raises(UserError, match="option blas of backend 'fixed' has scope 'process'"):
        register(Fixed("fixed"))
    assert "fixed" not in BACKENDS


def test_the_page_lists_every_option() -> None:
    """docs/options.md has one line for each, with its values and what --options draws."""
    page = (ROOT / "docs/options.md").read_text(encoding="utf-8")
    for backend in BACKENDS.values():
        for option in backend.options:
            values = ", ".join(f"`{value}`" for value in option.choices) or f"e.g. `{option.example}`"
            random = ", ".join(option.values) if len(option.values) > 1 else "by name only"
            assert f"| {backend.name} | `{option.name}` | {values} | {random} | {option.doc} |\n" in page
    lines = [line for line in page.splitlines() if line.startswith(tuple(f"| {name} |" for name in BACKENDS))]
    assert len(lines) == sum(len(backend.options) for backend in BACKENDS.values())


@pytest.mark.heavy
def test_a_campaign_with_options(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    asked = ("sum", "--dims", "rows=3,n=40", "--targets", "numpy,jax", "--options", 3, "--trials", 2)
    cli.ok("run", *asked, "--out", "run")
    (cell,) = json.loads((tmp_path / "run/campaign.json").read_text())["cells"]
    rows = rows_of(tmp_path / "run")
    assert {row["target"] for row in rows.values()} == set(cell["targets"])
    assert {row["verdict"] for row in rows.values()} <= {"exact", "rounding"}
