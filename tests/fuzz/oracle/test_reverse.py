"""Reverse mode: gradients are right, stable, programs like any other, and refuse what they have no rule for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuzz.operators import OPERATORS
from fuzz.oracle.arithmetic import ArbArithmetic, MpmathArithmetic
from fuzz.oracle.bound import bound
from fuzz.oracle.derivatives import DERIVATIVES
from fuzz.oracle.element import evaluate
from fuzz.oracle.lint import lint
from fuzz.oracle.plain import plain
from fuzz.oracle.primitives import PRIMITIVES
from fuzz.oracle.program import Program
from fuzz.oracle.reverse import vjp_program
from fuzz.oracle.trace import TraceError, trace

sys.path.append(str(Path(__file__).parents[1] / "operators"))
from gradient_cases import Case

U64 = 2.0**-53
STEP = 1e-5


def differences(case: Case) -> list[float]:
    """For each input: how far the derivative along a random direction is from a central difference, relative."""
    cotangents = case.arrays[case.primals :]
    names = list(case.forward.inputs)
    found = plain(case.program, case.arrays, "float64")
    rng = np.random.default_rng(1)
    errors = []
    for name, gradient in zip(case.gradient.wrt, found, strict=True):
        at = names.index(name)
        direction = rng.normal(size=case.arrays[at].shape)

        def along(t: float, at: int = at, direction: Any = direction) -> float:
            moved = [a + t * direction if n == at else a for n, a in enumerate(case.arrays[: case.primals])]
            outputs = plain(case.forward, moved, "float64")
            pairs = zip(case.gradient.outputs, cotangents, strict=True)
            return float(sum((g * outputs[number]).sum() for number, g in pairs))

        expected = (along(STEP) - along(-STEP)) / (2 * STEP)
        errors.append(abs(float((gradient * direction).sum()) - expected) / (abs(expected) + 1e-2))
    return errors


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_gradient_is_what_differences_say(operator: str) -> None:
    assert max(differences(Case(operator))) < 3e-5


@pytest.mark.parametrize("attributes", [{"stride": 2, "padding": 1}, {"stride": 3, "padding": 2}])
@pytest.mark.parametrize("operator", ["conv1d", "group_conv2d", "depthwise_conv2d"])
def test_a_gradient_goes_through_padding_and_strides(operator: str, attributes: dict[str, int]) -> None:
    assert max(differences(Case(operator, **attributes))) < 1e-6


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (2, 3), (5, 2)])
@pytest.mark.parametrize("operator", ["avg_pool2d", "max_pool2d"])
def test_a_gradient_goes_through_overlapping_windows(operator: str, kernel: int, stride: int) -> None:
    assert max(differences(Case(operator, size=8, kernel=kernel, stride=stride))) < 1e-6


@pytest.mark.parametrize("operator", ["sum", "var", "prod", "cumsum", "softmax", "logsumexp", "norm", "max"])
def test_a_gradient_goes_along_the_other_axis(operator: str) -> None:
    assert max(differences(Case(operator, axis=0))) < 1e-6


@pytest.mark.parametrize("operator", [name for name, found in OPERATORS.items() if found.gradient is not None])
def test_a_formula_of_its_own_is_the_derivative_of_the_reference(operator: str) -> None:
    case = Case(operator, size=40)
    names = dict(zip(case.gradient.outputs, case.gradient.cotangents, strict=True))
    derived = vjp_program(case.forward, case.gradient.wrt, names)
    for own, found in zip(
        plain(case.program, case.arrays, "float64"), plain(derived, case.arrays, "float64"), strict=True
    ):
        np.testing.assert_allclose(own, found, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_gradient_is_a_stable_formulation(operator: str, scale: float) -> None:
    case = Case(operator, size=6, scale=scale)
    with np.errstate(all="ignore"):
        assert (found := lint(case.program, case.arrays, "float32")).stable, found


@pytest.mark.parametrize("operator", OPERATORS)
def test_elements_agree_with_the_bound(operator: str) -> None:
    case = Case(operator, size=2)
    truth = bound(case.program, "float32")(case.arrays)
    for number, output in enumerate(truth.outputs):
        for at in list(np.ndindex(output.value.shape))[:: max(1, output.value.size // 2)]:
            for arithmetic in (ArbArithmetic(), MpmathArithmetic()):
                exact = arithmetic.rounded(evaluate(case.program, number, at, case.arrays, arithmetic).value)
                assert abs(exact - output.value[at]) <= 8 * U64 * output.excused()[at] + 1e-300, (number, at)


def test_every_primitive_has_a_rule_or_is_refused_by_name() -> None:
    without = {"psi", "kink", "chosen", "opaque"}
    rearranging = {name for name, primitive in PRIMITIVES.items() if primitive.kind in ("view", "gather")}
    assert set(DERIVATIVES) | rearranging | without == set(PRIMITIVES)
    assert not without & set(DERIVATIVES)
    program = Case("lgamma").program
    with pytest.raises(TraceError, match="psi has no derivative rule"):
        vjp_program(program, ["x"], {0: "d_d_x"})


def test_an_input_that_is_none_is_named() -> None:
    with pytest.raises(TraceError, match="no input is called 'z': the inputs are x"):
        vjp_program(trace(np.exp, {"x": (3,)}), ["z"], {0: "d_y"})


def derived(function: Any, size: int = 4) -> Program:
    return vjp_program(trace(function, {"x": (size,)}), ["x"], {0: "d_y"})


def test_a_branch_that_is_not_taken_gives_nothing_even_where_its_slope_is_infinite() -> None:
    def logarithm_or_identity(x: Any) -> Any:
        return np.where(x > 1.0, np.sqrt(np.log(x)), x)

    x, g = np.array([0.0, -3.0, 0.5, 4.0]), np.full(4, 2.0)
    (output,) = bound(derived(logarithm_or_identity), "float32")([x, g]).outputs
    np.testing.assert_allclose(output.value[:3], 2.0)
    np.testing.assert_allclose(output.value[3], 2.0 / (8.0 * np.sqrt(np.log(4.0))), rtol=1e-12)
    assert np.all(np.isfinite(output.excused()))


def test_a_condition_that_compares_nothing_chooses_without_a_kink() -> None:
    x, g = np.array([0.0, 2.0, -1.0, 0.0]), np.ones(4)
    (output,) = bound(derived(lambda x: np.where(x, 3.0 * x, x)), "float32")([x, g]).outputs
    assert list(output.value) == [1.0, 3.0, 3.0, 1.0]
    assert output.excused().max() < 10


def test_an_input_without_influence_has_gradient_zero() -> None:
    program = trace(lambda x, y: x + np.sign(y), {"x": (3,), "y": (3,)})
    found = vjp_program(program, ["y", "x"], {0: "d_z"})
    values = plain(found, [np.ones(3), np.array([1.0, np.inf, -2.0]), np.full(3, 5.0)], "float64")
    assert [list(v) for v in values] == [[0.0] * 3, [5.0] * 3]


def test_sums_of_sums_are_charged_as_one_sum() -> None:
    case = Case("conv2d", size=5)
    lengths = case.program.reduction_lengths()
    channels = case.dims["O"]
    assert channels * case.dims["KH"] * case.dims["KW"] in lengths


def test_equal_maxima_leave_open_who_gets_the_gradient() -> None:
    case = Case("max_pool2d", size=6)
    case.arrays[0][:] = 1.0
    (output,) = bound(case.program, "float32")(case.arrays).outputs
    u = 2.0**-24
    first = np.zeros_like(output.value)
    first[:, :, ::2, ::2] = case.arrays[1]  # the first of each window, as torch and jax do
    assert np.all(np.abs(first - output.value) <= u * output.excused() * (1 + 1e-9))
    assert not np.any(np.abs(2.5 * first - output.value)[first != 0] <= u * output.excused()[first != 0])
