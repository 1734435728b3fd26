"""All kinds of recipe: importing this module fills the registry `RECIPES`."""

from __future__ import annotations

from strategies.cancelling import Alike, Alternating, Cancelling, CancellingTerms
from strategies.distributions import Constant, Integers, LogUniform, Normal, Offset, Ramp, Subnormal, Uniform
from strategies.edges import Binades, Edges, Near
from strategies.given import Given
from strategies.grids import Grid, Halves
from strategies.matrices import Conditioned
from strategies.modifiers import Abs, Signed, Sparse, Special
from strategies.onehot import OneHot
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
from strategies.tails import Student
from strategies.ties import QuotientTies, ReciprocalTies, SqrtTies

__all__ = [
    "RECIPES",
    "Abs",
    "Alike",
    "Alternating",
    "Argument",
    "Array",
    "Binades",
    "Bits",
    "Cancelling",
    "CancellingTerms",
    "Conditioned",
    "Constant",
    "Edges",
    "Given",
    "Grid",
    "Halves",
    "Integers",
    "LogUniform",
    "Near",
    "Normal",
    "Offset",
    "OneHot",
    "ParameterError",
    "QuotientTies",
    "Ramp",
    "Recipe",
    "RecipeKind",
    "ReciprocalTies",
    "Signed",
    "Sparse",
    "Special",
    "SqrtTies",
    "Student",
    "Subnormal",
    "Uniform",
    "recipe_from_plain",
    "unknown_recipe",
]
