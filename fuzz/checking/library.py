"""Which library a function belongs to: by what its code names, and by trying."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fuzz.checking.adapters import ADAPTERS

DEPTH = 3
"""Functions called by functions are looked into so deep."""
_ALIASES = {"jaxlib": "jax", "flax": "jax", "tvm_ffi": "tvm", "torchvision": "torch", "scipy": "numpy"}


def hinted(function: Callable[..., Any]) -> list[str]:
    """Libraries that the function's code, closure or class names, those that are not NumPy first."""
    found = dict.fromkeys(_hints(function, DEPTH, set()))
    return sorted(found, key=lambda name: (name == "numpy", list(ADAPTERS).index(name)))


def candidates(function: Callable[..., Any]) -> Iterator[str]:
    """Libraries to try the function with, the likeliest first: those it names, NumPy, and what is imported already.

    Last, for a function that names none and calls methods only, what is installed: it is imported when asked for.
    """
    named = hinted(function)
    first = [*named, *(name for name in ADAPTERS if name == "numpy" or name in sys.modules)]
    yield from dict.fromkeys(first)
    if not named:
        yield from (name for name in ADAPTERS if name not in first and importlib.util.find_spec(name) is not None)


def _hints(value: Any, depth: int, seen: set[int]) -> Iterator[str]:
    if id(value) in seen or depth < 0:
        return
    seen.add(id(value))
    if isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _hints(part, depth, seen)
        return
    if isinstance(value, types.ModuleType):
        yield from _root(value.__name__)
        return
    if isinstance(value, type):
        for base in value.__mro__:
            yield from _root(base.__module__)
        return
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _hints(item, depth - 1, seen)
        return
    yield from _root(type(value).__module__)
    yield from _root(getattr(value, "__module__", None) or "")
    if isinstance(value, types.MethodType):
        yield from _hints(value.__self__, depth, seen)
        value = value.__func__
    wrapped = inspect.unwrap(value) if callable(value) else value
    if wrapped is not value:
        yield from _hints(wrapped, depth, seen)
    code = getattr(value, "__code__", None)
    if code is None:
        call = vars(type(value)).get("__call__")
        if isinstance(call, types.FunctionType) and not belongs(type(value)):
            yield from _hints(call, depth - 1, seen)
            for part in vars(value).values() if hasattr(value, "__dict__") else ():
                yield from _hints(part, depth - 1, seen)
        return
    if belongs(value):
        return  # of a library: its own insides say nothing more
    for name in _names(code):
        if name in value.__globals__:
            yield from _hints(value.__globals__[name], depth - 1, seen)
        else:  # an import inside the function
            yield from _root(name)
    for cell in value.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        yield from _hints(content, depth - 1, seen)
    for default in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
        yield from _hints(default, depth - 1, seen)


def _names(code: types.CodeType) -> Iterator[str]:
    """Global names that code uses, those of the functions inside it too, and modules it imports itself."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def belongs(value: Any) -> bool:
    """Whether a function or class is one of a library: its insides say nothing of its user."""
    return bool(list(_root(getattr(value, "__module__", None) or "")))


def _root(module: str) -> Iterator[str]:
    root = str(module).partition(".")[0]
    name = _ALIASES.get(root, root)
    if name in ADAPTERS:
        yield name
