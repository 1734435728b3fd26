"""First-order error rule of each primitive (Higham 2002, chapters 3 and 4), as a table.

A rule computes `frame.value` and its parts from the operands. Inputs are seeded with E = |x|, one unit roundoff of
relative error: any formulation that is backward stable within one rounding of its inputs is then excused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.oracle import opaque, products
from fuzz.oracle.chains import carry, magnitudes, of_products
from fuzz.oracle.errorfunctions import erf, erfc, erfinv
from fuzz.oracle.frames import Frame, Operand, Real
from fuzz.oracle.functions import choice, gammaln, kink, sign, wave
from fuzz.oracle.passes import absolute
from fuzz.oracle.polygamma import psi
from fuzz.oracle.program import OPAQUE

Rule = Callable[[Frame], None]

_SPARSE = 16
"""Picking elements out of an array pays where at most one in so many is wanted."""


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
            f.raise_to(key, _only(part, may))


def _only(part: Any, where: Any) -> Any:
    """`part` where it may count, else 0. A product takes a ninth of the time, but 0 times infinity is NaN."""
    if np.isfinite(np.max(part, initial=0.0)):
        return np.multiply(part, where)
    return np.where(where, part, 0.0)


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
            f.raise_to(key, _only(part, may))


def _undecided(condition: Operand) -> Any:
    """Where the errors of both sides of a comparison decide it; None where it is no comparison that can be seen."""
    if not isinstance(condition, Frame) or condition.node.primitive not in COMPARISONS:
        return None
    a, b = condition.operands
    error = condition.charges.u * (a.total() + b.total())
    return (np.abs(np.subtract(a.value, b.value)) <= error) & (np.asarray(error) > 0)


def _sum(f: Frame) -> None:
    (x,) = f.operands
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    np.sum(x.value, axis=axis, keepdims=keepdims, out=f.value)
    for key, part in x.parts.items():
        f.put(key, np.sum(part, axis=axis, keepdims=keepdims))
    if n > 1 and f.charges.rounding:
        f.put(n, np.sum(x.magnitude(), axis=axis, keepdims=keepdims))
    _flushed_sums(f, x)


def _flushed_sums(f: Frame, x: Operand, scale: float = 1.0) -> None:
    """The flush allowance for the partial sums of x, times `scale`."""
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    if not (f.charges.flush and f.charges.rounding and n > 1):
        return
    magnitude = x.magnitude()
    total = np.sum(magnitude, axis=axis, keepdims=keepdims)
    small = np.count_nonzero(f.charges.subnormal(magnitude), axis=axis, keepdims=keepdims)
    f.put(0, scale * f.charges.flushed_sums(n, total, f.value / scale, small))


def _mean(f: Frame) -> None:
    (x,) = f.operands
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    np.mean(x.value, axis=axis, keepdims=keepdims, out=f.value)
    for key, part in x.parts.items():
        f.put(key, np.mean(part, axis=axis, keepdims=keepdims))
    if n > 1 and f.charges.rounding:
        f.put(n, np.mean(x.magnitude(), axis=axis, keepdims=keepdims))
    if n > 1:
        _flushed_sums(f, x, 1.0 / n)
    f.local()


def _var(f: Frame) -> None:
    """Two-pass variance. d var/d mean is exactly 0, so the error of the mean enters only squared.

    Without this rule the bound would be 1e4 times too loose on data with a large mean, and a one-pass variance could
    hide in it. The square of E_mean = C + sum h R is bounded by J (C^2 + sum h^2 R^2), J its number of terms; the term
    h(n)^2 is carried under the key n*n.
    """
    (x,) = f.operands
    axis, keepdims, n = f.static["axis"], f.static["keepdims"], f.static["length"]
    rounding = f.charges.rounding
    mean = np.mean(x.value, axis=axis, keepdims=True)
    centred = x.value - mean
    distance = np.abs(centred)
    squares = centred * centred
    divisor = n - f.static["ddof"]
    scale = f.value.dtype.type(1.0) / divisor if divisor else math.inf  # Python's 1/3 has the digits of float64 only

    def total(values: Any) -> Any:
        return scale * np.sum(values, axis=axis, keepdims=keepdims)

    np.copyto(f.value, total(squares))
    # seeds of x, one rounding of x - mean, one of the square, and the sum
    for key, part in x.parts.items():
        f.put(key, total(2.0 * distance * part))
    if rounding:
        f.put(0, total(3.0 * squares))
        if n > 1:
            f.put(n, total(squares))
        if f.charges.flush:
            f.put(0, total(f.charges.flushed(squares)))
        if n > 1 and f.charges.updating:
            # |error| <= n u kappa var, kappa = sqrt(mean x^2 / var): Chan, Golub and LeVeque, Am. Stat. 37 (1983) 242
            f.put(n, np.sqrt(np.mean(np.square(x.value), axis=axis, keepdims=keepdims)) * np.sqrt(f.value))
    magnitude_mean = np.mean(x.magnitude(), axis=axis, keepdims=keepdims)
    mean_parts = {key: np.mean(part, axis=axis, keepdims=keepdims) for key, part in x.parts.items()}
    if rounding:
        mean_parts[0] = mean_parts.get(0, 0.0) + np.abs(np.mean(x.value, axis=axis, keepdims=keepdims))
        if n > 1:
            mean_parts[n] = mean_parts.get(n, 0.0) + magnitude_mean
    for key, part in mean_parts.items():
        f.put(key * key, len(mean_parts) * n * scale * f.charges.u * np.square(part))
    f.local()


def _extreme(reduce: Callable[..., Any], least: float) -> Rule:
    """Reduction by max or min: the largest E among the elements that may be the extreme one within their errors."""

    def rule(f: Frame) -> None:
        (x,) = f.operands
        axis = f.static["axis"]
        kept = reduce(x.value, axis=axis, keepdims=True, initial=least)  # an empty axis only occurs in empty outputs
        np.copyto(f.value, kept.reshape(f.value.shape))
        if not x.parts:
            return
        near = _near(f, kept, least)
        if near is None:
            candidates = np.abs(x.value - kept) <= (2.0 * f.charges.u) * x.total()
            for key, part in x.parts.items():
                f.put(key, np.max(_only(part, candidates), axis=axis, initial=0.0).reshape(f.value.shape))
            return
        line = tuple(np.zeros_like(index) if a in axis else index for a, index in enumerate(near))
        candidates = np.abs(x.value[near] - kept[line]) <= (2.0 * f.charges.u) * x.total()[near]
        for key, part in x.parts.items():
            largest = np.zeros_like(kept)
            np.maximum.at(largest, line, np.where(candidates, part[near], 0.0))
            f.put(key, largest.reshape(f.value.shape))

    return rule


def _near(f: Frame, kept: Real, least: float) -> tuple[Any, ...] | None:
    """Indices of all elements that may be the extreme one, and of some more; None where they are too many to pick."""
    (x,) = f.operands
    if kept.size * _SPARSE > x.value.size:
        return None
    # 3 u instead of 2 u: whatever is rounded here, none is left out
    distance = (3.0 * f.charges.u) * np.max(x.total(), axis=f.static["axis"], keepdims=True, initial=0.0)
    edge = kept + math.copysign(1.0, least) * distance
    if not np.isfinite(edge).all():
        return None
    near = x.value >= edge if least < 0 else x.value <= edge
    if np.count_nonzero(near) * _SPARSE > near.size:
        return None
    return np.unravel_index(np.flatnonzero(near), near.shape)  # ten times as fast as np.nonzero with two axes


def _matmul(f: Frame) -> None:
    a, b = f.operands
    k = f.static["length"]
    np.matmul(a.value, b.value, out=f.value)
    ma, mb = a.magnitude(), b.magnitude()
    product = f.products = magnitudes(f)
    if not of_products(a):
        for key, part in a.parts.items():
            f.put(key, product if part is ma else np.matmul(part, mb))
    if not of_products(b):
        for key, part in b.parts.items():
            f.put(key, product if part is mb else np.matmul(ma, part))
    if f.charges.rounding:
        f.put(k if k > 1 else 0, product)
        if f.charges.underflow:
            f.put(0, max(k, 1) * f.charges.underflow)  # every product may underflow
        if f.charges.flush:
            small = np.zeros_like(f.value)
            for i in range(k):
                term = ma[..., :, i, None] * mb[..., None, i, :]
                f.put(0, f.charges.flushed(term))
                small += f.charges.subnormal(term)
            f.put(0, f.charges.flushed_sums(k, product, f.value, small))
    carry(f)


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
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "prod": products.prod,
    "count_nonzero": products.count_nonzero,
    "cumsum": products.cumsum,
    "gather": products.gather,
    "max": _extreme(np.max, -np.inf),
    "min": _extreme(np.min, np.inf),
    "matmul": _matmul,
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
