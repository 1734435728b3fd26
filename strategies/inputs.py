"""The recipes of all inputs of an operator, from what a user wrote for some of them."""

from __future__ import annotations

from collections.abc import Mapping

from strategies.contract import Contract, ContractError
from strategies.expressions import Resolver, input_names, parse_recipe
from strategies.given import STORE
from strategies.recipe import Recipe


def input_recipes(
    contract: Contract, expressions: Mapping[str, str], resolver: Resolver = STORE.load_text
) -> list[Recipe]:
    """One recipe for each entry of `expressions` ("x": "normal(0,1)", "a,b": "cancelling(normal(0,1),1e-3)"), and the
    contract's own for inputs that none names.

    Raises RecipeError for an expression that cannot be read and ContractError for an input that the operator has not,
    or that is named twice.
    """
    wanted = [spec.name for spec in contract.inputs]
    named: list[str] = []
    recipes = []
    for names, expression in expressions.items():
        for name in input_names(names):
            if name not in wanted:
                raise ContractError(
                    f"{contract.operator} has no input {name!r}: its inputs are {', '.join(wanted)}; "
                    "joint recipes name several, separated by commas"
                )
            if name in named:
                raise ContractError(f"input {name!r} of {contract.operator} has two recipes: remove one")
            named.append(name)
        recipes.append(parse_recipe(expression, input_names(names), resolver))
    recipes += [parse_recipe(s.default, (s.name,), resolver) for s in contract.inputs if s.name not in named]
    return recipes
