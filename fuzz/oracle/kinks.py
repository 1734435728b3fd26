"""Derivatives at kinks: primitives that pass one side on, and at the kink itself accept everything between both.

A function with one-sided derivatives a and b has all numbers between them as (Clarke) subgradients at the kink. The
libraries differ there, each with a reason: max(x, 0) at 0 has slope 0 in torch.nn.functional.relu and 1/2 in
jax.numpy.maximum; of equal maxima one library takes the first and another shares. So at a kink the value is the middle,
(a + b) / 2, and the error bound is half the distance between the sides: accepted is what lies between them, and nothing
else. Off the kink, were it by one ulp of an input, only the one side is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def kinked(x: Any, at: Any, below: Any, above: Any) -> Any:
    """`above` where x > at, `below` where x < at, the middle where x equals `at`; NaN where one of both is NaN."""
    middle = (np.asarray(below) + above) * np.float32(0.5)
    middle = np.where(np.isnan(x) | np.isnan(at), np.float32(np.nan), middle)
    return np.where(np.greater(x, at), above, np.where(np.less(x, at), below, middle))


def chosen(x: Any, g: Any, *, axis: tuple[int, ...], largest: bool) -> Any:
    """`g`, with length 1 along `axis`, where an element of x is the largest (smallest) along it, 0 elsewhere.

    Half of `g` at each of several equal ones. Along a line with NaN everything is NaN.
    """
    extreme = (np.max if largest else np.min)(x, axis=axis, keepdims=True) if np.size(x) else x
    hits = np.equal(x, extreme)
    several = np.count_nonzero(hits, axis=axis, keepdims=True) > 1
    share = np.where(several, np.asarray(g) * np.float32(0.5), g)
    result = np.where(hits, share, np.zeros_like(share))
    return np.where(np.isnan(extreme), np.full_like(share, np.nan), result)


def kink(x: Any, at: Any, below: Any, above: Any) -> Any:
    """`kinked`, for references: of arrays, or recorded where one of the arguments is being traced."""
    return _called("kink", kinked, (x, at, below, above), {})


def choose(x: Any, g: Any, *, axis: tuple[int, ...], largest: bool) -> Any:
    """`chosen`, for references."""
    return _called("chosen", chosen, (x, g), {"axis": axis, "largest": largest})


def _called(name: str, function: Any, arguments: tuple[Any, ...], static: dict[str, Any]) -> Any:
    for argument in arguments:
        record = getattr(argument, "primitive", None)
        if record is not None:
            return record(name, arguments, static)
    return function(*arguments, **static)
