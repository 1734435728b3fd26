"""All kinds of recipe: importing this module fills the registry `RECIPES`."""

from __future__ import annotations

from strategies.distributions import Constant, Integers, LogUniform, Normal, Offset, Ramp, Subnormal, Uniform
from strategies.given import Given
from strategies.modifiers import Abs, Signed, Sparse, Special
from strategies.patterns import Bits
from strategies.recipe import (
    RECIPES,
    Argument,
    Array,
    ParameterError,
    Recipe,
    RecipeKind,
    recipe_from_plain,
    unknown_recipe,
)

__all__ = [
    "RECIPES",
    "Abs",
    "Argument",
    "Array",
    "Bits",
    "Constant",
    "Given",
    "Integers",
    "LogUniform",
    "Normal",
    "Offset",
    "ParameterError",
    "Ramp",
    "Recipe",
    "RecipeKind",
    "Signed",
    "Sparse",
    "Special",
    "Subnormal",
    "Uniform",
    "recipe_from_plain",
    "unknown_recipe",
]
