"""Recipe: the population one or more inputs are drawn from, as a frozen value; and the registry of its kinds."""

from __future__ import annotations

import difflib
import functools
import math
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import NODEFAULT, Struct

from strategies.contract import ContractError, Shape
from strategies.precision import DType, precision

Array: TypeAlias = npt.NDArray[np.floating[Any]]
Support: TypeAlias = tuple[float, float]
"""Smallest closed interval that holds every value a population can take (NaN aside)."""
Probability: TypeAlias = Annotated[float, "probability"]


class ParameterError(ValueError):
    """A recipe's parameter makes no sense. One line; `parameter` names the field (None: all of them together)."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class Recipe(Struct, frozen=True):
    """How the elements of the inputs named in `fills` are drawn.

    Every kind documents its population as that of ONE element, at the home dtype. Elements are independent unless
    the kind says otherwise. Parameters of type float are rounded to the home dtype before use. To give the same bytes
    on every machine a kind may use only + - * / sqrt, ldexp, frexp, comparisons, bit patterns and the Generator.
    """

    fills: tuple[str, ...]
    kind: ClassVar[str] = ""
    joins: ClassVar[int] = 0
    """Inputs that it fills together; 0: one or more, each by itself."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "fills", tuple(self.fills))
        if not self.fills:
            raise ParameterError(f"{self.kind} fills no input: name at least one")
        if self.joins and len(set(self.fills)) != self.joins:
            example = f"a,b={RECIPES[self.kind].example}"
            raise ParameterError(f"{self.kind} fills {self.joins} inputs, not {','.join(self.fills)}: write {example}")
        for argument in RECIPES[self.kind].arguments:
            value = _coerced(self, argument, getattr(self, argument.name))
            msgspec.structs.force_setattr(self, argument.name, value)
        self.validate()

    def validate(self) -> None:
        """Raise ParameterError when the parameters contradict each other."""

    def check(self, home: DType, shapes: Sequence[Shape]) -> None:
        """Raise ContractError (one line) when inputs of these shapes cannot be drawn at `home`."""
        p = precision(home)
        for argument in RECIPES[self.kind].arguments:
            value = getattr(self, argument.name)
            if isinstance(value, Recipe):
                value.check(home, shapes)
            elif argument.type == "number" and value and math.isfinite(value):
                if abs(value) > p.largest:
                    raise ContractError(f"{value!r} in {self} overflows {home}: its largest number is {p.largest!r}")
                if abs(value) < p.smallest_subnormal:
                    least = p.smallest_subnormal
                    raise ContractError(f"{value!r} in {self} vanishes in {home}: its smallest number is {least!r}")

    def at(self, index: int, home: DType, shapes: Sequence[Shape]) -> Recipe:
        """What draw `index` is drawn by: the recipe itself, unless its draws differ by more than their stream."""
        return self

    def support(self, home: DType) -> Support:
        """Where the values of the population lie."""
        raise NotImplementedError

    def supports(self, home: DType) -> tuple[Support, ...]:
        """`support` of each input filled."""
        return (self.support(home),) * len(self.fills)

    def draw(self, stream: np.random.Generator, outs: Sequence[Array]) -> None:
        """Fill `outs` (one C-contiguous array of the home dtype per name in `fills`) in place."""
        for out in outs:
            self.fill(stream, out)

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        """Fill one C-contiguous array."""
        raise NotImplementedError

    def plain(self) -> dict[str, Any]:
        """JSON values, read back by `recipe_from_plain`. A nested recipe does not repeat the inputs it fills."""
        return {"fills": list(self.fills), **self.nested_plain()}

    def nested_plain(self) -> dict[str, Any]:
        """`plain` without the inputs."""
        values = {a.name: _plain(getattr(self, a.name)) for a in RECIPES[self.kind].arguments}
        return {"kind": self.kind, **values}

    def identifying(self) -> dict[str, Any]:
        """`plain` without what is for display only: what ids are made of."""
        return _without_display(self.plain())

    def expression(self) -> str:
        """Text that `strategies.expressions.parse_recipe` reads back."""
        return f"{self.kind}({','.join(_text(getattr(self, a.name)) for a in RECIPES[self.kind].arguments)})"

    def __str__(self) -> str:
        return self.expression()


class Argument(Struct, frozen=True):
    """A parameter of a recipe kind. `type` is a value of `ARGUMENT_TYPES`."""

    name: str
    type: str
    default: float | int | None = None
    """None: the parameter must be given."""


class RecipeKind(Struct, frozen=True):
    """A row of `RECIPES`: what `list recipes` shows and what the grammar accepts."""

    name: str
    make: type[Recipe]
    doc: str
    arguments: tuple[Argument, ...]
    example: str
    joins: int = 0
    """Inputs that it fills together; 0: one or more, each by itself."""

    @property
    def signature(self) -> str:
        """For instance "offset(m, s=1)"."""
        shown = (a.name if a.default is None else f"{a.name}={_text(a.default)}" for a in self.arguments)
        return f"{self.name}({', '.join(shown)})"


RECIPES: dict[str, RecipeKind] = {}
"""Kinds of recipe by name, in alphabetical order, filled by `register`."""

ARGUMENT_TYPES: dict[Any, str] = {
    float: "number",
    int: "whole number",
    Probability: "probability",
    Recipe: "recipe",
    str: "text",
    tuple[int, ...]: "shape",
}
"""Type of a recipe's field -> what the user is told it is."""

DISPLAY_ONLY = frozenset({"name"})
"""Fields of plain recipes that do not count in an id."""

Kind = TypeVar("Kind", bound=type[Recipe])


def register(name: str, example: str) -> Callable[[Kind], Kind]:
    """Class decorator: the recipe can be written `name(...)`; its arguments are its fields, in order."""

    def decorate(cls: Kind) -> Kind:
        cls.kind = name
        hints = typing.get_type_hints(cls, include_extras=True)
        arguments = tuple(
            Argument(f.name, ARGUMENT_TYPES[hints[f.name]], None if f.default is NODEFAULT else f.default)
            for f in msgspec.structs.fields(cls)
            if f.name != "fills"
        )
        RECIPES[name] = RecipeKind(name, cls, (cls.__doc__ or "").strip(), arguments, example, cls.joins)
        for known in sorted(RECIPES):  # whichever module was imported first
            RECIPES[known] = RECIPES.pop(known)
        return cls

    return decorate


def unknown_recipe(name: str, known: Iterable[str] = RECIPES) -> str:
    """One line for a recipe name that does not exist, with the nearest that does."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"unknown recipe {name!r}: " + (f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}")


def recipe_from_plain(plain: Mapping[str, Any], fills: Sequence[str] | None = None) -> Recipe:
    """Inverse of `Recipe.plain`; a nested recipe fills what the outer one does. ParameterError for an unknown kind."""
    inputs = tuple(plain["fills"] if fills is None else fills)
    if plain["kind"] not in RECIPES:
        raise ParameterError(unknown_recipe(plain["kind"]))
    kind = RECIPES[plain["kind"]]
    values = {a.name: _READERS.get(a.type, _as_is)(plain[a.name], inputs) for a in kind.arguments}
    return kind.make(inputs, **values)


def _as_is(value: Any, inputs: tuple[str, ...]) -> Any:
    return value


_READERS: dict[str, Callable[[Any, tuple[str, ...]], Any]] = {
    "number": lambda value, inputs: float(value),
    "recipe": recipe_from_plain,
}


def _coerced(recipe: Recipe, argument: Argument, value: Any) -> Any:
    """`value` as the argument's type, so that 1 and 1.0 are one recipe with one id."""
    where = f"{argument.name} of {recipe.kind}"
    if argument.type in ("number", "probability"):
        value = float(value)
        if argument.type == "probability" and not 0 <= value <= 1:
            raise ParameterError(f"{where} is {_text(value)}: use a probability from 0 to 1", argument.name)
    elif argument.type == "whole number":
        if not math.isfinite(value) or value != int(value):
            raise ParameterError(f"{where} is {_text(value)}: use a whole number", argument.name)
        value = int(value)
    elif argument.type == "recipe":
        if not isinstance(value, Recipe):
            raise ParameterError(f"{where} is {value!r}: use a recipe such as normal(0,1)", argument.name)
        if value.fills != recipe.fills:
            raise ParameterError(f"{where} fills {value.fills}, the outer recipe {recipe.fills}: use the same inputs")
    elif argument.type == "shape":
        value = tuple(value)
    return value


def at_home(value: float, home: DType) -> float:
    """`value` rounded to the format `home`."""
    return float(precision(home).round(value))


def require_finite(recipe: Recipe, *names: str) -> None:
    """ParameterError unless the named parameters are finite."""
    for name in names:
        value = getattr(recipe, name)
        if not math.isfinite(value):
            raise ParameterError(f"{name} of {recipe.kind} is {_text(value)}: use a finite number", name)


def _plain(value: Any) -> Any:
    if isinstance(value, Recipe):
        return value.nested_plain()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


@functools.singledispatch
def _text(value: Any) -> str:
    """An argument as the grammar reads it; floats without a useless ".0"."""
    return str(value)


@_text.register
def _(value: float) -> str:
    return repr(value).removesuffix(".0")


def _without_display(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_display(value) if isinstance(value, Mapping) else value
        for key, value in plain.items()
        if key not in DISPLAY_ONLY
    }
