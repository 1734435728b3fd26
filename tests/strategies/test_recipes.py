"""Each recipe draws the population that its docstring promises."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from strategies.canonical import canonical
from strategies.contract import ContractError
from strategies.expressions import parse_recipe
from strategies.precision import PRECISIONS
from strategies.recipes import RECIPES, Abs, Constant, Normal, ParameterError, Recipe, Uniform, recipe_from_plain
from strategies.sampling import stream

SIZE = 40_000
HOMES = tuple(PRECISIONS)
GENERATED = ("float32", "float64")
NARROW = ("bfloat16", "float16")
EXAMPLES = [kind.example for kind in RECIPES.values() if kind.name != "given" and not kind.joins]


def drawn(text: str, home: str = "float32", size: int = SIZE, index: int = 0) -> np.ndarray:
    out = np.full(size, np.nan, home)
    recipe = parse_recipe(text, ("x",))
    recipe.check(home, [out.shape])
    recipe.draw(stream("a test", 1, index, 0), [out])
    return out


def fair(sample: np.ndarray, cdf: object) -> None:
    """Kolmogorov-Smirnov, and no correlation between neighbours (five standard errors)."""
    assert stats.kstest(sample.astype(float), cdf).pvalue > 1e-3
    assert abs(np.corrcoef(sample[1:], sample[:-1])[0, 1]) < 5 / math.sqrt(len(sample))


@pytest.mark.parametrize("home", GENERATED)
@pytest.mark.parametrize(
    ("text", "cdf"),
    [
        ("normal(0,1)", stats.norm(0, 1).cdf),
        ("normal(-3,0.5)", stats.norm(-3, 0.5).cdf),
        ("offset(100)", stats.norm(100, 1).cdf),
        ("offset(100,7)", stats.norm(100, 7).cdf),
        ("uniform(0,1)", stats.uniform(0, 1).cdf),
        ("uniform(-2,6)", stats.uniform(-2, 8).cdf),
        ("abs(normal(0,1))", stats.halfnorm.cdf),
        ("abs(normal(1,1))", stats.foldnorm(1).cdf),
        ("signed(uniform(0,1))", stats.uniform(-1, 2).cdf),
    ],
)
def test_continuous_populations(text: str, cdf: object, home: str) -> None:
    fair(drawn(text, home), cdf)


@pytest.mark.parametrize("home", NARROW)
@pytest.mark.parametrize(
    "text", ["normal(0,1)", "normal(-3,0.5)", "offset(100,7)", "uniform(-2,6)", "abs(normal(1,1))"]
)
def test_narrow_formats_get_the_float32_population_rounded_once(text: str, home: str) -> None:
    """The parameters are numbers of every format."""
    assert np.array_equal(drawn(text, home), drawn(text).astype(home))


@pytest.mark.parametrize("home", NARROW)
def test_parameters_are_rounded_to_a_narrow_home_first(home: str) -> None:
    rounded = float(np.dtype(home).type(0.1))
    assert rounded != float(np.float32(0.1))
    for text in ("normal(0,{})", "uniform(0,{})", "offset({})"):
        assert np.array_equal(drawn(text.format(0.1), home), drawn(text.format(rounded)).astype(home))


@pytest.mark.parametrize("home", GENERATED)
def test_loguniform_is_uniform_in_the_piecewise_linear_logarithm(home: str) -> None:
    sample = drawn("loguniform(0.375,48)", home).astype(float)
    mantissa, exponent = np.frexp(sample)
    position = exponent - 1 + (2 * mantissa - 1)
    low, high = -2 + 0.5, 5 + 0.5
    fair(position, stats.uniform(low, high - low).cdf)
    assert sample.min() >= 0.375
    assert sample.max() <= 48


@pytest.mark.parametrize("home", HOMES)
def test_loguniform_reaches_both_ends_and_every_number_between(home: str) -> None:
    low, high = 1.0, float(1 + 4 * 2.0 ** (1 - PRECISIONS[home].digits))
    counts = np.unique(drawn(f"loguniform({low!r},{high!r})", home), return_counts=True)[1]
    assert len(counts) == 5
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("home", HOMES)
def test_subnormals_cover_their_range_evenly_with_either_sign(home: str) -> None:
    p = PRECISIONS[home]
    sample = drawn("subnormal()", home)
    assert np.all(np.abs(sample) < p.smallest_normal)
    assert np.all(sample != 0)
    fair(sample.astype(np.float64) / p.smallest_subnormal, stats.uniform(-(2.0 ** (p.digits - 1)), 2.0**p.digits).cdf)


def test_integers_are_uniform_and_include_both_ends() -> None:
    values, counts = np.unique(drawn("integers(-2,3)"), return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2, 3]
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 1.0])
def test_sparse_zeroes_each_element_with_probability_p(p: float) -> None:
    zeros = int(np.count_nonzero(drawn(f"sparse(constant(7),{p})") == 0))
    assert stats.binomtest(zeros, SIZE, p).pvalue > 1e-3


def test_sparse_puts_positive_zeros_even_over_infinities() -> None:
    sample = drawn("sparse(constant(-inf),0.5)")
    assert set(np.unique(sample)) == {-math.inf, 0.0}
    assert not np.signbit(sample[sample == 0]).any()


def test_special_puts_each_special_value_in_a_fifth_of_the_chosen_places() -> None:
    sample = drawn("special(constant(7),0.5)")
    zero, negative = sample == 0, np.signbit(sample)
    counts = [
        np.count_nonzero(zero & ~negative),
        np.count_nonzero(zero & negative),
        np.count_nonzero(sample == math.inf),
        np.count_nonzero(sample == -math.inf),
        np.count_nonzero(np.isnan(sample)),
    ]
    assert stats.chisquare(counts).pvalue > 1e-3
    assert stats.binomtest(int(sum(counts)), SIZE, 0.5).pvalue > 1e-3


def test_signed_flips_half_of_the_signs() -> None:
    assert stats.binomtest(int(np.count_nonzero(drawn("signed(constant(2))") < 0)), SIZE, 0.5).pvalue > 1e-3


@pytest.mark.parametrize("home", HOMES)
def test_ramp_is_even_and_keeps_its_ends(home: str) -> None:
    close = max(1e-6, PRECISIONS[home].unit_roundoff)
    assert drawn("ramp(-1,0.1)", home, 12).astype(float) == pytest.approx(np.linspace(-1, 0.1, 12), rel=close)
    assert drawn("ramp(-1,0.1)", home, 12)[-1] == np.dtype(home).type(0.1)
    assert drawn("ramp(-1,1e-7)", home, 12)[-1] == np.dtype(home).type(1e-7)
    assert drawn("ramp(3,4)", home, 1).astype(float).tolist() == [3.0]
    assert drawn("ramp(3,4)", home, 0).tolist() == []


def test_ramp_follows_the_flattened_shape() -> None:
    out = np.empty((2, 3), np.float32)
    parse_recipe("ramp(0,5)", ("x",)).draw(stream("a test", 0, 0, 0), [out])
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_constants_keep_the_sign_of_zero_and_nonfinite_values() -> None:
    assert np.signbit(drawn("constant(-0)", size=1)[0])
    assert drawn("constant(-inf)", size=1)[0] == -math.inf
    assert math.isnan(drawn("constant(nan)", size=1)[0])


@pytest.mark.parametrize("text", ["normal(0,0)", "normal(2,0)"])
def test_normal_without_spread_is_its_mean_with_a_positive_zero(text: str) -> None:
    sample = drawn(text)
    assert set(np.unique(sample)) == {float(text[7])}
    assert not np.signbit(sample).any()


@pytest.mark.parametrize("home", HOMES)
@given(data=st.data())
def test_the_largest_uniform_draw_stays_within_its_end(home: str, data: st.DataObject) -> None:
    p = PRECISIONS[home]
    ends = st.floats(-p.largest / 2, p.largest / 2, width=64 if home == "float64" else 32)
    low, high = sorted(float(p.round(data.draw(ends))) for _ in range(2))

    class Highest:
        def random(self, dtype: object, out: np.ndarray) -> None:
            out[...] = 1 - np.finfo(out.dtype).epsneg

    out = np.empty(3, home)
    Uniform(("x",), low, high).draw(Highest(), [out])  # type: ignore[arg-type]
    assert np.all((out >= low) & (out <= high))


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("text", EXAMPLES)
def test_support_holds_every_draw(text: str, home: str) -> None:
    low, high = parse_recipe(text, ("x",)).support(home)
    sample = drawn(text, home, 2000)
    assert np.all((sample >= low) & (sample <= high) | np.isnan(sample))


@pytest.mark.parametrize("text", EXAMPLES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (5, 7)])
def test_every_shape_is_filled(text: str, shape: tuple[int, ...]) -> None:
    """Filling does not depend on what the array held, scalars and empty arrays included."""
    outs = [np.full(shape, start, np.float32) for start in (np.nan, 3.0)]
    for out in outs:
        parse_recipe(text, ("x",)).draw(stream("a test", 0, 0, 0), [out])
    assert np.array_equal(*outs, equal_nan=True)


@pytest.mark.parametrize("text", ["normal(0,1)", "abs(special(normal(0,1),0.5))"])
def test_several_inputs_of_one_recipe_differ(text: str) -> None:
    outs = [np.empty(100, np.float32) for _ in range(2)]
    parse_recipe(text, ("x", "y")).draw(stream("a test", 0, 0, 0), outs)
    assert not np.array_equal(*outs, equal_nan=True)
    assert all(np.isfinite(out).sum() < 100 for out in outs) or "special" not in text


@pytest.mark.parametrize(
    "text", [*EXAMPLES, "constant(nan)", "constant(-inf)", "constant(-0)", "abs(signed(constant(inf)))"]
)
def test_plain_and_expression_are_read_back(text: str) -> None:
    recipe = parse_recipe(text, ("x",))
    stored = msgspec.json.decode(canonical(recipe.plain()))
    assert canonical(recipe_from_plain(stored).plain()) == canonical(recipe.plain())
    assert canonical(parse_recipe(recipe.expression(), ("x",)).plain()) == canonical(recipe.plain())


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers, numbers.map(abs))
def test_numbers_survive_their_text_exactly(mu: float, sigma: float) -> None:
    recipe = Normal(("x",), mu, sigma)
    assert parse_recipe(recipe.expression(), ("x",)) == recipe


def test_whole_numbers_and_floats_are_one_recipe() -> None:
    assert Normal(("x",), 0, 1).plain() == Normal(("x",), 0.0, np.float32(1)).plain()  # type: ignore[arg-type]
    assert canonical(Normal(("x",), 0, 1).plain()) == '{"fills":["x"],"kind":"normal","mu":0.0,"sigma":1.0}'


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("normal(0,-1)", "sigma"),
        ("normal(inf,1)", "mu"),
        ("offset(1,-1)", "s"),
        ("uniform(2,1)", "b"),
        ("uniform(0,inf)", "b"),
        ("ramp(1,0)", "b"),
        ("loguniform(0,1)", "a"),
        ("loguniform(2,2)", "b"),
        ("loguniform(nan,1)", "a"),
        ("integers(0.5,1)", "lo"),
        ("integers(3,2)", "hi"),
        ("integers(0,1e17)", "hi"),
        ("integers(0,inf)", "hi"),
        ("sparse(normal(0,1),1.5)", "p"),
        ("special(normal(0,1),nan)", "p"),
    ],
)
def test_senseless_parameters_are_refused_when_made(text: str, parameter: str) -> None:
    with pytest.raises(ValueError, match=rf"\b{parameter}\b") as caught:
        parse_recipe(text, ("x",))
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("constant(1e39)", "overflows float32"),
        ("abs(normal(0,1e-46))", "vanishes in float32"),
        ("uniform(-3e38,3e38)", "width"),
        ("ramp(-3e38,3e38)", "width"),
        ("sparse(integers(0,16777217),0.5)", "not exact in float32"),
    ],
)
def test_parameters_that_the_home_dtype_cannot_hold_are_refused(text: str, what: str) -> None:
    recipe = parse_recipe(text, ("x",))
    with pytest.raises(ContractError, match=what) as caught:
        recipe.check("float32", [(3,)])
    assert "\n" not in str(caught.value)
    recipe.check("float64", [(3,)])


def test_probabilities_are_no_numbers_of_the_home_dtype() -> None:
    parse_recipe("sparse(normal(0,1),1e-60)", ("x",)).check("float32", [(3,)])


def test_nested_recipes_fill_the_inputs_of_the_outer_one() -> None:
    with pytest.raises(ParameterError, match="use the same inputs"):
        Abs(("x",), Constant(("y",), 1.0))
    with pytest.raises(ParameterError, match="fills no input"):
        Constant((), 1.0)
    with pytest.raises(ParameterError, match="use a recipe"):
        Abs(("x",), 1.0)  # type: ignore[arg-type]


def test_an_unknown_kind_in_stored_text_is_named() -> None:
    with pytest.raises(ParameterError, match="did you mean 'normal'"):
        recipe_from_plain({"kind": "norml", "fills": ["x"]})


@pytest.mark.parametrize("kind", RECIPES.values(), ids=RECIPES)
def test_the_registry_documents_every_kind(kind: object) -> None:
    assert kind.doc  # type: ignore[attr-defined]
    assert kind.example.startswith(f"{kind.name}(")  # type: ignore[attr-defined]
    assert issubclass(kind.make, Recipe)  # type: ignore[attr-defined]
    assert RECIPES["offset"].signature == "offset(m, s=1)"
