"""Gradients as operators: names, contracts, refusals; what is listed stays what it was."""

from __future__ import annotations

import pytest
from gradient_cases import Case

from fuzz.campaigns.request import CampaignSpec, ProblemSpec
from fuzz.campaigns.spec import resolve
from fuzz.errors import UserError
from fuzz.operators import OPERATORS, gradient, operator
from fuzz.operators.gradients import gradient_of
from strategies.contract import Criterion


def test_a_gradient_has_cotangents_and_gives_gradients() -> None:
    contract = operator("batch_norm.grad").contract
    assert [spec.name for spec in contract.inputs] == ["x", "mean", "var", "gamma", "beta", "d_y"]
    assert [spec.name for spec in contract.outputs] == ["d_x", "d_gamma", "d_beta"]
    assert contract.input("var").domain.low == 0.0
    assert contract.input("d_y").default == "normal(0,1)"
    assert contract.attributes == OPERATORS["batch_norm"].contract.attributes
    assert operator("relu.grad").contract.criterion is Criterion.FORWARD_BOUND
    assert operator("gelu.grad").contract.input("x").landmarks == OPERATORS["gelu"].contract.input("x").landmarks


def test_outputs_that_are_buffers_have_no_cotangent() -> None:
    assert gradient("batch_norm_training.grad").cotangents == ("d_y",)


def test_with_respect_to_some_inputs_only() -> None:
    found = operator("dense.w.grad")
    assert found is operator("dense.w.grad")
    assert found.name == "dense.w.grad" == gradient_of(OPERATORS["dense"], ["w"]).name
    assert [spec.name for spec in found.contract.outputs] == ["d_w"]
    assert gradient_of(OPERATORS["dense"], ["x", "w", "bias"]).name == "dense.grad"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tanh.grad.grad", "second derivatives are not derived"),
        ("softmx.grad", "softmax"),
        ("softmx", "softmax"),
        ("dense.v.grad", "dense has no differentiable input 'v': it has x, w, bias"),
        ("batch_norm.mean.grad", "no differentiable input 'mean'"),
    ],
)
def test_what_there_is_not_is_said_in_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        operator(name)
    assert "\n" not in str(raised.value)


def test_a_gradient_of_a_gradient_is_refused() -> None:
    with pytest.raises(UserError, match="second derivatives are not derived"):
        gradient_of(operator("tanh.grad"))


def test_no_list_of_operators_changes() -> None:
    before = list(OPERATORS)
    operator("softmax.grad")
    assert list(OPERATORS) == before


@pytest.mark.parametrize(("axis", "shape"), [(-1, (5,)), (0, (7,))])
def test_a_cotangent_has_the_shape_of_its_output(axis: int, shape: tuple[int, ...]) -> None:
    contract = operator("sum.grad").contract
    assert contract.shapes({"rows": 5, "n": 7}, {"axis": axis})["d_y"] == shape


def test_a_cotangent_of_a_convolution_follows_the_stride() -> None:
    case = Case("conv2d", size=7, stride=2, padding=1)
    assert case.arrays[2].shape == case.forward.output_shapes()[0]


def test_a_dim_that_an_input_lacks_is_summed_over() -> None:
    dims = {dim.name: dim for dim in operator("layer_norm.grad").contract.dims}
    assert dims["rows"].reduced
    assert not dims["rows"].batch
    (n,) = operator("tanh.grad").contract.dims
    assert n.batch
    assert not n.reduced


def test_infinities_among_terms_are_left_open_and_those_of_one_element_are_not() -> None:
    assert ("a", "inf") in operator("matmul.grad").contract.unspecified
    assert ("x", "inf") not in operator("gelu.grad").contract.unspecified
    assert ("x", "inf") not in operator("logsumexp.grad").contract.unspecified
    assert ("d_y", "huge") in operator("gelu.grad").contract.unspecified


def problems(*names: str, **changes: object) -> list[str]:
    spec = CampaignSpec(problems=tuple(map(ProblemSpec, names)), gradients=True, targets=("torch",), **changes)
    return [problem.operator for problem in resolve(spec).spec.problems]


def test_a_request_for_gradients_runs_them_in_place_of_the_operators() -> None:
    assert problems("tanh", "softmax.grad", plan="explore") == ["tanh.grad", "softmax.grad"]
    assert problems("all", plan="survey") == [f"{name}.grad" for name in OPERATORS]


def test_an_exhaustive_plan_of_gradients_is_refused() -> None:
    with pytest.raises(UserError, match="no function of one number"):
        resolve(CampaignSpec(problems=(ProblemSpec("tanh.grad"),), plan="exhaustive", targets=("torch",)))
    with pytest.raises(UserError, match="a gradient has a cotangent"):
        problems("tanh", plan="exhaustive")
