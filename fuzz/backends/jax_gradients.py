"""Gradients by jax.vjp: an adapter for any function of arrays that jax can trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuzz.backends.base import Lazy, as_tuple

jax: Any = Lazy("jax")


def vjp(
    function: Callable[..., Any], *, inputs: int, wrt: Sequence[int], outputs: Sequence[int] = (0,)
) -> Callable[..., tuple[Any, ...]]:
    """A function of the `inputs` inputs of `function` and of the cotangents of its outputs number `outputs`, that gives
    the gradients with respect to the inputs number `wrt`, by jax.vjp."""

    def gradients(*arrays: Any) -> tuple[Any, ...]:
        primals, cotangents = list(arrays[:inputs]), arrays[inputs:]

        def of(*moving: Any) -> tuple[Any, ...]:
            given = list(primals)
            for number, value in zip(wrt, moving, strict=True):
                given[number] = value
            results = as_tuple(function(*given))
            return tuple(results[number] for number in outputs)

        _, pull = jax.vjp(of, *(primals[number] for number in wrt))
        return tuple(pull(tuple(cotangents)))

    return gradients
