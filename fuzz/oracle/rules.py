"""First-order error rule of each primitive (Higham 2002, chapters 3 and 4), as a table; here those of single elements.

A rule computes `frame.value` and its parts from the operands. Inputs are seeded with E = |x|, one unit roundoff of
relative error: any formulation that is backward stable within one rounding of its inputs is then excused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.oracle import opaque, products, reductions
from fuzz.oracle.errorfunctions import erf, erfc, erfinv
from fuzz.oracle.frames import Frame, Operand, Real
from fuzz.oracle.functions import choice, gammaln, kink, sign, wave
from fuzz.oracle.passes import absolute, only
from fuzz.oracle.polygamma import psi
from fuzz.oracle.program import OPAQUE

Rule = Callable[[Frame], None]


def _add(f: Frame) -> None:
    x, y = f.operands
    np.add(x.value, y.value, out=f.value)
    f.join(x, y)
    f.local(underflows=False)  # a sum of floating-point numbers never underflows inexactly
    for product, addend in ((x, y), (y, x)):
        if isinstance(product, Frame) and product.node.primitive == "matmul" and product.static["length"] in f.parts:
            # BLAS may start from C (C := A B + C): the addend is one more term of the sum
            f.put(product.static["length"], addend.magnitude())


def _subtract(f: Frame) -> None:
    x, y = f.operands
    np.subtract(x.value, y.value, out=f.value)
    f.join(x, y)
    f.local(underflows=False)


def _multiply(f: Frame) -> None:
    x, y = f.operands
    np.multiply(x.value, y.value, out=f.value)
    for one, other in ((x, y), (y, x)):
        if not one.seeded():
            f.carry(one, other.magnitude())
    f.local(seeds=_seeds(f))


def _divide(f: Frame) -> None:
    x, y = f.operands
    np.divide(x.value, y.value, out=f.value)
    if any(operand.parts and not operand.seeded() for operand in (x, y)):
        inverse = 1.0 / y.magnitude()
        if not x.seeded():
            f.carry(x, inverse)
        if y.parts and not y.seeded():
            f.carry(y, np.multiply(f.magnitude(), inverse))
    f.local(seeds=_seeds(f))


def _square(f: Frame) -> None:
    (x,) = f.operands
    np.square(x.value, out=f.value)
    if not x.seeded():
        f.carry(x, 2.0 * x.magnitude())
    f.local(seeds=2 * _seeds(f))


def _seeds(f: Frame) -> int:
    """Operands whose E is |x| itself: in a product or a quotient they change the result by |z|."""
    return sum(operand.seeded() for operand in f.operands)


def _sqrt(f: Frame) -> None:
    (x,) = f.operands
    np.sqrt(x.value, out=f.value)
    # the largest change over [x - d, x + d] is d / (sqrt x + sqrt(x - d)), or sqrt d where d exceeds x: near 0, where
    # the derivative means nothing, a variance of rounding errors alone has a root; an exact zero stays exact
    d = f.charges.u * np.broadcast_to(x.total(), f.value.shape)
    divisor = np.where(d < x.value, f.value + np.sqrt(np.maximum(x.value - d, 0.0)), np.sqrt(d))
    f.carry(x, np.divide(1.0, divisor, out=np.zeros_like(f.value), where=divisor > 0))
    f.local(f.charges.constants["sqrt"], underflows=False)


def _exact(function: np.ufunc) -> Rule:
    def rule(f: Frame) -> None:
        (x,) = f.operands
        function(x.value, out=f.value)
        f.carry(x)

    return rule


def _elementary(function: Callable[..., Any], derivative: Callable[[Real, Real], Real]) -> Rule:
    """z = f(x): |f'(x)| E_x plus the constant of the profile."""

    def rule(f: Frame) -> None:
        (x,) = f.operands
        function(x.value, out=f.value)
        slope = derivative(x.value, f.value)
        f.carry(x, absolute(slope, np.empty_like(slope)))
        f.local(f.charges.constants[function.__name__])

    return rule


def _gauss(x: Real, z: Real) -> Real:
    result: Real = (2.0 / math.sqrt(math.pi)) * np.exp(-x * x)
    return result


def _inverse_hypot(x: Real, z: Real) -> Real:
    """1 / sqrt(1 + x*x); by hypot, ten times as slow, only where x*x would overflow."""
    if np.finfo(x.dtype).maxexp > 2000 or not np.abs(x).max(initial=0.0) > 1e150:
        result: Real = 1.0 / np.sqrt(1.0 + x * x)
        return result
    slow: Real = 1.0 / np.hypot(1.0, x)
    return slow


COMPARISONS = frozenset({"greater", "greater_equal", "less", "less_equal"})
"""Primitives whose results are truth values."""


def _comparison(function: np.ufunc) -> Rule:
    def rule(f: Frame) -> None:
        x, y = f.operands
        np.copyto(f.value, function(x.value, y.value))

    return rule


def _select(f: Frame, taken: Any, x: Operand, y: Operand) -> None:
    """E of the operand taken; of both where |x - y| is within their errors, since either may then be taken.

    Taking the larger E everywhere would blind the oracle: softplus at -17 would inherit the error of exp(0).
    """
    u = f.charges.u
    close = np.abs(np.subtract(x.value, y.value)) <= u * (x.total() + y.total())
    for operand, may in ((x, taken | close), (y, ~taken | close)):
        for key, part in operand.parts.items():
            f.raise_to(key, only(part, may))


def _maximum(f: Frame) -> None:
    x, y = f.operands
    np.maximum(x.value, y.value, out=f.value)
    _select(f, np.greater_equal(x.value, y.value), x, y)


def _minimum(f: Frame) -> None:
    x, y = f.operands
    np.minimum(x.value, y.value, out=f.value)
    _select(f, np.less_equal(x.value, y.value), x, y)


def _where(f: Frame) -> None:
    condition, x, y = f.operands
    taken = np.asarray(condition.value) != 0
    np.copyto(f.value, np.where(taken, x.value, y.value))
    undecided = _undecided(condition)
    if undecided is None:
        _select(f, taken, x, y)
        return
    # branches that are equal in exact arithmetic (a series near 0, the plain formula elsewhere) lie within the worse
    # one's error of each other: only a condition that rounding may turn excuses what was not taken
    for operand, may in ((x, taken | undecided), (y, ~taken | undecided)):
        for key, part in operand.parts.items():
            f.raise_to(key, only(part, may))


def _undecided(condition: Operand) -> Any:
    """Where the errors of both sides of a comparison decide it; None where it is no comparison that can be seen."""
    if not isinstance(condition, Frame) or condition.node.primitive not in COMPARISONS:
        return None
    a, b = condition.operands
    error = condition.charges.u * (a.total() + b.total())
    return (np.abs(np.subtract(a.value, b.value)) <= error) & (np.asarray(error) > 0)


RULES: dict[str, Rule] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "square": _square,
    "sqrt": _sqrt,
    "negative": _exact(np.negative),
    "absolute": _exact(np.absolute),
    "exp": _elementary(np.exp, lambda x, z: z),
    "expm1": _elementary(np.expm1, lambda x, z: np.exp(x)),
    "log": _elementary(np.log, lambda x, z: 1.0 / x),
    "log1p": _elementary(np.log1p, lambda x, z: 1.0 / (1.0 + x)),
    "tanh": _elementary(np.tanh, lambda x, z: 1.0 - z * z),
    "erf": _elementary(erf, _gauss),
    "erfc": _elementary(erfc, _gauss),
    "exp2": _elementary(np.exp2, lambda x, z: math.log(2.0) * z),
    "log2": _elementary(np.log2, lambda x, z: 1.0 / (math.log(2.0) * x)),
    "sin": wave(np.sin, np.cos),
    "cos": wave(np.cos, np.sin),
    "tan": _elementary(np.tan, lambda x, z: 1.0 + z * z),
    "sinh": _elementary(np.sinh, lambda x, z: np.cosh(x)),
    "cosh": _elementary(np.cosh, lambda x, z: np.sinh(x)),
    "arcsinh": _elementary(np.arcsinh, _inverse_hypot),
    "arctanh": _elementary(np.arctanh, lambda x, z: 1.0 / ((1.0 - x) * (1.0 + x))),
    "erfinv": _elementary(erfinv, lambda x, z: (math.sqrt(math.pi) / 2.0) * np.exp(z * z)),
    "gammaln": gammaln,
    "psi": psi,
    "sign": sign,
    "kink": kink,
    "chosen": choice,
    "greater": _comparison(np.greater),
    "greater_equal": _comparison(np.greater_equal),
    "less": _comparison(np.less),
    "less_equal": _comparison(np.less_equal),
    "maximum": _maximum,
    "minimum": _minimum,
    "where": _where,
    "sum": reductions.sum,
    "mean": reductions.mean,
    "var": reductions.var,
    "prod": products.prod,
    "count_nonzero": products.count_nonzero,
    "cumsum": products.cumsum,
    "gather": products.gather,
    "max": reductions.extreme(np.max, -np.inf),
    "min": reductions.extreme(np.min, np.inf),
    "matmul": reductions.matmul,
    OPAQUE: opaque.rule,
}
"""Rule by primitive name; views need none, their buffers are views of the operand's."""


def part_keys(primitive: str, static: dict[str, Any], operands: tuple[Operand, ...], rounding: bool) -> tuple[int, ...]:
    """Which parts the result of a primitive has, before any value is known."""
    if primitive in ("greater", "greater_equal", "less", "less_equal", "count_nonzero"):
        return ()
    keys = {key for operand in operands for key in operand.parts}
    n = static.get("length", 0)
    if primitive not in ("negative", "absolute", "maximum", "minimum", "where", "max", "min", "gather"):
        keys.add(0)
    if n > 1 and rounding:
        keys.add(n)
    if primitive == "cumsum" and rounding:
        keys |= set(products.prefix_classes(n))
    if primitive == "var":
        keys |= {key * key for key in keys}
    return tuple(sorted(keys))
