"""Recipes as text: `abs(normal(1,1))`. A recursive-descent parser; nothing is evaluated.

recipe   = name "(" [ argument { "," argument } ] ")"
argument = number | recipe
given    = "given" "(" file [ ":" key ] ")"        the file may be in double quotes
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from strategies.given import STORE
from strategies.recipe import RECIPES, Argument, ParameterError, Recipe, RecipeKind, unknown_recipe

Resolver: TypeAlias = Callable[[str, str], Recipe]
"""(text inside given(...), input name) -> recipe. `GivenStore.load_text` is one."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf\b|nan\b)")
_FILE = re.compile(r'"(?P<quoted>[^"]*)"|(?P<bare>[^"(),]*)')
_SPACE = re.compile(r"\s*")


class RecipeError(ValueError):
    """A recipe expression that cannot be read. str() is three lines: what and how to fix it, the text, a caret."""

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(f"{message}\n  {text}\n  {' ' * position}^")
        self.message = message
        self.text = text
        self.position = position


def parse_recipe(text: str, fills: Sequence[str], resolver: Resolver = STORE.load_text) -> Recipe:
    """The recipe that `text` describes, for the inputs `fills`. RecipeError points at the first mistake.

    `resolver` loads what given(...) names; by default from the file, into the arrays of this process.
    """
    parser = _Parser(text.replace("\n", " ").replace("\t", " "), tuple(fills), resolver)
    recipe = parser.recipe()
    parser.end()
    return recipe


def split_input(text: str) -> tuple[str, str]:
    """("x", "normal(0,1)") for "x=normal(0,1)", ("a,b", "alike(...)") for "a, b = alike(...)".

    RecipeError when it does not start with a name, or several with commas between, and "=".
    """
    names, equals, expression = text.partition("=")
    if not equals or not all(map(_NAME.fullmatch, input_names(names))):
        raise RecipeError("expected INPUT=RECIPE, for instance x=normal(0,1)", text, 0)
    return ",".join(input_names(names)), expression.strip()


def input_names(text: str) -> tuple[str, ...]:
    """("a", "b") for "a,b": the inputs that one recipe fills."""
    return tuple(name.strip() for name in text.split(","))


class _Parser:
    """A cursor over one expression."""

    def __init__(self, text: str, fills: tuple[str, ...], resolver: Resolver) -> None:
        self.text = text
        self.fills = fills
        self.resolver = resolver
        self.at = 0

    def recipe(self) -> Recipe:
        self._space()
        start = self.at
        name = self._match(_NAME)
        if name is None:
            raise self._error(f"expected a recipe such as normal(0,1){self._instead(start)}", start)
        if name not in RECIPES:
            raise self._error(unknown_recipe(name), start)
        kind = RECIPES[name]
        self._space()
        if not self._take("("):
            raise self._error(f"expected '(': write {kind.example}", self.at)
        return self._given(start) if name == "given" else self._call(kind, start)

    def end(self) -> None:
        self._space()
        if self.at < len(self.text):
            raise self._error("expected the end: remove what follows the recipe", self.at)

    def _call(self, kind: RecipeKind, start: int) -> Recipe:
        values: dict[str, Any] = {}
        positions: dict[str | None, int] = {None: start}
        needed = sum(argument.default is None for argument in kind.arguments)
        self._space()
        closed = self._take(")")
        while not closed:
            self._space()
            if len(values) == len(kind.arguments):
                raise self._error(f"too many arguments: {_takes(kind)}", self.at)
            argument = kind.arguments[len(values)]
            positions[argument.name] = self.at
            values[argument.name] = self._argument(kind, argument)
            self._space()
            closed = self._take(")")
            if not closed and not self._take(","):
                raise self._error(f"expected ',' or ')'{self._instead(self.at)}", self.at)
        if len(values) < needed:
            raise self._error(f"too few arguments: {_takes(kind)}", self.at - 1)
        try:
            return kind.make(self.fills, **values)
        except ParameterError as error:
            raise self._error(str(error), positions.get(error.parameter, start)) from None

    def _argument(self, kind: RecipeKind, argument: Argument) -> Any:
        if argument.type == "recipe":
            return self.recipe()
        start = self.at
        number = self._match(_NUMBER)
        if number is None:
            raise self._error(f"expected a {argument.type} for {argument.name}: {_takes(kind)}", start)
        return float(number)

    def _given(self, start: int) -> Recipe:
        self._space()
        at = self.at
        match = _FILE.match(self.text, at)
        assert match is not None  # the bare form matches the empty text
        self.at = match.end()
        file = (match["quoted"] if match["quoted"] is not None else match["bare"]).strip()
        self._space()
        if not file:
            raise self._error("given needs a file: write given(weights.npz:w)", at)
        if not self._take(")"):
            raise self._error("expected ')': put a file name with commas or brackets in double quotes", self.at)
        try:
            return self._resolved(file)
        except ParameterError as error:
            raise self._error(str(error), at) from None

    def _resolved(self, file: str) -> Recipe:
        recipe = self.resolver(file, self.fills[0])
        if recipe.fills != self.fills:
            raise ParameterError(f"given fills one input, not {', '.join(self.fills)}: use one given() for each")
        return recipe

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match.group()

    def _take(self, token: str) -> bool:
        taken = self.text.startswith(token, self.at)
        self.at += len(token) if taken else 0
        return taken

    def _space(self) -> None:
        self._match(_SPACE)

    def _instead(self, at: int) -> str:
        return f", got {self.text[at]!r}" if at < len(self.text) else ", got nothing more"

    def _error(self, message: str, position: int) -> RecipeError:
        return RecipeError(message, self.text, position)


def _takes(kind: RecipeKind) -> str:
    return f"write {kind.signature}, for instance {kind.example}" if kind.arguments else f"write {kind.name}()"
