"""Numbers tied to each other: pairs, neighbours, terms; rows with one element; matrices of given condition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from strategies.contract import ContractError, Shape
from strategies.expressions import RecipeError, parse_recipe
from strategies.precision import PRECISIONS, precision
from strategies.problem import make_problem, problem_from_plain
from strategies.recipes import Recipe
from strategies.sampling import draw, stream

HOMES = tuple(PRECISIONS)


def drawn(text: str, *shapes: Shape, home: str = "float32") -> list[np.ndarray]:
    recipe = parse_recipe(text, ("a", "b")[: len(shapes)])
    recipe.check(home, list(shapes))
    outs = [np.full(shape, np.nan, home) for shape in shapes]
    recipe.draw(stream("a test", 4, 0, 0), outs)
    return outs


def wide(outs: list[np.ndarray]) -> list[np.ndarray]:
    return [out.astype(np.longdouble) for out in outs]


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(("kind", "sign"), [("cancelling", -1), ("alike", 1)])
def test_partners_are_at_most_d_apart_and_everywhere_between(kind: str, sign: int, home: str) -> None:
    d = 0.25
    a, b = wide(drawn(f"{kind}(normal(0,1),{d})", (4000,), (4000,), home=home))
    assert np.array_equal(b, wide(drawn("normal(0,1)", (4000,), home=home))[0])  # the inner population, as it is
    normal = np.abs(b) > 2 * precision(home).smallest_normal
    t = ((sign * a - b) / b)[normal].astype(float) / d
    assert np.all(np.abs(t) <= 1 + 8 * precision(home).unit_roundoff)
    if home in ("float32", "float64"):
        assert stats.kstest(t, stats.uniform(-1, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("d", ["0", "precision"])
def test_partners_closer_than_rounding_are_equal(d: str, home: str) -> None:
    close = 0 if d == "0" else precision(home).unit_roundoff / 8
    a, b = wide(drawn(f"cancelling(normal(0,1),{close!r})", (500,), (500,), home=home))
    assert np.array_equal(a, -b)


def test_a_smaller_input_is_repeated_along_the_other_dims() -> None:
    x, mean = drawn("alike(offset(1e4),0,1)", (2, 3, 4, 5), (3,))
    assert np.array_equal(x, np.broadcast_to(mean[:, None, None], x.shape))
    x, gamma = drawn("cancelling(normal(0,1),0,1)", (4, 7), (7,))
    assert np.array_equal(x, np.broadcast_to(-gamma, x.shape))
    x, scale = drawn("alike(normal(0,1),0,1)", (2, 3, 4, 5), (3, 4))
    assert np.array_equal(x, np.broadcast_to(scale[:, :, None], x.shape))


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("alike(normal(0,1),0)", ((2, 3), (3,)), "does not lie along a of shape"),
        ("alike(normal(0,1),0,1)", ((3,), (2, 3)), "swap the inputs"),
        ("cancelling(normal(0,1),0,-1)", ((2, 3), (3,)), "change its axis"),
        ("alternating(normal(0,1),0,2)", ((2, 3),), "has no axis 2"),
        ("cancelling_terms(normal(0,1),0,0,0)", ((2, 3), (3, 2)), "axes of unequal sizes"),
        ("cancelling_terms(normal(0,1),0,0,5)", ((2, 3), (3, 2)), "b of shape .* has no axis 5"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(text: str, shapes: tuple[Shape, ...], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        drawn(text, *shapes)


@pytest.mark.parametrize("d", ["-0.1", "1", "nan"])
def test_distances_are_relative(d: str) -> None:
    with pytest.raises(RecipeError, match="use a relative distance from 0 to below 1"):
        parse_recipe(f"alternating(normal(0,1),{d})", ("x",))


@pytest.mark.parametrize(("axis", "shape"), [(-1, (3, 9)), (0, (9, 3)), (0, (8, 3)), (1, (2, 6, 3)), (-1, (5, 1))])
def test_neighbours_cancel_along_an_axis(axis: int, shape: Shape) -> None:
    (x,) = drawn(f"alternating(normal(0,1),0,{axis})", shape)
    along = np.moveaxis(x, axis, 0)
    pairs = len(along) // 2
    assert np.array_equal(along[0 : 2 * pairs : 2], -along[1 : 2 * pairs : 2])
    assert len(np.unique(np.abs(x))) == x.size - along[: 2 * pairs].size // 2
    (inner,) = drawn("normal(0,1)", shape)
    assert np.array_equal(np.moveaxis(inner, axis, 0)[0::2], along[0::2])  # an odd end stands alone


@pytest.mark.parametrize("k", [1, 2, 7, 8])
def test_terms_of_a_product_cancel(k: int) -> None:
    a, b = wide(drawn("cancelling_terms(normal(0,1),0)", (3, k), (k, 4)))
    rest = a[:, k // 2 * 2 :] @ b[k // 2 * 2 :]
    assert np.allclose((a @ b).astype(float), rest.astype(float), rtol=0, atol=1e-16)
    a, b = wide(drawn("cancelling_terms(normal(0,1),0.01,0,1)", (8, 3), (4, 8)))
    condition = (np.abs(b) @ np.abs(a)) / np.abs(b @ a)
    assert 100 < np.median(condition.astype(float)) < 3000


def test_one_element_of_each_row_is_hot() -> None:
    (x,) = drawn("onehot(offset(3,0.1))", (2000, 5))
    assert np.all(np.count_nonzero(x, axis=1) == 1)
    assert not np.signbit(x).any()
    assert stats.chisquare(np.count_nonzero(x, axis=0)).pvalue > 1e-3
    assert stats.kstest(x[x != 0], stats.norm(3, 0.1).cdf).pvalue > 1e-3


@pytest.mark.parametrize("home", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(6, 6), (3, 20), (20, 3), (4, 5, 5), (2, 3, 4, 6)])
@pytest.mark.parametrize("c", [1.0, 100.0, 12345.0])
def test_matrices_have_their_condition_number(shape: Shape, c: float, home: str) -> None:
    (x,) = drawn(f"conditioned({c})", shape, home=home)
    values = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    close = c * precision(home).unit_roundoff * 100
    assert values[..., 0] == pytest.approx(1, rel=1e-6)
    assert values[..., -1] == pytest.approx(1 / c, rel=close)
    ratios = values[..., :-1] / values[..., 1:]  # equal, to a step of c**(1/64) on either side
    assert np.all(ratios <= c ** (1 / (values.shape[-1] - 1) + 1 / 64) * (1 + close))
    assert np.count_nonzero(x) == x.size


def test_a_row_is_a_matrix_too() -> None:
    (x,) = drawn("conditioned(100)", (30,), home="float64")
    assert np.linalg.norm(x) == pytest.approx(1)
    with pytest.raises(RecipeError, match="use a condition number >= 1"):
        parse_recipe("conditioned(0.5)", ("x",))


def test_matrices_of_one_draw_differ() -> None:
    (x,) = drawn("conditioned(100)", (3, 4, 4))
    assert len({matrix.tobytes() for matrix in x}) == 3


@pytest.mark.parametrize("nu", [1, 3, 10])
@pytest.mark.parametrize("home", ["float32", "float64"])
def test_student(nu: int, home: str) -> None:
    (x,) = drawn(f"student({nu})", (20_000,), home=home)
    assert stats.kstest(x.astype(float), stats.t(nu).cdf).pvalue > 1e-3
    assert np.isfinite(x).all()


def test_the_tails_of_student_end_at_the_largest_number() -> None:
    (x,) = drawn("student(1)", (2_000_000,), home="float16")
    assert np.isfinite(x).all()
    assert np.abs(x).max() == precision("float16").largest
    with pytest.raises(RecipeError, match="use 1 to 32 degrees of freedom"):
        parse_recipe("student(0)", ("x",))


def test_a_grid_has_one_element_in_every_part() -> None:
    (x,) = drawn("grid(-3,5)", (40, 10), home="float64")
    places = (x.reshape(-1) + 3) / 8 * 400 - np.arange(400)
    assert stats.kstest(places, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(places[1:], places[:-1])[0, 1]) < 0.2
    (again,) = drawn("grid(2,2)", (5,))
    assert again.tolist() == [2] * 5


PAIRS = ["cancelling(normal(0,1),0.1)", "alike(abs(normal(0,1)),0.1)", "signed(quotient_ties(3))",
         "cancelling_terms(uniform(-1,2),0.1,-1,-1)", "alike(uniform(-3,2),0.99)", "cancelling(uniform(1,2),0.5)",
         ]  # fmt: skip


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("text", PAIRS)
def test_supports_hold_the_draws_of_each_input(text: str, home: str) -> None:
    outs = drawn(text, (40, 50), (40, 50), home=home)
    for out, (low, high) in zip(outs, parse_recipe(text, ("a", "b")).supports(home), strict=True):
        assert np.all((out >= low) & (out <= high))


def test_each_input_has_its_own_support() -> None:
    recipe = parse_recipe("cancelling(uniform(1,2),0.5)", ("a", "b"))
    assert recipe.supports("float64") == ((-3.0, -0.5), (1.0, 2.0))
    assert recipe.support("float64") == (-3.0, 2.0)
    assert parse_recipe("normal(0,1)", ("a", "b")).supports("float32") == ((-np.inf, np.inf),) * 2


@pytest.mark.parametrize("text", PAIRS)
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (2, 4)])
def test_joint_recipes_fill_every_shape(text: str, shape: Shape) -> None:
    outs = drawn(text, shape, shape)
    assert all(np.isfinite(out).all() for out in outs)


def test_a_joint_recipe_is_part_of_a_problem(matmul, empty_arrays) -> None:
    recipe: Recipe = parse_recipe("cancelling_terms(normal(0,1),0.01)", ("a", "b"))
    problem = make_problem(matmul, dims={"M": 2, "K": 6, "N": 3}, home="float32", recipes=[recipe])
    assert problem_from_plain(problem.plain(), matmul) == problem
    into = empty_arrays(matmul, problem)
    digest = draw(problem, matmul, 0, 0, into)
    assert all(np.isfinite(array).all() for array in into.values())
    assert np.array_equal(into["a"][:, 0], into["a"][:, 1])
    assert draw(problem, matmul, 0, 0, empty_arrays(matmul, problem)) == digest
    swapped = make_problem(
        matmul,
        dims={"M": 2, "K": 6, "N": 3},
        home="float32",
        recipes=[parse_recipe("cancelling_terms(normal(0,1),0.01,0,-1)", ("b", "a"))],
    )
    assert swapped.id != problem.id
    assert parse_recipe(recipe.expression(), ("a", "b")) == recipe
