"""Problems from a contract: valid, within budget, inside domains, varied, and simple first."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import strategies
from strategies import sizes
from strategies.contract import AttributeSpec, Contract, ContractError, Cost, DimSpec, Domain, Landmark, Spec
from strategies.expressions import parse_recipe
from strategies.families import FAMILIES, menu, recipes_of
from strategies.generation import EMPTY_ONE_IN, problems, shapes, values
from strategies.iid import independent
from strategies.precision import PRECISIONS
from strategies.problem import Problem, make_problem, problem_from_plain
from strategies.sampling import draw

HOMES = tuple(PRECISIONS)


def unary(domain: Domain, *landmarks: float, default: str = "normal(0,1)") -> Contract:
    spec = Spec("x", ("N",), domain, tuple(Landmark(at, "a test") for at in landmarks), default)
    return Contract("unary", "", (DimSpec("N"),), (spec,), (Spec("y", ("N",)),), Cost(((1.0, ("N",)),)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), home=st.sampled_from(HOMES))
def test_problems_serve_a_users_own_test(data: st.DataObject, home: str, batch_norm: Contract, empty_arrays) -> None:
    """Every problem is drawn without complaint, stays in its domains, and is read back from its JSON."""
    problem = data.draw(problems(batch_norm, home=home, budget=1e4))
    into = empty_arrays(batch_norm, problem)
    with np.errstate(all="raise"):
        draw(problem, batch_norm, 0, 0, into)
    assert not np.any(into["var"] < 0)
    assert all(np.isfinite(a).all() for a in into.values()) or "special" in str([str(r) for r in problem.recipes])
    assert sizes.work(batch_norm, dict(problem.dims)) <= 1e4
    assert problem.home == home
    assert problem_from_plain(problem.plain(), batch_norm) == problem


def test_independent_problems_visit_every_family_size_and_attribute(batch_norm: Contract) -> None:
    drawn = independent(problems(batch_norm), 3, 0, 600)
    dims = [dict(problem.dims) for problem in drawn]
    assert {d["C"] for d in dims} >= {*sizes.PLAIN_SIZES, 0}
    assert {d["N"] for d in dims} == {*sizes.BATCH_SIZES, 0}
    assert 0 not in {d["W"] for d in dims}
    assert {dict(problem.attributes)["eps"] for problem in drawn} == {1e-5, 1e-3, 0.0, 1e-12}
    assert {dict(problem.attributes)["training"] for problem in drawn} == {False, True}
    x = {problem.recipes[0] for problem in drawn}
    for name in FAMILIES:
        assert x & set(recipes_of(FAMILIES[name], batch_norm.input("x"), "float32")), name


def test_one_problem_in_many_is_empty(batch_norm: Contract) -> None:
    empty = sum(0 in d.values() for d in independent(shapes(batch_norm), 3, 0, 1500))
    assert abs(empty - 1500 / EMPTY_ONE_IN) < 5 * math.sqrt(1500 / EMPTY_ONE_IN)


def test_the_simplest_problem_has_size_one_defaults_everywhere(batch_norm: Contract) -> None:
    simplest = find(problems(batch_norm), lambda problem: True)
    assert dict(simplest.dims) == {"N": 1, "C": 1, "H": 1, "W": 1}
    assert dict(simplest.attributes) == {"eps": 1e-5, "training": False}
    assert [str(recipe) for recipe in simplest.recipes] == ["normal(0,1)"] * 2 + ["abs(normal(1,1))"] + [
        "normal(0,1)"
    ] * 2


def test_problems_shrink_to_what_matters(batch_norm: Contract) -> None:
    def fails(problem: Problem) -> bool:
        return dict(problem.dims)["C"] > 8 and str(problem.recipes[1]).startswith("offset")

    smallest = find(problems(batch_norm), fails, settings=settings(database=None, max_examples=5000))
    assert dict(smallest.dims) == {"N": 1, "C": 9, "H": 1, "W": 1}
    assert str(smallest.recipes[1]) == "offset(10,1)"
    assert str(smallest.recipes[0]) == "normal(0,1)"


def test_dims_may_be_fixed_and_families_chosen(matmul: Contract) -> None:
    dims = {"M": 5, "K": 6, "N": 7}
    drawn = independent(problems(matmul, dims=dims, families=("constant", "sparse")), 0, 0, 50)
    assert {problem.dims for problem in drawn} == {tuple(sorted(dims.items()))}
    kinds = Counter(recipe.kind for problem in drawn for recipe in problem.recipes)
    assert kinds.keys() == {"constant", "sparse"}


def test_attributes_may_be_fixed(batch_norm: Contract) -> None:
    """All of them: those not named keep their defaults."""
    drawn = independent(problems(batch_norm, attributes={"eps": 1}), 0, 0, 50)
    assert {problem.attributes for problem in drawn} == {(("eps", 1.0), ("training", False))}
    assert len({problem.dims for problem in drawn}) > 20
    dims = {"N": 1, "C": 2, "H": 3, "W": 4}
    drawn = independent(problems(batch_norm, dims=dims, attributes={}), 0, 0, 50)
    assert {problem.attributes for problem in drawn} == {(("eps", 1e-5), ("training", False))}
    assert {problem.dims for problem in drawn} == {tuple(sorted(dims.items()))}


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"home": "float8"}, "unknown dtype 'float8'"),
        ({"families": ("normall",)}, "unknown family 'normall'"),
        ({"attributes": {"epsilon": 1}}, "no attribute 'epsilon': its attributes are eps, training"),
        ({"attributes": {"eps": "small"}}, "attribute eps of batch_norm is 'small': use a number"),
    ],
)
def test_mistakes_are_told_at_once(batch_norm: Contract, choice: dict[str, object], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        problems(batch_norm, **choice)  # type: ignore[arg-type]


def test_families_that_all_leave_the_domain_are_refused() -> None:
    with pytest.raises(ContractError, match="add the family 'default'"):
        problems(unary(Domain(2.0, 3.0)), families=("normal",))


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(
    "domain",
    [
        Domain(),
        Domain(0.0),
        Domain(-1.0),
        Domain(1.0),
        Domain(-1.0, 1.0),
        Domain(-1.0, 0.1),
        Domain(high=-0.1),
        Domain(0.1, 0.7),
    ],
)
def test_no_family_leaves_a_domain(domain: Domain, home: str) -> None:
    spec = unary(domain, 0.25, 1.0, -1.0).inputs[0]
    families = menu(spec, home, tuple(FAMILIES))
    assert len(families) >= 2
    for recipe in (recipe for family in families for recipe in family):
        out = np.empty(500, home)
        recipe.draw(strategies.stream("a test", 0, 0, 0), [out])
        assert not np.any((out.astype(float) < domain.low) | (out.astype(float) > domain.high)), str(recipe)


def test_a_bounded_domain_is_tried_as_a_whole_with_ends_inside_it() -> None:
    texts = [str(r) for r in recipes_of(FAMILIES["uniform"], unary(Domain(-1.0, 0.1)).inputs[0], "float32")]
    below = float(np.nextafter(np.float32(0.1), np.float32(0)))
    assert texts == [f"uniform(-1,{below!r})", f"ramp(-1,{below!r})"]


def test_symmetric_magnitudes_become_positive_where_the_domain_is() -> None:
    texts = [str(r) for r in recipes_of(FAMILIES["magnitudes"], unary(Domain(0.0)).inputs[0], "float32")]
    assert all(text.startswith("loguniform(") for text in texts)
    assert len(texts) == 4


@pytest.mark.parametrize("home", HOMES)
def test_landmarks_are_approached_within_ulps(home: str) -> None:
    near, *around, on = recipes_of(FAMILIES["landmark"], unary(Domain(), 3.0).inputs[0], home)
    out = np.empty(1000, home)
    near.draw(strategies.stream("a test", 0, 0, 0), [out])
    assert np.all(np.abs(out.astype(float) - 3.0) <= 32 * 2.0 ** (2 - PRECISIONS[home].digits))
    assert len(set(out.tolist())) > 20
    if home != "float16":  # there, sixteen ulps are 1/64
        assert around[0].support(home) == (3 - 3 / 64, 3 + 3 / 64)
    assert str(on) == "constant(3)"


def test_menus_hold_no_recipe_twice(batch_norm: Contract) -> None:
    for spec in batch_norm.inputs:
        for family in menu(spec, "float32", tuple(FAMILIES)):
            assert len(set(family)) == len(family)


def test_attribute_values_are_of_one_type_and_start_with_the_default() -> None:
    assert values(AttributeSpec(1.0, "", usual=(1, 2), unusual=(0,))) == (1.0, 2.0, 0.0)
    assert values(AttributeSpec(True, "")) == (True, False)
    assert values(AttributeSpec("b", "", choices=("a", "b", "c"))) == ("b", "a", "c")


def test_the_budget_is_kept_by_shrinking_other_dims_before_long_reductions(matmul: Contract) -> None:
    clamped = sizes.within(matmul, {"M": 100, "K": 4096, "N": 64}, 2e6)
    assert clamped["K"] == 4096
    assert sizes.work(matmul, clamped) <= 2e6
    assert sizes.within(matmul, {"M": 100, "K": 4096, "N": 64}, 100.0) == {"M": 1, "K": 33, "N": 1}
    assert sizes.within(matmul, {"M": 1, "K": 1, "N": 1}, 0.0) == {"M": 1, "K": 1, "N": 1}
    small = {"M": 2, "K": 3, "N": 2}
    assert sizes.within(matmul, small, 2e6) == small


def test_work_counts_elements_where_an_operator_computes_nothing() -> None:
    contract = Contract("copy", "", (DimSpec("N"),), (Spec("x", ("N", 3)),), (Spec("y", ("N",)),), Cost(()))
    assert sizes.work(contract, {"N": 10}) == 40


def test_sizes_respect_a_minimum() -> None:
    assert sizes.menu(DimSpec("K", reduced=True, minimum=1000)) == (1000, 1024, 4096)
    assert sizes.menu(DimSpec("K", minimum=500)) == (500,)
    assert 0 not in sizes.menu(DimSpec("K"))


def test_a_kernel_lies_within_its_image() -> None:
    dims = (DimSpec("H", minimum=1), DimSpec("KH", minimum=1, sizes=(1, 3, 5), within="H"))
    contract = Contract(
        "a kernel",
        "",
        dims,
        (Spec("x", ("H",)), Spec("w", ("KH",))),
        (Spec("y", ("OH",)),),
        Cost(((1.0, ("H", "KH")),)),
    )
    drawn = [dict(p.dims) for p in independent(problems(contract, budget=100), 3, 0, 300)]
    assert all(1 <= d["KH"] <= d["H"] for d in drawn)
    assert {d["KH"] for d in drawn} >= {1, 3, 5}
    assert all(sizes.work(contract, d) <= 100 for d in drawn)
    recipes = [parse_recipe("normal(0,1)", (name,)) for name in ("x", "w")]
    with pytest.raises(ContractError, match=r"KH of a kernel is 5: use at most 4 \(H\)"):
        make_problem(contract, dims={"H": 4, "KH": 5}, home="float32", recipes=recipes)
