"""Interpreter `plain`: the reference as NumPy computes it in the working dtype, overflows and all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuzz.oracle.primitives import PRIMITIVES, call_arguments
from fuzz.oracle.program import Program, Ref
from strategies.precision import DType, precision


def plain(program: Program, inputs: Sequence[Any], dtype: DType, *, squares: bool = False) -> tuple[Any, ...]:
    """Outputs of `program` in `dtype`: what the formula itself makes of inputs at which it overflows.

    NumPy and SciPy lack functions for 16-bit formats: those are computed in float32, and every result rounded.
    `squares`: the sum of squares inside a variance is a number of `dtype`, too, and overflows before the variance does.
    """
    p = precision(dtype)
    limit = p.largest if squares else np.inf
    if p.digits < precision("float32").digits:
        return _plain(program, inputs, np.float32, lambda result: p.round(result).astype(np.float32), limit)
    return _plain(program, inputs, p.numpy.type, lambda result: result, limit)


def without_subnormals(inputs: Sequence[Any], dtype: DType) -> list[Any]:
    """The inputs with zeros of the same sign in place of subnormals, as a processor in DAZ mode reads them."""
    least = precision(dtype).smallest_normal
    wide = [np.asarray(array).astype(np.float64) for array in inputs]
    return [np.where(np.abs(x) < least, np.copysign(0.0, x), x) for x in wide]


def _plain(
    program: Program,
    inputs: Sequence[Any],
    kind: type[np.floating[Any]],
    rounded: Callable[[Any], Any],
    limit: float,
) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):  # signalling NaN among the inputs, too
        values: list[Any] = [np.asarray(array).astype(kind) for array in inputs]
        for node in program.nodes[len(program.inputs) :]:
            arguments = [values[a.node] if isinstance(a, Ref) else rounded(kind(a)) for a in node.arguments]
            function = PRIMITIVES[node.primitive].function
            result = function(*arguments, **call_arguments(dict(node.static)))
            if node.primitive == "gammaln":  # SciPy gives -inf at -inf, where C17 (F.10.5.3) wants inf
                result = np.where(np.isinf(arguments[0]), kind(np.inf), result)
            if node.primitive == "var":
                static = dict(node.static)
                total = result.astype(np.float64) * (static["length"] - static["ddof"])
                result = np.where(total > limit, np.inf, result).astype(kind)
            values.append(rounded(result.astype(kind) if result.dtype.kind == "i" else result))  # a count
    return tuple(values[number] for number in program.outputs)
