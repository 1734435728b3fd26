"""Inputs of a check as its user writes them: recipes with a shape behind, or arrays."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.backends.base import Array
from fuzz.checking.adapters import NotAnArray, received
from fuzz.checking.called import places_of
from fuzz.errors import TextError, UserError
from strategies.contract import Shape
from strategies.expressions import RecipeError, input_names, parse_recipe, split_input
from strategies.given import STORE, Given
from strategies.recipes import ParameterError

_SHAPED = re.compile(r"(?P<recipe>.*\))\s*\[(?P<shape>[^\[\]]*)\]\s*", re.DOTALL)
_EXAMPLE = "normal(0,1)[8,128]"


class Inputs(Struct, frozen=True):
    """Recipes by what they fill ("x", or "a,b"), and the shape of every input."""

    recipes: dict[str, str]
    shapes: dict[str, Shape]
    integers: tuple[str, ...] = ()
    """Inputs that were given as integers or truth values."""

    def symbols(
        self, own: Mapping[str, Sequence[int]] | None = None
    ) -> tuple[dict[str, int], dict[str, tuple[str | int, ...]]]:
        """Named sizes, and every input's shape in their terms: sizes that are equal are one, 1 stays 1.

        So that shrinking keeps shapes that belong together. Axes of `own`, by input, have a name of their own: the
        outputs go along them, slice by slice.
        """
        letters: dict[tuple[int, int | None], str] = {}
        names = (name for name in (*string.ascii_lowercase, *(f"n{i}" for i in range(1000))) if name not in self.shapes)
        dims: dict[str, tuple[str | int, ...]] = {}
        for name, shape in self.shapes.items():
            axes = (own or {}).get(name, ())
            keys = [(size, axis if axis in axes else None) for axis, size in enumerate(shape)]
            for key in keys:
                if key[0] > 1 and key not in letters:
                    letters[key] = next(names)
            dims[name] = tuple(letters.get(key, key[0]) for key in keys)
        return {letter: size for (size, _), letter in letters.items()}, dims


def of_texts(texts: Sequence[str]) -> Inputs:
    """`x=normal(0,1)[10,4]`, `w=given(w.npz:w)`, as the command line has them."""
    given: dict[str, Any] = {}
    for text in texts:
        try:
            names, expression = split_input(text)
        except RecipeError as error:
            raise TextError(str(error)) from None
        if names in given:
            raise UserError(f"input {names!r} is given twice: remove one")
        given[names] = expression
    return of_mapping(given)


def of_value(inputs: Any, function: Callable[..., Any]) -> Inputs:
    """What `fuzz.check` takes: a mapping, a list in the order of the first function's parameters, or one input."""
    if isinstance(inputs, Mapping):
        return of_mapping(inputs)
    several = inputs if isinstance(inputs, list | tuple) else [inputs]
    names = places_of(function)
    names = names if len(names) >= len(several) else [f"x{number}" for number in range(len(several))]
    return of_mapping(dict(zip(names, several, strict=False)))


def of_mapping(inputs: Mapping[str, Any]) -> Inputs:
    """By name: a recipe with a shape, or an array of any library. UserError, in one line, says what is wrong."""
    if not inputs:
        raise UserError(f'a check needs inputs: name at least one, e.g. inputs={{"x": "{_EXAMPLE}"}}')
    recipes: dict[str, str] = {}
    shapes: dict[str, Shape] = {}
    for names, value in inputs.items():
        if not isinstance(names, str):
            raise UserError(f'{names!r} is no name of an input: write inputs={{"x": "{_EXAMPLE}"}}')
        for name in input_names(names):
            if not name.isidentifier():
                raise UserError(f"{name!r} is no name of an input: use letters, digits and _")
            if name in shapes:
                raise UserError(f"input {name!r} is given twice: remove one")
        text, shape = _of_text(names, value) if isinstance(value, str) else _of_array(names, value)
        recipes[names] = text
        shapes |= dict.fromkeys(input_names(names), shape)
    if any(0 in shape for shape in shapes.values()):
        raise UserError("an input has no elements: there is nothing to compare; use sizes of at least 1")
    integers = tuple(n for n, value in inputs.items() if not isinstance(value, str) and _integral(value))
    return Inputs(recipes, shapes, integers)


def _integral(value: Any) -> bool:
    return received(np.asarray(value) if isinstance(value, list) else value).dtype.kind in "iub"


def _of_text(names: str, text: str) -> tuple[str, Shape]:
    found = _SHAPED.fullmatch(text.strip())
    expression = found["recipe"] if found else text.strip()
    try:
        recipe = parse_recipe(expression, input_names(names))
    except RecipeError as error:
        raise TextError(str(error)) from None
    except ParameterError as error:
        raise UserError(str(error)) from None
    if isinstance(recipe, Given):
        if found:
            raise UserError(f"input {names}: a given array has its shape, {list(recipe.shape)}: leave out [...]")
        return f"given(@{recipe.content})", recipe.shape
    if not found:
        raise UserError(f"input {names} has no shape: write {names}={text.strip()}[8,128]")
    try:
        shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    except ValueError:
        raise UserError(f"input {names}: [{found['shape']}] is no shape: write whole numbers, e.g. [8,128]") from None
    if any(size < 0 for size in shape):
        raise UserError(f"input {names}: [{found['shape']}] is no shape: sizes are not negative")
    return expression, shape


def _of_array(names: str, value: Any) -> tuple[str, Shape]:
    if isinstance(value, list):
        try:
            value = np.asarray(value)
        except ValueError:
            raise UserError(f"input {names}: its rows differ in length: give an array") from None
    try:
        array: Array = received(value)
    except NotAnArray as kind:
        raise UserError(
            f'input {names} is of type {kind}: give a recipe with a shape, "{_EXAMPLE}", or an array'
        ) from None
    if len(input_names(names)) > 1:
        raise UserError(f"one array fills one input, not {names}: give one for each")
    try:
        recipe = STORE.add(array, names)
    except ParameterError as error:
        raise UserError(f"input {names}: {error}") from None
    return f"given(@{recipe.content})", recipe.shape
