"""The grammar: what it reads, and how it points at mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.expressions import RecipeError, input_names, parse_recipe, split_input
from strategies.recipes import RECIPES, Abs, Constant, Given, Integers, Normal, Offset, Sparse, Uniform

X = ("x",)


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        ("normal(0,1)", Normal(X, 0.0, 1.0)),
        ("  normal ( -40 ,\t1e-9 )\n", Normal(X, -40.0, 1e-9)),
        ("uniform(-.5,+2.)", Uniform(X, -0.5, 2.0)),
        ("constant(-inf)", Constant(X, float("-inf"))),
        ("offset(1E4)", Offset(X, 1e4, 1.0)),
        ("offset(1e4, 2)", Offset(X, 1e4, 2.0)),
        ("integers(-8,1e3)", Integers(X, -8, 1000)),
        ("abs(normal(1,1))", Abs(X, Normal(X, 1.0, 1.0))),
        ("sparse( abs( normal(1,1) ), 0.9)", Sparse(X, Abs(X, Normal(X, 1.0, 1.0)), 0.9)),
    ],
)
def test_what_is_read(text: str, recipe: object) -> None:
    assert parse_recipe(text, X) == recipe


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("norml(0,1)", "did you mean 'normal'", "norml"),
        ("abs(unifrom(0,1))", "did you mean 'uniform'", "unifrom"),
        ("zzz(1)", "known: abs", "zzz"),
        ("normal", "expected '(': write normal(0,1)", ""),
        ("normal(0)", "too few arguments: write normal(mu, sigma), for instance normal(0,1)", ")"),
        ("subnormal(1)", "too many arguments: write subnormal()", "1)"),
        ("normal(0,1,2)", "too many arguments", "2)"),
        ("normal(0,-1)", "standard deviation >= 0", "-1)"),
        ("abs(uniform(0, nan))", "use a finite number", "nan"),
        ("normal(0 1)", "expected ',' or ')', got '1'", "1)"),
        ("normal(0,1", "expected ',' or ')', got nothing more", ""),
        ("normal(,1)", "expected a number for mu", ",1"),
        ("normal(0,x)", "expected a number for sigma", "x)"),
        ("normal(0,infinite)", "expected a number for sigma", "infinite"),
        ("integers(0,1.5)", "use a whole number", "1.5"),
        ("abs(1)", "expected a recipe such as normal(0,1), got '1'", "1)"),
        ("abs()", "too few arguments: write abs(recipe)", ")"),
        ("0", "expected a recipe such as normal(0,1), got '0'", "0"),
        ("", "expected a recipe such as normal(0,1), got nothing more", ""),
        ("normal(0,1) x", "expected the end", "x"),
        ("normal(0,1))", "expected the end", ")"),
        ("given()", "given needs a file", ")"),
        ("given(a.npz:w, 1)", "double quotes", ", 1"),
        ("given(nowhere.npz:w)", "no file 'nowhere.npz'", "nowhere"),
        ("__import__('os')", "unknown recipe '__import__'", "__import__"),
    ],
)
def test_mistakes_are_pointed_at(text: str, message: str, caret: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(text, X)
    error = caught.value
    assert message in error.message
    statement, shown, pointer = str(error).split("\n")
    assert statement == error.message
    assert shown == f"  {text}"
    assert pointer == f"  {' ' * error.position}^"
    assert text[error.position :].startswith(caret)
    assert caret or error.position == len(text)


pieces = st.sampled_from([*'(),:.-+ e0129"', "\n", "normal", "abs", "given", "inf", "uniform", "0,1"])


@given(st.lists(pieces, max_size=12).map("".join))
def test_any_text_is_read_or_refused_in_three_lines(text: str) -> None:
    failure = None
    try:
        recipe = parse_recipe(text, X)
    except RecipeError as error:
        failure = error
    if failure is None:
        assert recipe.fills == X
    else:
        assert len(str(failure).split("\n")) == 3
        assert 0 <= failure.position <= len(failure.text)


@pytest.mark.parametrize("file", ["w.npz:w", "w.npz", "dir/w-1 x.npz:key", "@0123"])
def test_given_hands_its_text_and_the_input_to_the_resolver(file: str) -> None:
    asked = []

    def resolver(text: str, name: str) -> Given:
        asked.append((text, name))
        return Given((name,), "0" * 32, (3,), text)

    recipe = parse_recipe(f"abs(given( {file} ))", X, resolver)
    assert asked == [(file, "x")]
    assert parse_recipe(recipe.expression(), X, resolver) == recipe


def test_a_quoted_file_may_hold_commas_and_brackets() -> None:
    recipe = parse_recipe('given("a (1), b.npz:w")', X, lambda text, name: Given((name,), "0" * 32, (3,), text))
    assert isinstance(recipe, Given)
    assert recipe.name == "a (1), b.npz:w"
    assert recipe.expression() == 'given("a (1), b.npz:w")'


def test_given_fills_one_input() -> None:
    with pytest.raises(RecipeError, match="fills one input"):
        parse_recipe("given(a.npz)", ("x", "y"), lambda text, name: Given((name,), "0" * 32, (3,), text))


def test_every_registered_example_is_read() -> None:
    for kind in RECIPES.values():
        if kind.name != "given":
            assert parse_recipe(kind.example, ("x", "y")[: kind.joins or 1]).kind == kind.name


def test_inputs_are_split_at_the_first_equals_sign() -> None:
    assert split_input(" x = normal(0,1) ") == ("x", "normal(0,1)")
    assert split_input("a, b =alike(normal(0,1),0)") == ("a,b", "alike(normal(0,1),0)")
    assert input_names(" a ,b") == ("a", "b")
    for text in ("normal(0,1)", "=normal(0,1)", "x y=normal(0,1)", "a,=alike(normal(0,1),0)", ",b=alike(x,1)"):
        with pytest.raises(RecipeError, match="INPUT=RECIPE"):
            split_input(text)
