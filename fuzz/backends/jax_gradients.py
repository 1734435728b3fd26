"""Gradients by jax.vjp: an adapter for any function of arrays that jax can trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.backends.base import Derivative, Lazy, as_tuple

jax: Any = Lazy("jax")


def vjp(function: Callable[..., Any], derivative: Derivative) -> Callable[..., tuple[Any, ...]]:
    """A function of the inputs of `function` and of cotangents that gives the gradients, by jax.vjp."""

    def gradients(*arrays: Any) -> tuple[Any, ...]:
        primals, cotangents = list(arrays[: derivative.inputs]), arrays[derivative.inputs :]

        def of(*moving: Any) -> tuple[Any, ...]:
            given = list(primals)
            for number, value in zip(derivative.wrt, moving, strict=True):
                given[number] = value
            results = as_tuple(function(*given))
            return tuple(results[number] for number in derivative.outputs)

        _, pull = jax.vjp(of, *(primals[number] for number in derivative.wrt))
        return tuple(pull(tuple(cotangents)))

    return gradients
