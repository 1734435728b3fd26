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
from msgspec import Struct

from fuzz.checking.adapters import ADAPTERS, library_of, received
from fuzz.checking.leaves import NARROW
from fuzz.checking.library import belongs

DEPTH = 3
"""Functions of the user's that a function calls are rebuilt, too, so deep."""

Change = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


class _How(Struct, frozen=True):
    """What becomes of the arrays."""

    depth: int
    change: Change | None = None
    """Of float64 arrays; None where those that are as wide stay what they are."""

    def deeper(self) -> _How:
        return _How(self.depth - 1, self.change)


def widened(function: Callable[..., Any], change: Change | None = None) -> Callable[..., Any]:
    """The function with wider copies of what it holds; itself where it holds nothing narrow.

    `change`: what to do to every floating-point array that it holds, once it is float64.
    """
    return _widened(function, _How(DEPTH, change))


def _widened(function: Callable[..., Any], how: _How) -> Callable[..., Any]:
    if isinstance(function, functools.partial):
        inside = _widened(function.func, how)
        arguments = [_wide(value, how) for value in function.args]
        keywords = {key: _wide(value, how) for key, value in function.keywords.items()}
        return functools.partial(inside, *arguments, **keywords)
    if isinstance(function, types.MethodType):
        held = _wide(function.__self__, how)
        same = held is function.__self__
        return function if same else types.MethodType(function.__func__, held)
    if isinstance(function, types.FunctionType):
        return _rebuilt(function, how)
    wrapped = getattr(function, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType) and not belongs(wrapped):  # compiled by jax.jit
        inside = _widened(wrapped, how)
        return function if inside is wrapped else inside
    changed: Callable[..., Any] = _wide(function, how)
    return changed


def _rebuilt(function: types.FunctionType, how: _How) -> Callable[..., Any]:
    if how.depth < 0 or belongs(function):
        return function
    names = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
    wide = {name: _wide(value, how.deeper()) for name, value in names.items()}
    changed = {name: value for name, value in wide.items() if value is not names[name]}
    cells = function.__closure__ or ()
    closure = tuple(_cell(cell, how.deeper()) for cell in cells)
    defaults = _wide(function.__defaults__, how.deeper())
    if not changed and defaults is function.__defaults__ and all(a is b for a, b in zip(cells, closure, strict=True)):
        return function
    globals_ = {**function.__globals__, **changed}
    made = types.FunctionType(function.__code__, globals_, function.__name__, defaults, closure)
    made.__kwdefaults__ = _wide(function.__kwdefaults__, how.deeper())
    return made


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _cell(cell: types.CellType, how: _How) -> types.CellType:
    try:
        content = cell.cell_contents
    except ValueError:  # not filled yet
        return cell
    wide = _wide(content, how)
    return cell if wide is content else types.CellType(wide)


def _wide(value: Any, how: _How) -> Any:
    """A float64 copy of a narrow array, of what holds such arrays, or the value itself."""
    if _is_module(value):
        return _module(value, how)
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if kind in (NARROW if how.change is None else (*NARROW, "float64")) and _is_array(value):
        return _array(value, how)
    if isinstance(value, Mapping):
        items = {key: _wide(item, how) for key, item in value.items()}
        if all(items[key] is value[key] for key in items):
            return value
        return items if type(value) is dict else type(value)(items)  # type: ignore[call-arg]  # FrozenDict and its like
    if type(value) in (tuple, list):
        parts = [_wide(item, how) for item in value]
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else type(value)(parts)
    if isinstance(value, types.FunctionType | functools.partial | types.MethodType) and how.depth >= 0:
        return _widened(value, how)
    return value


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and not isinstance(value, type)


def _array(value: Any, how: _How) -> Any:
    """In float64, of the same library."""
    wide = value.double() if hasattr(value, "double") else value.astype(np.float64)
    if how.change is None:
        return wide
    changed = how.change(received(wide))
    return ADAPTERS[library_of(wide)].send(changed) if not isinstance(wide, np.ndarray | np.generic) else changed


def _module(module: Any, how: _How) -> Any:
    tensors = [t for t in (*module.parameters(), *module.buffers()) if t.is_floating_point()]
    narrow = any(str(tensor.dtype).removeprefix("torch.") in NARROW for tensor in tensors)
    if not tensors or not (narrow or how.change):
        return module
    copied = copy.deepcopy(module).double()
    if how.change is not None:
        for tensor in (*copied.parameters(), *copied.buffers()):
            if tensor.is_floating_point():
                tensor.data = _array(tensor.data, how)
    return copied


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)
