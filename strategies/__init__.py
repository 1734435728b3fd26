"""What to try: contracts, problems, recipes, sampling, schedules, and Hypothesis strategies over all of it.

`import strategies` does not import Hypothesis; what needs it (`problems`, `shapes`, `settings`, `schedules`,
`options`, `independent`, `explored`) does when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from strategies.choices import POPULATION
from strategies.contract import (
    AttributeSpec,
    Contract,
    ContractError,
    Cost,
    Criterion,
    DimSpec,
    Domain,
    Landmark,
    Scalar,
    Shape,
    Spec,
)
from strategies.expressions import RecipeError, parse_recipe, split_input
from strategies.given import STORE, Given, GivenError, GivenStore
from strategies.inputs import input_recipes
from strategies.precision import PRECISIONS, DType, Precision, narrowest
from strategies.problem import Problem, input_shapes, make_problem, problem_from_plain
from strategies.recipes import RECIPES, ParameterError, Recipe, recipe_from_plain
from strategies.sampling import draw, extra_low_bits, stream

if TYPE_CHECKING:
    from strategies.generation import problems, schedules, settings, shapes
    from strategies.iid import explored, independent
    from strategies.option_settings import options

__all__ = [
    "POPULATION",
    "PRECISIONS",
    "RECIPES",
    "STORE",
    "AttributeSpec",
    "Contract",
    "ContractError",
    "Cost",
    "Criterion",
    "DType",
    "DimSpec",
    "Domain",
    "Given",
    "GivenError",
    "GivenStore",
    "Landmark",
    "ParameterError",
    "Precision",
    "Problem",
    "Recipe",
    "RecipeError",
    "Scalar",
    "Shape",
    "Spec",
    "draw",
    "explored",
    "extra_low_bits",
    "independent",
    "input_recipes",
    "input_shapes",
    "make_problem",
    "narrowest",
    "options",
    "parse_recipe",
    "problem_from_plain",
    "problems",
    "recipe_from_plain",
    "schedules",
    "settings",
    "shapes",
    "split_input",
    "stream",
]

_LAZY = {
    "problems": "strategies.generation",
    "schedules": "strategies.generation",
    "settings": "strategies.generation",
    "shapes": "strategies.generation",
    "explored": "strategies.iid",
    "independent": "strategies.iid",
    "options": "strategies.option_settings",
}
"""Names whose module needs Hypothesis."""


if not TYPE_CHECKING:  # a type checker would take every name for a member

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module 'strategies' has no attribute {name!r}")
        return getattr(importlib.import_module(_LAZY[name]), name)
