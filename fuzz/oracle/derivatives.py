"""Reverse-mode rule of each primitive, as a table: from the cotangent of a result to those of its operands.

Rules are written in the NumPy that references are written in, and recorded by the same tracer, so that a gradient is a
program like any other. Where the textbook derivative cancels (1 - tanh(x)**2 in the tails), the rule has a form that
does not: a gradient's error bound is to say what the inputs cost, not what one formula costs.

A rule gets the cotangent `g` and the application (operands, result, static arguments), and gives one entry an operand:
an array, an array behind a gate (see `Gated`), or None where nothing flows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from scipy.special import psi

from fuzz.oracle.kinks import choose, kink

TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
HALF_ROOT_PI = math.sqrt(math.pi) / 2.0
LOG_2 = math.log(2.0)

Gate = Callable[[Any], Any]
"""What of a cotangent passes a selection: the cotangent where the operand was taken, 0 elsewhere."""


class Gated(Struct, frozen=True):
    """A cotangent of which only a part passes. The gate is closed last, behind the elementwise operations before it.

    Else an operand that was not taken would get 0 times its local derivative, which is NaN where that is infinite.
    """

    value: Any
    gate: Gate


class Applied(Struct, frozen=True):
    """One application of a primitive in the forward program."""

    operands: tuple[Any, ...]
    """Tracers, or numbers."""
    result: Any
    static: Mapping[str, Any]
    compared: tuple[str, Any, Any] | None = None
    """Of a `where` whose condition is a comparison: its name and operands."""


Rule = Callable[[Any, Applied], Sequence[Any]]


def _slope(slope: Callable[[Any, Any], Any]) -> Rule:
    """d f(x) = f'(x) dx; `slope` is a function of x and z = f(x)."""
    return lambda g, a: (g * slope(a.operands[0], a.result),)


def _quotient(divisor: Callable[[Any, Any], Any]) -> Rule:
    """The same, of a slope 1 / divisor."""
    return lambda g, a: (g / divisor(a.operands[0], a.result),)


def _flat(g: Any, a: Applied) -> Sequence[Any]:
    """Constant but for jumps, where no derivative exists."""
    return (None,) * len(a.operands)


def squared_sech(x: Any) -> Any:
    """1 - tanh(x)**2 as 4 e / (1 + e)**2, e = exp(-2 |x|): without cancellation."""
    e = np.exp(-2.0 * np.abs(x))
    return 4.0 * e / ((1.0 + e) * (1.0 + e))


def _divide(g: Any, a: Applied) -> Sequence[Any]:
    _, y = a.operands
    return g / y, -(g * (a.result / y))


def _absolute(g: Any, a: Applied) -> Sequence[Any]:
    return (kink(a.operands[0], 0.0, -g, g),)


def _above(x: Any, y: Any) -> Gate:
    return lambda g: kink(x, y, 0.0, g)


def _maximum(g: Any, a: Applied) -> Sequence[Any]:
    x, y = a.operands
    return Gated(g, _above(x, y)), Gated(g, _above(y, x))


def _minimum(g: Any, a: Applied) -> Sequence[Any]:
    x, y = a.operands
    return Gated(g, _above(y, x)), Gated(g, _above(x, y))


def _where(g: Any, a: Applied) -> Sequence[Any]:
    """Where the condition compares numbers, their equality is a kink: either operand's derivative is right there."""
    condition = a.operands[0]
    if a.compared is None:
        return None, Gated(g, lambda v: np.where(condition, v, 0.0)), Gated(g, lambda v: np.where(condition, 0.0, v))
    name, x, y = a.compared
    more, less = (x, y) if name.startswith("greater") else (y, x)
    return None, Gated(g, _above(more, less)), Gated(g, _above(less, more))


def kept(g: Any, a: Applied) -> Any:
    """The cotangent of a reduction with the reduced axes as axes of length 1."""
    (x,) = a.operands
    return g.reshape(tuple(1 if axis in a.static["axis"] else n for axis, n in enumerate(x.shape)))


def _sum(g: Any, a: Applied) -> Sequence[Any]:
    return (np.broadcast_to(kept(g, a), a.operands[0].shape),)


def _mean(g: Any, a: Applied) -> Sequence[Any]:
    shared = kept(g, a) / float(max(a.static["length"], 1))
    return (np.broadcast_to(shared, a.operands[0].shape),)


def _var(g: Any, a: Applied) -> Sequence[Any]:
    (x,) = a.operands
    divisor = float(a.static["length"] - a.static["ddof"])
    centred = x - np.mean(x, axis=a.static["axis"], keepdims=True)
    return (centred * (2.0 * kept(g, a) / divisor),)


def _prod(g: Any, a: Applied) -> Sequence[Any]:
    """The product of the others: without zeros P / x, with one zero P there and 0 elsewhere, with more 0.

    P is the product of the factors that are not 0. Where it overflows, 0 times P is NaN, as in the product itself.
    """
    (x,) = a.operands
    axis = a.static["axis"]
    zeros = float(a.static["length"]) - np.count_nonzero(x, axis=axis, keepdims=True)
    factors = np.where(x, x, 1.0)
    product = np.prod(factors, axis=axis, keepdims=True)
    nothing = 0.0 * product
    only = np.where(x, nothing, np.where(zeros > 1.0, nothing, product))
    return (kept(g, a) * np.where(zeros, only, product / factors),)


def _extreme(largest: bool) -> Rule:
    def rule(g: Any, a: Applied) -> Sequence[Any]:
        return (choose(a.operands[0], kept(g, a), axis=a.static["axis"], largest=largest),)

    return rule


def _cumsum(g: Any, a: Applied) -> Sequence[Any]:
    """Element i is in all sums from i on: running sums from the other end."""
    back = (*(slice(None),) * a.static["axis"], slice(None, None, -1))
    return (np.cumsum(g[back], axis=a.static["axis"])[back],)


def _matmul(g: Any, a: Applied) -> Sequence[Any]:
    x, y = a.operands
    return np.matmul(g, _transposed(y)), np.matmul(_transposed(x), g)


def _transposed(x: Any) -> Any:
    return np.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


DERIVATIVES: dict[str, Rule] = {
    "add": lambda g, a: (g, g),
    "subtract": lambda g, a: (g, -g),
    "multiply": lambda g, a: (g * a.operands[1], g * a.operands[0]),
    "divide": _divide,
    "negative": lambda g, a: (-g,),
    "absolute": _absolute,
    "square": _slope(lambda x, z: 2.0 * x),
    "sqrt": lambda g, a: (0.5 * g / a.result,),
    "exp": _slope(lambda x, z: z),
    "expm1": _slope(lambda x, z: np.exp(x)),
    "exp2": lambda g, a: (g * a.result * LOG_2,),  # the order in which torch multiplies, where g z may overflow
    "log": _quotient(lambda x, z: x),
    "log1p": _quotient(lambda x, z: 1.0 + x),
    "log2": lambda g, a: (g / a.operands[0] / LOG_2,),
    "sin": _slope(lambda x, z: np.cos(x)),
    "cos": _slope(lambda x, z: -np.sin(x)),
    "tan": _slope(lambda x, z: 1.0 + z * z),
    "sinh": _slope(lambda x, z: np.cosh(x)),
    "cosh": _slope(lambda x, z: np.sinh(x)),
    "tanh": _slope(lambda x, z: squared_sech(x)),
    "arcsinh": _quotient(lambda x, z: np.sqrt(1.0 + x * x)),
    "arctanh": _quotient(lambda x, z: (1.0 - x) * (1.0 + x)),
    "erf": _slope(lambda x, z: TWO_OVER_ROOT_PI * np.exp(-(x * x))),
    "erfc": _slope(lambda x, z: -TWO_OVER_ROOT_PI * np.exp(-(x * x))),
    "erfinv": _slope(lambda x, z: HALF_ROOT_PI * np.exp(z * z)),
    "gammaln": _slope(lambda x, z: psi(x)),
    "maximum": _maximum,
    "minimum": _minimum,
    "where": _where,
    "sign": _flat,
    "greater": _flat,
    "greater_equal": _flat,
    "less": _flat,
    "less_equal": _flat,
    "count_nonzero": _flat,
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "prod": _prod,
    "cumsum": _cumsum,
    "max": _extreme(True),
    "min": _extreme(False),
    "matmul": _matmul,
}
"""By primitive. Views and gathers follow from where their elements come from (fuzz.oracle.reverse). `psi`, `kink` and
`chosen`, which occur in gradients only, have none: second derivatives are not derived."""
