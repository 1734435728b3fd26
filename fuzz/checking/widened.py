"""A function with the arrays that it holds in float64: parameters, statistics, constants of a closure.

Its float64 results are to stand for the truth. A float32 array that a function holds would draw float32 arithmetic into
them (a JAX rsqrt of a float32 variance is a float32 number, whatever it is multiplied with), so the truth is computed
with exact float64 copies of all such arrays.
"""

from __future__ import annotations

import copy
import functools
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fuzz.checking.leaves import NARROW
from fuzz.checking.library import belongs

DEPTH = 3
"""Functions of the user's that a function calls are rebuilt, too, so deep."""


def widened(function: Callable[..., Any], depth: int = DEPTH) -> Callable[..., Any]:
    """The function with wider copies of what it holds; itself where it holds nothing narrow."""
    if isinstance(function, functools.partial):
        inside = widened(function.func, depth)
        arguments = [_wide(value, depth) for value in function.args]
        keywords = {key: _wide(value, depth) for key, value in function.keywords.items()}
        return functools.partial(inside, *arguments, **keywords)
    if isinstance(function, types.MethodType):
        held = _wide(function.__self__, depth)
        same = held is function.__self__
        return function if same else types.MethodType(function.__func__, held)
    if isinstance(function, types.FunctionType):
        return _rebuilt(function, depth)
    wrapped = getattr(function, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType) and not belongs(wrapped):  # compiled by jax.jit
        inside = widened(wrapped, depth)
        return function if inside is wrapped else inside
    changed: Callable[..., Any] = _wide(function, depth)
    return changed


def _rebuilt(function: types.FunctionType, depth: int) -> Callable[..., Any]:
    if depth < 0 or belongs(function):
        return function
    names = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
    wide = {name: _wide(value, depth - 1) for name, value in names.items()}
    changed = {name: value for name, value in wide.items() if value is not names[name]}
    cells = function.__closure__ or ()
    closure = tuple(_cell(cell, depth - 1) for cell in cells)
    defaults = _wide(function.__defaults__, depth - 1)
    if not changed and defaults is function.__defaults__ and all(a is b for a, b in zip(cells, closure, strict=True)):
        return function
    globals_ = {**function.__globals__, **changed}
    made = types.FunctionType(function.__code__, globals_, function.__name__, defaults, closure)
    made.__kwdefaults__ = _wide(function.__kwdefaults__, depth - 1)
    return made


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _cell(cell: types.CellType, depth: int) -> types.CellType:
    try:
        content = cell.cell_contents
    except ValueError:  # not filled yet
        return cell
    wide = _wide(content, depth)
    return cell if wide is content else types.CellType(wide)


def _wide(value: Any, depth: int) -> Any:
    """A float64 copy of a narrow array, of what holds such arrays, or the value itself."""
    if _is_module(value):
        narrow = any(str(p.dtype).removeprefix("torch.") in NARROW for p in (*value.parameters(), *value.buffers()))
        return copy.deepcopy(value).double() if narrow else value
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if kind in NARROW and hasattr(value, "shape") and not isinstance(value, type):
        return value.double() if hasattr(value, "double") else value.astype(np.float64)
    if isinstance(value, Mapping):
        items = {key: _wide(item, depth) for key, item in value.items()}
        if all(items[key] is value[key] for key in items):
            return value
        return items if type(value) is dict else type(value)(items)  # type: ignore[call-arg]  # FrozenDict and its like
    if type(value) in (tuple, list):
        parts = [_wide(item, depth) for item in value]
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else type(value)(parts)
    if isinstance(value, types.FunctionType | functools.partial | types.MethodType) and depth >= 0:
        return widened(value, depth)
    return value


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)
