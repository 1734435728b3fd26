"""Surveys draw from the population that is documented, independently: the short form of benchmarks/independence.py."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from fuzz.operators import OPERATORS
from strategies import POPULATION, independent, problems
from strategies.choices import Way, chances, choices
from strategies.contract import ContractError

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture(scope="module")
def benchmark():
    sys.path.append(BENCHMARKS)
    yield importlib.import_module("independence")
    sys.path.remove(BENCHMARKS)


def test_fields_are_drawn_as_the_menus_say_and_neighbours_are_independent(benchmark) -> None:
    done = [c for name, draws in (("elu", 1000), ("layer_norm", 1000)) for c in benchmark.checks(name, 0, draws)]
    assert {check.what for check in done} >= {
        "dims",
        "attribute eps",
        "attribute alpha",
        "recipe of x",
        "recipe of gamma",
        "families of x, neighbours",
        "joint recipes",
        "work, lag 1",
        "a drawn element",
    }
    assert benchmark.holm(done) >= benchmark.LEVEL, sorted((check.p, check) for check in done)[0]


@pytest.mark.parametrize("fault", ["bent", "sticky", "stranger"])
def test_the_checks_see_what_they_are_for(benchmark, fault: str) -> None:
    """A field with one value twice as likely; one that repeats every fourth time; one that is not in the menu."""
    random = benchmark.np.random.default_rng(0)
    fair = random.integers(0, 10, 2000).tolist()
    expected = dict.fromkeys(range(10), 0.1)
    assert benchmark.chi_square(fair, expected)[1] > 0.01
    assert benchmark.pairs(fair)[1] > 0.01
    assert benchmark.lag(fair)[1] > 0.01
    assert benchmark.kolmogorov(random.random(2000))[1] > 0.01
    if fault == "bent":
        assert benchmark.chi_square([0 if x == 9 and i % 2 else x for i, x in enumerate(fair)], expected)[1] < 1e-6
        assert benchmark.kolmogorov(random.random(2000) ** 1.2)[1] < 1e-6
    elif fault == "sticky":
        sticky = [fair[i - 1] if i % 4 == 1 else x for i, x in enumerate(fair)]
        assert benchmark.pairs(sticky)[1] < 1e-6
        assert benchmark.lag(sticky)[1] < 1e-6
    else:
        assert benchmark.chi_square([*fair, 10], expected)[1] == 0


def test_merging_rare_cells_does_not_bend_the_test(benchmark) -> None:
    """The p-value of what is drawn as expected is about uniform."""
    random = benchmark.np.random.default_rng(1)
    weights = benchmark.np.arange(1, 101) / 5050
    expected = dict(enumerate(weights))
    ps = [benchmark.chi_square(random.choice(100, 300, p=weights).tolist(), expected)[1] for _ in range(300)]
    assert benchmark.stats.kstest(ps, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("home", ["float32", "bfloat16"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_problems_of_every_way(operator: str, home: str) -> None:
    """Chances add up to one; what is drawn is among them; several inputs go together as often as said."""
    contract = OPERATORS[operator].contract
    offered = choices(contract, home)
    listed = chances(offered)
    assert all(sum(chance.values()) == pytest.approx(1) for chance in listed)
    if len(contract.inputs) > 1:
        assert offered.ways[:3] == (Way.APART, Way.APART, Way.TOGETHER)
        assert {"offset", "tiny", "huge"} <= set(offered.together)
        assert bool(offered.joint) == (Way.JOINT in offered.ways)
    else:
        assert set(offered.ways) == {Way.APART}
    for problem in independent(problems(contract, home=home), 1, 0, 12):
        for recipe in problem.recipes:
            assert all(recipe in listed[offered.inputs.index(name)] for name in recipe.fills)


def test_joint_families_follow_from_shapes_and_domains() -> None:
    def pairs_of(operator: str) -> dict[str, set[str]]:
        joint = choices(OPERATORS[operator].contract, "float32").joint
        return {family: {",".join(recipe.fills) for recipe in recipes} for family, recipes in joint.items()}

    assert pairs_of("tanh") == {}
    assert pairs_of("divide") == {"opposite": {"x,y"}, "alike": {"x,y"}, "quotients": {"x,y"}}
    assert pairs_of("matmul") == {"terms": {"a,b"}}
    assert pairs_of("conv2d") == {"terms": {"x,w"}}
    assert pairs_of("dense")["terms"] == {"x,w"}
    assert pairs_of("rms_norm") == {"opposite": {"x,gamma"}, "alike": {"x,gamma"}}
    batch_norm = pairs_of("batch_norm")
    assert {"x,mean", "x,var", "mean,var", "gamma,beta"} <= batch_norm["alike"]
    assert "var" not in {pair.split(",")[0] for pair in batch_norm["opposite"]}  # minus a positive number


def test_families_of_one_input_do_not_suffice_for_two() -> None:
    with pytest.raises(ContractError, match="add a family for the others"):
        problems(OPERATORS["add"].contract, families=("alike",))
    drawn = independent(problems(OPERATORS["add"].contract, families=("default", "alike")), 0, 0, 200)
    assert {recipe.kind for problem in drawn for recipe in problem.recipes} == {"normal", "alike"}


def test_several_homes() -> None:
    contract = OPERATORS["matmul"].contract
    drawn = independent(problems(contract, home=("float32", "bfloat16")), 0, 0, 200)
    assert {problem.home for problem in drawn} == {"float32", "bfloat16"}
    with pytest.raises(ContractError, match="name at least one"):
        problems(contract, home=())
    with pytest.raises(ContractError, match="unknown dtype 'float8'"):
        problems(contract, home=("float32", "float8"))


def test_a_strategy_may_draw_the_home() -> None:
    from hypothesis import strategies as st

    contract = OPERATORS["tanh"].contract
    drawn = independent(problems(contract, home=st.sampled_from(["float16", "float64"])), 0, 0, 60)
    assert {problem.home for problem in drawn} == {"float16", "float64"}
    with pytest.raises(ContractError, match="unknown dtype 'float8'"):
        independent(problems(contract, home=st.just("float8")), 0, 0, 3)


def test_the_population_has_a_name() -> None:
    assert POPULATION == "problems-2"
