"""Arrays that a function holds: parameters, statistics, closures. Which of them are narrower than its inputs?"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

NARROW = ("float32", "float16", "bfloat16")
DEPTH = 6


def narrow_leaves(function: Callable[..., Any], library: str) -> list[str]:
    """Names of the arrays in a closure, a partial, defaults, globals or attributes that have 32 bits or fewer.

    torch modules are not looked into: they are converted to the precision of the inputs.
    """
    found: dict[str, None] = {}
    for name, value in _held(function):
        for path, leaf in _leaves(name, value, DEPTH, set()):
            if str(getattr(leaf, "dtype", "")).removeprefix("torch.") in NARROW:
                found[path] = None
    return list(found)


def _held(function: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(function, functools.partial):
        yield from ((f"argument {number}", value) for number, value in enumerate(function.args))
        yield from function.keywords.items()
        yield from _held(function.func)
        return
    if isinstance(function, types.MethodType):
        yield "self", function.__self__
        function = function.__func__
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _leaves(path: str, value: Any, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if depth < 0 or id(value) in seen or isinstance(value, types.ModuleType | type | str | bytes):
        return
    seen.add(id(value))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{path}[{key!r}]", item, depth - 1, seen)
    elif isinstance(value, tuple | list):
        for number, item in enumerate(value):
            yield from _leaves(f"{path}[{number}]", item, depth - 1, seen)
    elif isinstance(value, types.FunctionType | functools.partial | types.MethodType):
        for name, item in _held(value):
            yield from _leaves(f"{path}.{name}", item, depth - 2, seen)
