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

from fuzz.oracle.frames import Constant, Frame, Operand


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


def kink_rule(f: Frame) -> None:
    """E of the side taken; where x may equal `at` within its error, of both, and half of what lies between them."""
    x, at, below, above = f.operands
    np.copyto(f.value, kinked(x.value, at.value, below.value, above.value))
    may_tie = np.abs(np.subtract(x.value, at.value)) <= f.charges.u * (_rounding(x) + _rounding(at))
    may_tie |= np.equal(x.value, at.value)  # infinities
    over = np.greater(x.value, at.value)
    for operand, may in ((above, over | may_tie), (below, ~over | may_tie)):
        for key, part in operand.parts.items():
            f.raise_to(key, np.where(may, part, 0.0))
    distance = np.maximum(np.abs(above.value - f.value), np.abs(below.value - f.value))
    f.put(0, np.where(may_tie, distance / f.charges.u, 0.0))


def chosen_rule(f: Frame) -> None:
    """E of what is passed on; where several may be the largest within their errors, each may get all or nothing."""
    x, g = f.operands
    axis, largest = f.static["axis"], f.static["largest"]
    np.copyto(f.value, chosen(x.value, g.value, axis=axis, largest=largest))
    if not np.size(x.value):
        return
    extreme = (np.max if largest else np.min)(x.value, axis=axis, keepdims=True)
    error = np.broadcast_to(_rounding(x), np.shape(x.value))
    at_extreme = np.max(np.where(x.value == extreme, error, 0.0), axis=axis, keepdims=True)
    near = np.abs(x.value - extreme) <= f.charges.u * (error + at_extreme)
    near |= x.value == extreme
    tied = near & (np.count_nonzero(near, axis=axis, keepdims=True) > 1)
    for key, part in g.parts.items():
        f.put(key, np.where(near, part, 0.0))
    distance = np.maximum(np.abs(g.value - f.value), np.abs(f.value))
    f.put(0, np.where(tied, distance / f.charges.u, 0.0))


def _rounding(operand: Operand) -> Any:
    """E of what is compared. A number that was given is compared exactly: no error of its own may move it to a kink."""
    if isinstance(operand, Constant) or not operand.seeded():
        return operand.total()
    return 0.0


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
