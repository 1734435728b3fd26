"""A backend of plain NumPy functions: what NumPy and SciPy use here, and the public way to test one's own kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from fuzz.backends.base import (
    Array,
    Backend,
    Implementation,
    Kernel,
    Provenance,
    Request,
    SimpleKernel,
    Unsupported,
    as_tuple,
)
from fuzz.backends.functions_spelling import spelled
from fuzz.backends.spelling import Spelling, Wanted

Function = TypeVar("Function", bound=Callable[..., Any])


class FunctionBackend(Backend):
    """Functions on NumPy arrays: inputs by position in the contract's order, attributes by keyword.

    A function with a parameter called `out` writes its result there (a tuple when there are several outputs): the
    engine's guarded buffer, so a write beyond its end is seen. Otherwise it returns an array or a tuple of arrays.
    Variants of layout hand it arrays as NumPy's own slicing makes them: with strides, reversed, misaligned.
    """

    layouts = ("strided", "offset", "F", "negative", "channels_last")

    def __init__(self, name: str, doc: str = "", *, module: str = "", install: str = "") -> None:
        super().__init__()
        self.name, self.doc, self.module, self.install = name, doc, module, install

    def operator(
        self,
        operator: str,
        *,
        name: str = "",
        provenance: Provenance = "user",
        source: str = "",
        dtypes: tuple[str, ...] = ("float32", "float64"),
    ) -> Callable[[Function], Function]:
        """Decorator that registers a function; `name` of the formulation defaults to the function's own.

        `source` is the text reports show for it and defaults to the first line of its docstring, then to the name.
        """

        def register(function: Function) -> Function:
            called = name or function.__name__
            shown = source or (function.__doc__ or "").strip().partition("\n")[0] or called
            self.implementation(operator, called, shown, provenance, dtypes)(function)
            return function

        return register

    def prepare(self, request: Request) -> Kernel:
        if request.device != self.default_device:
            raise Unsupported(f"{self.name} has no device {request.device}: it has {self.default_device}")
        implementation, outputs = request.implementation, request.outputs
        bound = partial(implementation.function, *request.inputs.values(), **request.attributes)
        if "out" in inspect.signature(implementation.function).parameters:
            return _writing(partial(bound, out=outputs[0] if len(outputs) == 1 else outputs), outputs)
        return _returning(bound, self.name, implementation, len(outputs))

    def spell(self, wanted: Wanted) -> Spelling:
        return spelled(wanted, self.module)


def _writing(bound: Callable[[], Any], outputs: tuple[Array, ...]) -> Kernel:
    def call() -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            bound()
        return outputs

    return SimpleKernel(call, engine_owned=True)


def _returning(bound: Callable[[], Any], backend: str, implementation: Implementation, count: int) -> Kernel:
    where = f"{backend} function {implementation.name!r} for {implementation.operator}"

    def call() -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            result = bound()
        if result is None:
            raise TypeError(f"{where} returned None: return an array, or take a parameter called out and fill it")
        arrays = tuple(np.asarray(item, order="C") for item in as_tuple(result))
        if len(arrays) != count:
            raise TypeError(f"{where} returned {len(arrays)} arrays: the operator has {count}")
        return arrays

    return SimpleKernel(call)
