"""What a user writes for the inputs of an operator."""

from __future__ import annotations

import pytest

from strategies.contract import Contract, ContractError
from strategies.expressions import RecipeError
from strategies.inputs import input_recipes


def told(contract: Contract, **expressions: str) -> list[str]:
    named = {names.replace("_", ","): text for names, text in expressions.items()}
    return [f"{','.join(recipe.fills)}={recipe}" for recipe in input_recipes(contract, named)]


def test_inputs_that_none_names_have_the_contracts_own(matmul: Contract, batch_norm: Contract) -> None:
    assert told(matmul, b="uniform(0,1)") == ["b=uniform(0,1)", "a=normal(0,1)"]
    assert "var=abs(normal(1,1))" in told(batch_norm)


def test_a_joint_recipe_names_its_inputs(matmul: Contract) -> None:
    assert told(matmul, b_a="cancelling_terms(normal(0,1),0.5,0,1)") == ["b,a=cancelling_terms(normal(0,1),0.5,0,1)"]


@pytest.mark.parametrize(
    ("expressions", "message"),
    [
        ({"c": "normal(0,1)"}, "matmul has no input 'c': its inputs are a, b"),
        ({"a_c": "alike(normal(0,1),0)"}, "matmul has no input 'c'"),
        ({"a": "normal(0,1)", "b_a": "alike(normal(0,1),0)"}, "input 'a' of matmul has two recipes"),
        ({"a_a": "alike(normal(0,1),0)"}, "input 'a' of matmul has two recipes"),
    ],
)
def test_inputs_are_named_once_and_exist(matmul: Contract, expressions: dict[str, str], message: str) -> None:
    with pytest.raises(ContractError, match=message) as caught:
        told(matmul, **expressions)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "text", "message"),
    [
        ("a", "alike(normal(0,1),0)", "alike fills 2 inputs, not a: write a,b=alike"),
        ("a", "abs(cancelling(normal(0,1),0))", "cancelling fills 2 inputs, not a"),
        ("a_b", "given(x.npz)", "no file 'x.npz'"),
        ("a_b", "bits(0)", "bits fills one input"),
    ],
)
def test_a_recipe_fills_as_many_inputs_as_are_named(matmul: Contract, names: str, text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        told(matmul, **{names: text})
