"""Operators by name, and what every contract must say."""

from __future__ import annotations

import pytest

from fuzz.errors import UserError
from fuzz.operators import OPERATORS, operator, register
from fuzz.operators.base import Operator
from fuzz.oracle.primitives import PRIMITIVES
from fuzz.oracle.rules import RULES
from fuzz.oracle.trace import trace
from strategies import parse_recipe


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(UserError, match="softmax"):
        operator("sotfmax")


def test_a_name_is_given_once() -> None:
    taken = OPERATORS["tanh"]
    register(taken)  # the same one again is a no-op
    with pytest.raises(UserError, match=r"tanh.* exists already"):
        register(Operator(taken.contract, lambda x: x))


@pytest.mark.parametrize("name", OPERATORS)
def test_contract_and_reference_fit(name: str) -> None:
    found = OPERATORS[name]
    contract = found.contract
    sizes = dict.fromkeys(contract.dim_names, 3)
    attributes = {key: spec.default for key, spec in contract.attributes}
    traced = trace(found.reference, contract.shapes(sizes), attributes)
    assert traced.inputs == tuple(spec.name for spec in contract.inputs)
    assert traced.output_shapes() == tuple(spec.shape(sizes) for spec in contract.outputs)
    assert contract.doc
    assert contract.cost.operations(sizes) > 0
    for spec in contract.inputs:
        parse_recipe(spec.default, (spec.name,))
    for _, spec in contract.attributes:
        for value in (*spec.usual, *spec.unusual, *spec.choices):
            assert spec.coerce(value, "here") == value


@pytest.mark.parametrize("name", OPERATORS)
def test_every_attribute_value_traces(name: str) -> None:
    found = OPERATORS[name]
    sizes = dict.fromkeys(found.contract.dim_names, 3)
    for key, spec in found.contract.attributes:
        for value in (*spec.usual, *spec.unusual):
            trace(found.reference, found.contract.shapes(sizes), {key: value})


def test_every_primitive_that_computes_has_a_rule() -> None:
    assert {name for name, primitive in PRIMITIVES.items() if primitive.kind != "view"} == set(RULES)
