"""The bound interpreter: values, what E must cover, and what it must not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_cases import RECIPES, SMALL, Array, draw, program

from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import MpmathArithmetic
from fuzz.oracle.bound import Truth, bound
from fuzz.oracle.element import evaluate
from fuzz.oracle.models import Model
from fuzz.oracle.plain import plain
from fuzz.oracle.trace import trace

U32, U64 = 2.0**-24, 2.0**-53
quick = settings(max_examples=25, deadline=None, derandomize=True, database=None)

sizes = st.sampled_from([1, 2, 3, 5])
recipes = st.sampled_from(sorted(RECIPES))
seeds = st.integers(0, 10**6)


def dims_of(operator: str) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries(dict.fromkeys(SMALL[operator].dims, sizes))


def axes(operator: str) -> list[dict[str, Any]]:
    return [{"axis": -1}, {"axis": 0}] if "axis" in SMALL[operator].attributes else [{}]


@pytest.mark.parametrize("operator", SMALL)
def test_bound_and_element_interpreters_agree(operator: str) -> None:
    @quick
    @given(dims_of(operator), recipes, seeds, st.sampled_from(axes(operator)))
    def check(dims: dict[str, int], recipe: str, seed: int, attributes: dict[str, Any]) -> None:
        traced = program(operator, dims, **attributes)
        arrays = draw(operator, np.random.default_rng(seed), recipe, dims)
        output = bound(traced, "float32")(arrays).outputs[0]
        excused = output.excused()
        for at in list(np.ndindex(output.value.shape))[:4]:
            exact = evaluate(traced, 0, at, arrays, MpmathArithmetic()).value
            if np.isinf(output.value[at]):
                assert abs(exact) > 1.7e308
                continue
            assert abs(float(exact - float(output.value[at]))) <= 2 * U64 * excused[at] + 5e-324

    check()


@pytest.mark.parametrize("operator", SMALL)
def test_the_reference_itself_in_float32_stays_within_twice_the_bound(operator: str) -> None:
    @quick
    @given(dims_of(operator), recipes, seeds, st.sampled_from(axes(operator)))
    def check(dims: dict[str, int], recipe: str, seed: int, attributes: dict[str, Any]) -> None:
        traced = program(operator, dims, **attributes)
        arrays = draw(operator, np.random.default_rng(seed), recipe, dims)
        output = bound(traced, "float32")(arrays).outputs[0]
        values = plain(traced, arrays, "float32")[0].astype(np.float64)
        usable = np.isfinite(values) & (np.abs(output.value) < 3e38)
        with np.errstate(all="ignore"):
            rho = np.abs(values - output.value) / (U32 * output.excused() + 1e-300)
        assert np.max(np.where(usable, rho, 0.0), initial=0.0) <= 2.0

    check()


@quick
@given(st.integers(1, 300), recipes, seeds)
def test_sums_in_any_order_stay_within_the_bounds(n: int, recipe: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = RECIPES[recipe](rng, (3, n)).astype(np.float32)
    output = bound(program("sum", {"rows": 3, "n": n}), "float32")([x]).outputs[0]
    total = np.zeros(3, np.float32)
    for k in rng.permutation(n):
        total = total + x[:, k]
    within(total, output.value, output.excused(Model.SEQUENTIAL), 1.0)
    if recipe != "constant":  # equal terms round alike: their roundings are not independent
        within(total, output.value, output.excused(Model.SQRT), 2.0)


@quick
@given(st.integers(1, 120), recipes, seeds)
def test_products_of_matrices_in_any_order_stay_within_the_bounds(k: int, recipe: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (RECIPES[recipe](rng, shape).astype(np.float32) for shape in ((3, k), (k, 4)))
    output = bound(program("matmul", {"M": 3, "K": k, "N": 4}), "float32")([a, b]).outputs[0]
    total = np.zeros((3, 4), np.float32)
    for i in rng.permutation(k):
        total = total + a[:, i : i + 1] * b[i : i + 1]
    within(total, output.value, output.excused(Model.SEQUENTIAL), 1.0)
    if recipe != "constant":  # equal terms round alike: their roundings are not independent
        within(total, output.value, output.excused(Model.SQRT), 2.0)


@quick
@given(st.integers(1, 120), st.sampled_from([0.0, 1.0, 1e4, -1e7, 1e30]), seeds)
def test_a_dense_layer_may_add_its_terms_onto_the_bias(k: int, offset: float, seed: int) -> None:
    """BLAS computes C := A B + C: with a large C every addition rounds a number of its size."""
    rng = np.random.default_rng(seed)
    x, w = (rng.normal(size=shape).astype(np.float32) for shape in ((3, k), (4, k)))
    bias = np.full(4, offset, np.float32)
    traced = trace(OPERATORS["dense"].reference, {"x": x.shape, "w": w.shape, "bias": bias.shape})
    output = bound(traced, "float32")([x, w, bias]).outputs[0]
    total = np.zeros((3, 4), np.float32) + bias
    for i in rng.permutation(k):
        total = total + x[:, i : i + 1] * w[:, i]
    within(total, output.value, output.excused(Model.SEQUENTIAL), 1.0)
    within(total, output.value, output.excused(Model.SQRT), 2.0)
    last = np.float32(x.astype(np.float64) @ w.T.astype(np.float64)) + bias
    within(last, output.value, output.excused(Model.IDEAL), 1.0)


def within(values: Array, truth: Array, excused: Array, most: float) -> None:
    assert (np.abs(values.astype(np.float64) - truth) <= most * U32 * excused).all()


@quick
@given(st.sampled_from(sorted(set(SMALL) - {"batch_norm"})), recipes, seeds)
def test_the_models_are_ordered(operator: str, recipe: str, seed: int) -> None:
    dims = dict.fromkeys(SMALL[operator].dims, 5)
    output = bound(program(operator, dims), "float32")(draw(operator, np.random.default_rng(seed), recipe, dims))
    ideal, tree, root, sequential = (
        output.outputs[0].excused(m) for m in (Model.IDEAL, Model.TREE, Model.SQRT, Model.SEQUENTIAL)
    )
    assert (ideal <= root).all()
    assert (root <= sequential).all()
    assert (ideal <= tree).all()


def test_growth_of_the_models() -> None:
    assert [Model.TREE.h(n) for n in (1, 2, 3, 4, 5, 1024)] == [1, 2, 3, 3, 4, 11]
    assert [Model.SQRT.h(n) for n in (1, 4, 9)] == [1, 2, 3]
    assert [Model.SEQUENTIAL.h(n) for n in (0, 1, 7)] == [1, 1, 7]
    assert {Model.IDEAL.h(n) for n in (1, 2, 1000)} == {1}


def excused(reference: Callable[..., Any], *arrays: Any, dtype: str = "float32", **options: Any) -> Array:
    inputs = [np.asarray(a, np.float64) for a in arrays]
    shapes = {f"x{i}": a.shape for i, a in enumerate(inputs)}
    return np.array(bound(trace(reference, shapes), dtype, **options)(inputs).outputs[0].excused())


def test_rules_of_the_basic_operations() -> None:
    x, y = np.array([3.0, -2.0]), np.array([-1.5, 8.0])
    small = 1e-30
    assert excused(lambda x, y: x + y, x, y) == pytest.approx(np.abs(x) + np.abs(y) + np.abs(x + y))
    assert excused(lambda x, y: x - y, x, y) == pytest.approx(np.abs(x) + np.abs(y) + np.abs(x - y))
    assert excused(lambda x, y: x * y, x, y) == pytest.approx(3 * np.abs(x * y), abs=small)
    assert excused(lambda x, y: x / y, x, y) == pytest.approx(3 * np.abs(x / y), abs=small)
    assert excused(np.square, x) == pytest.approx(3 * x * x, abs=small)
    assert excused(lambda x: np.sqrt(np.abs(x)), x) == pytest.approx(1.5 * np.sqrt(np.abs(x)))
    assert excused(lambda x: -np.abs(x), x) == pytest.approx(np.abs(x))
    assert excused(np.exp, x) == pytest.approx((np.abs(x) + 5) * np.exp(x))
    assert excused(lambda x: np.log(np.abs(x)), x) == pytest.approx(1 + 7 * np.abs(np.log(np.abs(x))))
    assert excused(np.log1p, np.array([0.5])) == pytest.approx(0.5 / 1.5 + 5 * math.log1p(0.5))
    assert excused(np.expm1, np.array([0.5])) == pytest.approx(0.5 * math.exp(0.5) + 11 * math.expm1(0.5))
    assert excused(np.tanh, np.array([0.5])) == pytest.approx(0.5 * (1 - math.tanh(0.5) ** 2) + 10 * math.tanh(0.5))
    assert excused(lambda x: np.sum(x, axis=0), x) == pytest.approx(5.0 + math.sqrt(2) * 5.0)
    assert excused(lambda x: np.mean(x, axis=0), x) == pytest.approx(2.5 + math.sqrt(2) * 2.5 + 0.5)


def test_selection_takes_the_bound_of_the_operand_taken() -> None:
    """softplus at -17 .. -40: with the larger E of max(x, 0) every kernel that returns 0 there would pass."""
    x = np.linspace(-40, -17, 50)
    output = bound(program("softplus", {"n": 50}), "float32")([x]).outputs[0]
    amplification = output.excused() / output.value
    assert (amplification < 60).all()  # |x| + 5 + 1 + 5 roundings, not 1e7
    for select, taken in ((np.maximum, 1e-3), (np.minimum, -1e3)):
        e = excused(lambda x, y, f=select: f(x * 1.0, y), np.array([-1e3]), np.array([1e-3]))
        assert e[0] <= 3 * abs(taken)
    e = excused(lambda x: np.where(x > 0, x * 1e-3, x * x), np.array([1e3, -1e3]))
    assert e == pytest.approx([3, 3e6], rel=0.01)


def test_selection_within_the_errors_takes_the_larger_bound() -> None:
    x = np.array([1.0])
    near = np.array([1.0 + U32])
    e = excused(lambda x, y: np.maximum(x * 8.0 / 8.0, y), x, near)
    assert e[0] > excused(lambda x: x * 1.0, x)[0]


def test_extremes_take_the_bound_of_their_candidates_only() -> None:
    e = excused(lambda x, y: np.max(x - y, axis=0), np.array([1e6, 5.0]), np.array([1e6, 0.0]))
    assert e[0] if e.ndim else float(e) <= 11  # 5 is the maximum; the other, 0 with E = 2e6, is none
    assert float(excused(lambda x: np.min(x, axis=0), np.array([1.0, 1e6]))) == 1.0


def test_variance_far_from_the_mean_is_bound_tightly() -> None:
    """offset 1000: two passes stay below rho 1, one pass does not."""
    x = (1000 + np.random.default_rng(0).normal(size=(8, 512))).astype(np.float32)
    output = bound(trace(lambda x: np.var(x, axis=1), {"x": x.shape}), "float32")([x]).outputs[0]
    allowed = U32 * output.excused()
    centred = x - x.mean(1, keepdims=True)
    two_pass = (centred * centred).mean(1)
    one_pass = (x * x).mean(1) - x.mean(1) ** 2
    assert (np.abs(two_pass - output.value) < allowed).all()
    assert (np.abs(one_pass - output.value) > 10 * allowed).all()
    assert (output.excused() < 1e5).all()


def test_numbers_of_the_reference_are_charged_when_they_are_rounded() -> None:
    x = np.array([2.0])
    exact, rounded = excused(lambda x: x * 0.5, x)[0], excused(lambda x: x * 0.1, x)[0]
    assert exact == pytest.approx(2.0)
    assert rounded == pytest.approx(3 * 0.2)
    assert excused(lambda x: x * 0.1, x, dtype="float64")[0] == pytest.approx(2 * 0.2)


def test_an_attribute_that_float32_cannot_hold_is_charged() -> None:
    """var = 0: the whole divisor is sqrt(eps), and float32(1e-5) is off by 0.3 ulp."""
    ones = np.ones(1)
    arrays = [np.ones((1, 1, 1, 1)), 0 * ones, 0 * ones, ones, 0 * ones]
    dims = {"N": 1, "C": 1, "H": 1, "W": 1}
    inexact = bound(program("batch_norm", dims, eps=1e-5), "float32")(arrays).outputs[0]
    exact = bound(program("batch_norm", dims, eps=2.0**-17), "float32")(arrays).outputs[0]
    difference = inexact.excused() / inexact.value - exact.excused() / exact.value
    assert difference.item() == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_underflow_is_charged_half_a_subnormal(dtype: str) -> None:
    """A correctly rounded subnormal product or exponential stays within the bound."""
    tiny = float(np.finfo(dtype).smallest_subnormal)
    u = {"float32": U32, "float64": U64}[dtype]
    x = np.full(4, float(np.finfo(dtype).tiny))
    y = np.array([1.25, 0.3, 1e-3, 3.3]) * 2.0**-4
    e = excused(lambda x, y: x * y, x, y, dtype=dtype)
    exact = x.astype(np.longdouble) * y
    error = np.abs(exact.astype(dtype).astype(np.longdouble) - exact)
    assert (error <= u * np.asarray(e, np.longdouble)).all()
    assert (np.asarray(e, np.longdouble) * u >= 0.5 * tiny).all()


def test_each_product_of_a_sum_may_underflow() -> None:
    a, b = np.full((1, 300), 1e-25, np.float32), np.full((300, 1), 3e-21, np.float32)
    output = bound(program("matmul", {"M": 1, "K": 300, "N": 1}), "float32")([a, b]).outputs[0]
    computed = float((a @ b).item())
    assert abs(computed - output.value.item()) <= U32 * output.excused().item()
    assert abs(computed - output.value.item()) > 10 * 2.0**-150  # ten times what one product may lose


def test_the_flush_allowance_excuses_zeros_for_subnormals_and_no_more() -> None:
    x = np.array([-90.0, -100.0, -80.0, 1.0])
    traced = program("exp", {"n": 4})
    strict = np.array(bound(traced, "float32")([x]).outputs[0].excused()) * U32
    flushing = np.array(bound(traced, "float32", flush=True)([x]).outputs[0].excused()) * U32
    value = np.exp(x)
    assert (value[:2] > 2 * strict[:2]).all()
    assert (value[:2] <= flushing[:2]).all()
    assert value[2] > 100 * flushing[2]
    assert flushing[3] == pytest.approx(strict[3])


@pytest.mark.parametrize("operator", SMALL)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nonfinite_inputs_leave_finite_bounds_where_the_value_is_finite(operator: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    dims = dict.fromkeys(SMALL[operator].dims, 6) | ({"H": 2, "W": 2} if operator == "batch_norm" else {})
    for attributes in axes(operator):
        prepared = bound(program(operator, dims, **attributes), dtype)
        for _ in range(20):
            arrays = draw(operator, rng, "normal", dims)
            clean = np.array(prepared(arrays).outputs[0].excused())
            spoilt = [
                np.where(rng.random(a.shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf], a.shape), a) for a in arrays
            ]
            output = prepared(spoilt).outputs[0]
            finite = np.isfinite(output.value)
            assert np.isfinite(output.excused()[finite]).all()
            assert (output.excused()[finite] >= 0).all()
            again = prepared(arrays).outputs[0]
            np.testing.assert_array_equal(again.excused(), clean)  # nothing of the last draw stays in the buffers


def overflow(truth: Truth) -> list[bool]:
    return [bool(v) for v in np.asarray(truth.overflow(0)).reshape(-1)]


def test_overflow_masks() -> None:
    exp = bound(program("exp", {"n": 5}), "float32")
    assert overflow(exp([np.array([1.0, 89.0, 88.0, np.inf, np.nan])])) == [False, True, False, False, False]
    softmax = bound(program("softmax", {"rows": 2, "n": 3}), "float32")
    assert not any(overflow(softmax([np.array([[1e3, 0, 0], [0, 0, -1e3]])])))
    norm = bound(program("layer_norm", {"rows": 3, "n": 4}), "float32")
    rows = np.array([[1e20, 2e20, 0, 1], [1, 2, 3, 4], [1e38, 1e38, 1e38, 1e38]])
    assert overflow(norm([rows, np.ones(4), np.zeros(4)])) == [True] * 4 + [False] * 4 + [True] * 4
    total = bound(program("sum", {"rows": 2, "n": 3}), "float32")
    assert overflow(total([np.array([[3e38, 3e38, -3e38], [1.0, 2.0, 3.0]])])) == [True, False]
    product = bound(program("matmul", {"M": 2, "K": 2, "N": 1}), "float32")
    assert overflow(product([np.array([[3e38, -3e38], [1, 1]]), np.array([[2.0], [2.0]])])) == [True, False]


def test_given_nonfinite_values_are_no_overflow() -> None:
    """Otherwise a kernel that swallows NaN would be excused."""
    x = np.array([np.nan, np.inf, -np.inf, 1.0])
    for operator in ("tanh", "softplus", "exp"):
        assert not any(overflow(bound(program(operator, {"n": 4}), "float32")([x])))
    softmax = bound(program("softmax", {"rows": 2, "n": 3}), "float32")
    assert not any(overflow(softmax([np.array([[np.nan, 0, 0], [-np.inf, 0, 0]])])))
    for extremum in (np.max, np.min):
        largest = bound(trace(lambda x, extremum=extremum: extremum(x, axis=1), {"x": (3, 2)}), "float32")
        assert not any(overflow(largest([np.array([[-np.inf, -np.inf], [np.inf, 1.0], [np.nan, np.inf]])])))


def test_nan_of_the_formula_s_own_doing_is_marked() -> None:
    """inf - inf in softmax, inf * 0 in gelu(-inf): implementations may differ there."""
    softmax = bound(program("softmax", {"rows": 1, "n": 3}), "float32")
    assert all(overflow(softmax([np.array([[np.inf, 0, 0]])])))
    gelu = bound(program("gelu", {"n": 3}), "float32")
    assert overflow(gelu([np.array([-np.inf, np.nan, np.inf])])) == [True, False, False]


def void(reference: Callable[..., Any], *arrays: Any) -> list[bool]:
    inputs = [np.asarray(a, np.float64) for a in arrays]
    shapes = {f"x{i}": a.shape for i, a in enumerate(inputs)}
    return [bool(v) for v in bound(trace(reference, shapes), "float32")(inputs).void(0)]


def test_void_where_a_divisor_has_no_digits_left() -> None:
    x = np.array([1.0, 1.0])
    y = np.array([1.0 + 2.0**-23, 1.5])
    assert void(lambda x, y: 1.0 / (x - y), x, y) == [True, False]
    assert void(lambda x, y: np.log(y - x), x, y) == [True, False]
    assert void(lambda x: np.log1p(x), np.array([-1 + 1e-8, 0.5])) == [True, False]
    assert void(lambda x, y: x / y, x, np.array([1e-30, 1.0])) == [False, False]
    taken = void(lambda x, y: np.where(y > 1.25, y, 1.0 / (x - y)), x, y)
    assert taken == [True, False]


def test_void_reaches_whole_rows_through_reductions() -> None:
    norm = bound(program("layer_norm", {"rows": 2, "n": 4}, eps=0.0), "float32")
    rows = np.array([[7.7, 7.7, 7.7, 7.7], [1.0, 2.0, 3.0, 4.0]])
    mask = norm([rows, np.ones(4), np.zeros(4)]).void(0)
    assert mask[0].all()
    assert not mask[1].any()


@pytest.mark.parametrize(
    ("operator", "dims"),
    [
        ("batch_norm", {"N": 0, "C": 3, "H": 2, "W": 2}),
        ("batch_norm", {"N": 2, "C": 0, "H": 2, "W": 2}),
        ("matmul", {"M": 0, "K": 3, "N": 2}),
        ("matmul", {"M": 2, "K": 1, "N": 0}),
        ("layer_norm", {"rows": 0, "n": 3}),
        ("softmax", {"rows": 0, "n": 3}),
        ("sum", {"rows": 0, "n": 3}),
        ("gelu", {"n": 0}),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_empty_arrays(operator: str, dims: dict[str, int], dtype: str) -> None:
    for attributes in axes(operator):
        arrays = [np.zeros(shape) for shape in OPERATORS[operator].contract.shapes(dims).values()]
        truth = bound(program(operator, dims, **attributes), dtype)(arrays)
        output = truth.outputs[0]
        assert output.excused().shape == output.value.shape
        assert truth.overflow(0).shape == output.value.shape
        assert truth.void(0).shape == output.value.shape


def test_reductions_of_one_term_have_no_growth() -> None:
    x = np.array([[3.0], [4.0]])
    np.testing.assert_array_equal(excused(lambda x: np.sum(x, axis=1), x), [3.0, 4.0])
    product = bound(program("matmul", {"M": 1, "K": 1, "N": 1}), "float32")([np.array([[3.0]]), np.array([[4.0]])])
    assert product.outputs[0].excused().item() == pytest.approx(36.0)


def test_bounds_scale_with_the_inputs() -> None:
    """Doubling everything of a homogeneous formula doubles E, except for the allowance for underflow."""
    a = np.random.default_rng(3).normal(size=(3, 5))
    for reference in (lambda x: np.sum(x, axis=1), lambda x: np.matmul(x, np.transpose(x)), lambda x: x - 3 * x):
        once, twice = excused(reference, a), excused(reference, 2 * a)
        power = 2 if reference(a).shape == (3, 3) else 1
        np.testing.assert_allclose(twice, 2**power * once, rtol=1e-12)


def test_a_larger_profile_never_lowers_the_bound() -> None:
    x = np.linspace(-5, 5, 40)
    for operator in ("gelu", "tanh", "exp"):
        traced = program(operator, {"n": 40})
        strict, loose = (
            np.array(bound(traced, "float32", profile=p)([x]).outputs[0].excused()) for p in ("strict", "opencl")
        )
        assert (loose >= strict).all()


def test_conditioning_alone_is_less_than_the_bound() -> None:
    for operator in SMALL:
        arrays = draw(operator, np.random.default_rng(4))
        full = np.array(bound(program(operator), "float32")(arrays).outputs[0].excused())
        seeds_only = np.array(bound(program(operator), "float32", rounding=0.0)(arrays).outputs[0].excused())
        assert (seeds_only < full).all()
        assert (seeds_only > 0).all()
