"""Points, programs and textbook values of the elementwise operators, written apart from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from fuzz.operators import OPERATORS, elementary, pointwise, rectifiers
from fuzz.oracle.program import Program
from fuzz.oracle.trace import trace

Array = NDArray[Any]
mp = mpmath.mp.clone()
mp.prec = 300

NAMES = tuple(operator.name for operator in (*elementary.OPERATORS, *pointwise.OPERATORS, *rectifiers.OPERATORS))
BINARY = ("add", "multiply", "divide")

ATTRIBUTES: dict[str, tuple[dict[str, float], ...]] = {
    "elu": ({"alpha": 1.0}, {"alpha": 0.1}, {"alpha": 0.0}),
    "leaky_relu": ({"alpha": 0.01}, {"alpha": 0.0}, {"alpha": 1.0}),
    "clip": ({"low": -1.0, "high": 1.0}, {"low": 0.1, "high": 0.3}, {"low": -1e30, "high": 6.0}),
}
"""Attributes to try; no attributes for the others."""


def attributes_of(operator: str) -> tuple[dict[str, float], ...]:
    return ATTRIBUTES.get(operator, ({},))


def program(operator: str, size: int, **attributes: float) -> Program:
    found = OPERATORS[operator]
    return trace(found.reference, found.contract.shapes({"n": size}), attributes)


def points(operator: str, dtype: str) -> list[Array]:
    """Over 200 numbers of `dtype` in the domain: grid, magnitudes, landmarks and their neighbours, ends of the range.

    For two inputs, the same numbers in two orders.
    """
    (spec, *others) = OPERATORS[operator].contract.inputs
    limits = np.finfo(dtype)
    grid = np.concatenate([np.linspace(-12, 12, 79), np.linspace(-1, 1, 61), [-104.0, -38.0, 38.0, 88.0, 700.0]])
    exponents = np.linspace(-30, 30, 61)
    marks = np.array([landmark.at for landmark in spec.landmarks])
    marks = marks[np.abs(marks) <= float(limits.max)].astype(dtype)
    near = [marks, np.nextafter(marks, np.array(np.inf, dtype)), np.nextafter(marks, np.array(-np.inf, dtype))]
    ends = np.array([0.0, limits.smallest_subnormal, limits.tiny, limits.max, 1.0 - limits.epsneg, 1.0 + limits.eps])
    every = np.concatenate([grid, 10.0**exponents, -(10.0**exponents), *near, ends, -ends]).astype(dtype)
    x = every[(every >= spec.domain.low) & (every <= spec.domain.high)]
    if operator == "erfc":
        x = x[np.abs(x.astype(float)) < 1e150]  # mpmath's own overflows beyond
    while x.size < 200:  # half lines and short intervals keep a part of it only
        x = np.concatenate([x, x * np.array(0.83, dtype)])
    return [x, np.random.default_rng(3).permutation(x)] if others else [x]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


TEXTBOOK: dict[str, Callable[..., Any]] = {
    "exp2": lambda x: mp.power(2, x),
    "expm1": mp.expm1,
    "log": mp.log,
    "log2": lambda x: mp.log(x, 2),
    "log1p": mp.log1p,
    "sqrt": mp.sqrt,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asinh": mp.asinh,
    "atanh": mp.atanh,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfinv": mp.erfinv,
    "lgamma": lambda x: mp.re(mp.loggamma(x)),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "elu": lambda x, alpha: x if x > 0 else mp.mpf(alpha) * mp.expm1(x),
    "relu": lambda x: max(x, mp.mpf(0)),
    "sign": mp.sign,
    "clip": lambda x, low, high: min(max(x, mp.mpf(low)), mp.mpf(high)),
    "log_sigmoid": lambda x: -mp.log1p(mp.exp(-x)),
    "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
    "softsign": lambda x: x / (1 + abs(x)),
    "leaky_relu": lambda x, alpha: x if x > 0 else mp.mpf(alpha) * x,
    "selu": lambda x: mp.mpf(rectifiers.SELU_SCALE) * (x if x > 0 else mp.mpf(rectifiers.SELU_ALPHA) * mp.expm1(x)),
    "hard_swish": lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6,
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
}

INF, NAN = np.inf, np.nan
SPECIAL: dict[str, list[tuple[Any, float]]] = {
    "exp2": [(INF, INF), (-INF, 0.0)],
    "expm1": [(INF, INF), (-INF, -1.0), (-0.0, -0.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF)],
    "log2": [(0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF)],
    "log1p": [(-1.0, -INF), (-2.0, NAN), (INF, INF), (-0.0, -0.0)],
    "sqrt": [(-0.0, -0.0), (-1.0, NAN), (INF, INF)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (-1.0, NAN), (INF, 0.0)],
    "reciprocal": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0)],
    "sin": [(INF, NAN), (-INF, NAN), (-0.0, -0.0)],
    "cos": [(INF, NAN), (-INF, NAN), (0.0, 1.0)],
    "tan": [(INF, NAN), (-INF, NAN), (-0.0, -0.0)],
    "asinh": [(INF, INF), (-INF, -INF), (-0.0, -0.0)],
    "atanh": [(1.0, INF), (-1.0, -INF), (2.0, NAN), (-0.0, -0.0)],
    "sinh": [(INF, INF), (-INF, -INF), (-0.0, -0.0)],
    "cosh": [(INF, INF), (-INF, INF)],
    "erf": [(INF, 1.0), (-INF, -1.0), (-0.0, -0.0)],
    "erfc": [(INF, 0.0), (-INF, 2.0)],
    "erfinv": [(1.0, INF), (-1.0, -INF), (2.0, NAN)],
    "lgamma": [(0.0, INF), (-0.0, INF), (-3.0, INF), (INF, INF), (-INF, INF), (1.0, 0.0), (2.0, 0.0)],
    "sigmoid": [(INF, 1.0), (-INF, 0.0), (0.0, 0.5)],
    "silu": [(INF, INF), (-INF, NAN), (0.0, 0.0)],
    "elu": [(INF, INF), (-INF, -1.0), (0.0, 0.0)],
    "relu": [(INF, INF), (-INF, 0.0), (0.0, 0.0)],
    "sign": [(INF, 1.0), (-INF, -1.0), (0.0, 0.0), (-0.0, 0.0)],
    "clip": [(INF, 1.0), (-INF, -1.0), (0.0, 0.0)],
    "log_sigmoid": [(INF, 0.0), (-INF, -INF)],
    "mish": [(INF, INF), (-INF, NAN), (0.0, 0.0)],
    "softsign": [(INF, NAN), (-INF, NAN), (-0.0, -0.0)],
    "leaky_relu": [(INF, INF), (-INF, -INF), (0.0, 0.0)],
    "selu": [(INF, INF), (0.0, 0.0)],
    "hard_swish": [(INF, INF), (-INF, NAN), (0.0, 0.0)],
    "add": [((INF, -INF), NAN), ((INF, 1.0), INF), ((-0.0, -0.0), -0.0)],
    "multiply": [((0.0, INF), NAN), ((-1.0, INF), -INF), ((-0.0, 1.0), -0.0)],
    "divide": [((1.0, 0.0), INF), ((1.0, -0.0), -INF), ((0.0, 0.0), NAN), ((INF, INF), NAN), ((1.0, -INF), -0.0)],
}
"""What the contracts' nonfinite policies say, at poles, ends and zeros; NaN always gives NaN."""
