"""How functions of each library are called: NumPy arrays in, NumPy arrays out, in the precision asked for."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.backends.base import BFLOAT16, Array, Derivative, Lazy

torch: Any = Lazy("torch")
jax: Any = Lazy("jax")
jnp: Any = Lazy("jax.numpy")
tvm: Any = Lazy("tvm")


class NotAnArray(TypeError):
    """What a function returned is no array of any library. The message names its type."""


@contextlib.contextmanager
def _nothing(dtype: str) -> Iterator[None]:
    yield


@contextlib.contextmanager
def _x64(dtype: str) -> Iterator[None]:
    with jax.enable_x64(dtype == "float64"):
        yield


@contextlib.contextmanager
def _no_gradients(dtype: str) -> Iterator[None]:
    with torch.no_grad():
        yield


class Adapter(Struct, frozen=True):
    """One library. `send` makes its array of a NumPy array, without sharing where the library might write."""

    name: str
    send: Callable[[Array], Any]
    scope: Callable[[str], contextlib.AbstractContextManager[None]] = _nothing
    """Around a call whose inputs have this dtype."""
    at: Callable[[Any, str], Any] = lambda function, dtype: function
    """The function for inputs of this dtype."""
    vjp: Callable[[Callable[..., Any], Derivative], Callable[..., tuple[Any, ...]]] | None = None
    """Makes a function of inputs and cotangents that gives gradients; None where the library does not differentiate."""
    differentiates: str = ""
    """What does it, for reports."""


def _to_torch(array: Array) -> Any:
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _to_tvm(array: Array) -> Any:
    return tvm.runtime.tensor(array)


def _module_at(function: Any, dtype: str) -> Any:
    """A copy of a module with parameters and buffers in this dtype; other callables as they are."""
    if isinstance(function, torch.nn.Module):
        return copy.deepcopy(function).to(getattr(torch, dtype)).eval()
    return function


def _torch_vjp(function: Callable[..., Any], derivative: Derivative) -> Callable[..., tuple[Any, ...]]:
    from fuzz.backends.torch_gradients import vjp

    return vjp(function, inputs=derivative.inputs, wrt=derivative.wrt, outputs=derivative.outputs)


def _jax_vjp(function: Callable[..., Any], derivative: Derivative) -> Callable[..., tuple[Any, ...]]:
    from fuzz.backends.jax_gradients import vjp

    return vjp(function, inputs=derivative.inputs, wrt=derivative.wrt, outputs=derivative.outputs)


ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (
        Adapter("numpy", lambda array: array),
        Adapter("torch", _to_torch, _no_gradients, _module_at, _torch_vjp, "torch.autograd.grad"),
        Adapter("jax", lambda array: jnp.asarray(array), _x64, vjp=_jax_vjp, differentiates="jax.vjp"),
        Adapter("tvm", _to_tvm),
    )
}
"""Libraries by name, in the order in which a function that shows none is tried."""


def _of_torch(value: Any) -> Array:
    if value.layout != torch.strided:
        raise NotAnArray("sparse tensor of torch")
    tensor = value.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        bits: Array = tensor.view(torch.int16).numpy()
        return bits.view(BFLOAT16)
    array: Array = tensor.numpy()
    return array


def _of_jax(value: Any) -> Array:
    return np.asarray(value)


def _of_tvm(value: Any) -> Array:
    array: Array = value.numpy()
    return array


_RECEIVERS: dict[str, Callable[[Any], Array]] = {
    "torch": _of_torch,
    "jax": _of_jax,
    "jaxlib": _of_jax,
    "tvm": _of_tvm,
    "tvm_ffi": _of_tvm,
}
"""By the top-level module of an array's class."""


_HOMES = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "tvm": "tvm", "tvm_ffi": "tvm"}


def library_of(value: Any) -> str:
    """The library whose array this is; "numpy" for NumPy's and Python's own numbers."""
    return next(
        (_HOMES[root] for kind in type(value).__mro__ if (root := kind.__module__.partition(".")[0]) in _HOMES), "numpy"
    )


def received(value: Any) -> Array:
    """The NumPy array of what a function returned; NotAnArray where it is none."""
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return np.asarray(value)
    for kind in type(value).__mro__:
        receive = _RECEIVERS.get(kind.__module__.partition(".")[0])
        if receive is not None and hasattr(value, "dtype"):
            return np.asarray(receive(value))
    raise NotAnArray(f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins."))


def outputs_of(result: Any) -> tuple[list[str], list[Any]]:
    """Names (empty where there are none) and values of what a function returned: one array, several, or a dict."""
    if isinstance(result, dict):
        return [str(key) for key in result], list(result.values())
    if isinstance(result, tuple | list):
        return [""] * len(result), list(result)
    of_relax = type(result).__module__.partition(".")[0] in ("tvm", "tvm_ffi")
    if of_relax and hasattr(result, "__len__") and not hasattr(result, "dtype"):
        return [""] * len(result), list(result)
    return [""], [result]


def x64() -> bool:
    """Whether JAX computes in float64 where this process asks it to."""
    if "jax" in sys.modules:
        return bool(jax.config.jax_enable_x64)
    return os.environ.get("JAX_ENABLE_X64", "").lower() in ("1", "true", "yes", "on", "y", "t")
