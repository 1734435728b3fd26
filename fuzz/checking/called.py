"""A function with its library and the way its inputs are passed: NumPy arrays in, NumPy arrays out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fuzz.backends.base import Array, Derivative
from fuzz.checking.adapters import ADAPTERS, NotAnArray, outputs_of, received
from strategies.precision import PRECISIONS

FOREIGN = (Exception, SystemExit)
"""Whatever a user's code may raise."""
SHAKEN = 4
"""Copies of what a function holds, for `Called.shaken`."""


class Unusable(TypeError):
    """What a function returned cannot be judged. The message says what it is."""


class Called:
    """Calls a function of `library`, which `load` gives when it is first called.

    `outputs` are the names it has to return, where they have names. `widen`: on float64 inputs it is called with
    float64 copies of the arrays it holds, because its results there are to stand for the truth. `integers`: whether
    all functions of the check return integers or truth values as this output, which are compared as numbers of the
    inputs' dtype.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Callable[..., Any]],
        library: str,
        inputs: Sequence[str],
        by_name: bool,
        outputs: Sequence[str] = (),
        *,
        widen: bool = False,
        integers: Sequence[bool] = (),
    ) -> None:
        self.name, self._load, self.library = name, load, library
        self.inputs, self.by_name, self.outputs = tuple(inputs), by_name, tuple(outputs)
        self._widen, self._integers = widen, integers
        self._at: dict[str, Callable[..., Any]] = {}
        self._shaken: dict[int, Callable[..., Any]] = {}

    @functools.cached_property
    def function(self) -> Callable[..., Any]:
        return self._load()

    def __call__(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs on `arrays`, all of one dtype, in the order of `inputs`. Raises what the function raises."""
        adapter = ADAPTERS[self.library]
        dtype = arrays[0].dtype.name if arrays else "float32"
        with adapter.scope(dtype), np.errstate(all="ignore"):
            if dtype not in self._at:
                self._at[dtype] = self._in(dtype)
            sent = [adapter.send(array) for array in arrays]
            result = self.passed(self._at[dtype], sent)
            found = self.collected(result, dtype)
            integers = (*self._integers, *(False,) * len(found))
            return tuple(
                values.astype(PRECISIONS[dtype].numpy) if counts and values.dtype.kind in "iub" else values
                for values, counts in zip(found, integers, strict=False)
            )

    def gradients(self, arrays: Sequence[Array], derivative: Derivative) -> tuple[Array, ...]:
        """Gradients by the library's own differentiation; `arrays` are the inputs and then the cotangents."""
        adapter = ADAPTERS[self.library]
        assert adapter.vjp is not None
        dtype = arrays[0].dtype.name
        with adapter.scope(dtype), np.errstate(all="ignore"):
            if dtype not in self._at:
                self._at[dtype] = self._in(dtype)
            inside = self._at[dtype]
            derived = adapter.vjp(lambda *inputs: self.ordered(self.passed(inside, inputs)), derivative)
            return tuple(received(value) for value in derived(*(adapter.send(array) for array in arrays)))

    def shaken(self, arrays: Sequence[Array], number: int, delta: float) -> tuple[Array, ...]:
        """Float64 outputs with every array that the function holds multiplied by 1 +- `delta`, random signs.

        `number` names the signs; a few are kept, since making them copies what the function holds.
        """
        from fuzz.checking.widened import widened

        number %= SHAKEN
        if number not in self._shaken:
            random = np.random.default_rng(number)

            def change(array: Array) -> Array:
                moved: Array = array * (1.0 + delta * (2.0 * random.integers(0, 2, array.shape) - 1.0))
                return moved

            with ADAPTERS[self.library].scope("float64"):
                function = ADAPTERS[self.library].at(self.function, "float64")
                self._shaken[number] = widened(function, change)
        plain = self._at.get("float64")
        self._at["float64"] = self._shaken[number]
        try:
            return self(arrays)
        finally:
            self._at.pop("float64")
            if plain is not None:
                self._at["float64"] = plain

    def _in(self, dtype: str) -> Callable[..., Any]:
        function: Callable[..., Any] = ADAPTERS[self.library].at(self.function, dtype)
        if self._widen and dtype == "float64":
            from fuzz.checking.widened import widened

            return widened(function)
        return function

    def passed(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """`function` called with the inputs by name or by position."""
        if self.by_name:
            return function(**dict(zip(self.inputs, values, strict=True)))
        return function(*values)

    def ordered(self, result: Any) -> tuple[Any, ...]:
        """What it returned, in the order of `outputs`; Unusable where one is missing."""
        names, values = outputs_of(result)
        if any(names) and self.outputs:
            found: Mapping[str, Any] = dict(zip(names, values, strict=True))
            if missing := [name for name in self.outputs if name not in found]:
                raise Unusable(f"returned no {', '.join(missing)}: it has {', '.join(names)}")
            values = [found[name] for name in self.outputs]
        return tuple(values)

    def collected(self, result: Any, dtype: str) -> tuple[Array, ...]:
        """The arrays of what it returned; Unusable says what was returned instead.

        A float of Python has no dtype of its own: it gets that of the inputs.
        """
        try:
            return tuple(
                np.asarray(value, PRECISIONS[dtype].numpy) if type(value) is float else received(value)
                for value in self.ordered(result)
            )
        except NotAnArray as kind:
            raise Unusable(f"returned {kind}: return an array, or a tuple or dict of arrays") from None


def takes_by_name(function: Callable[..., Any], names: Sequence[str]) -> bool:
    """Whether the function has parameters with the names of all inputs, so that their order cannot go wrong."""
    parameters = parameters_of(function)
    return bool(names) and all(name in parameters for name in names)


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """Names of parameters that can be passed by name, in order; none where the signature is not known."""
    return [p.name for p in _signature(function) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def places_of(function: Callable[..., Any]) -> list[str]:
    """Names of parameters that inputs without a name fill, in order: those that can be passed by position first."""
    found = [p for p in _signature(function) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return [p.name for p in sorted(found, key=lambda p: p.kind == p.KEYWORD_ONLY)]


def _signature(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    target = getattr(function, "forward", function)  # a torch module's __call__ takes anything
    try:
        return list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return []
