"""Names of the functions of a check: their own, made different and fit for a target."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from fuzz.backends import BACKENDS
from fuzz.checking.library import hinted
from fuzz.errors import UserError

_FIT = re.compile(r"[A-Za-z_][\w-]*")


def names_of(functions: Sequence[Callable[..., Any]], wanted: Sequence[str] | None = None) -> list[str]:
    """One name each. UserError where `wanted` ones do not fit."""
    if wanted is not None:
        return _checked(list(wanted), len(functions))
    own = [own_name(function) or f"f{number}" for number, function in enumerate(functions, 1)]
    return distinct(own, [(hinted(function) or ["f"])[0] for function in functions])


def distinct(own: Sequence[str], homes: Sequence[str]) -> list[str]:
    """The names with those of their homes (library, module) before them where two are alike, numbered if need be."""
    found: list[str] = []
    for name, home in zip(own, homes, strict=True):
        if own.count(name) > 1 or name in BACKENDS:
            name = f"{home}_{name}"
        tried, count = name, 1
        while tried in found or tried in BACKENDS:
            count += 1
            tried = f"{name}_{count}"
        found.append(tried)
    return found


def own_name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or type(function).__name__
    name = re.sub(r"\W+", "_", str(name)).strip("_")
    return name if _FIT.fullmatch(name) and name != "lambda" else ""


def _checked(names: list[str], count: int) -> list[str]:
    if len(names) != count:
        raise UserError(f"{len(names)} names for {count} functions: give one each")
    for name in names:
        if not _FIT.fullmatch(name):
            raise UserError(f"{name!r} is no name for a function: use letters, digits, _ and -")
        if name in BACKENDS:
            raise UserError(f"{name!r} is the name of a backend: choose another")
        if names.count(name) > 1:
            raise UserError(f"two functions are called {name!r}: give each its own name")
    return names
