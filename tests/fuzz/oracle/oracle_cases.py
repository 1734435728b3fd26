"""Programs, small problems and textbook values in mpmath, written apart from the references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

from fuzz.operators import OPERATORS
from fuzz.oracle.program import Program
from fuzz.oracle.trace import trace

Array = NDArray[Any]
mp = mpmath.mp.clone()
mp.prec = 300


class Shape(NamedTuple):
    """Sizes and attributes of a small problem."""

    dims: dict[str, int]
    attributes: dict[str, Any]


SMALL: dict[str, Shape] = {
    "batch_norm": Shape({"N": 2, "C": 3, "H": 2, "W": 3}, {"eps": 1e-5}),
    "matmul": Shape({"M": 3, "K": 5, "N": 4}, {}),
    "softmax": Shape({"rows": 4, "n": 7}, {"axis": -1}),
    "layer_norm": Shape({"rows": 4, "n": 7}, {"eps": 1e-5}),
    "sum": Shape({"rows": 4, "n": 7}, {"axis": -1}),
    **{name: Shape({"n": 9}, {}) for name in ("gelu", "gelu_tanh", "tanh", "exp", "softplus")},
}


def program(operator: str, dims: Mapping[str, int] | None = None, **attributes: Any) -> Program:
    found = OPERATORS[operator]
    shape = SMALL[operator]
    shapes = found.contract.shapes(dims or shape.dims)
    return trace(found.reference, shapes, shape.attributes | attributes)


def draw(
    operator: str, rng: np.random.Generator, recipe: str = "normal", dims: Mapping[str, int] | None = None
) -> list[Array]:
    """float32 numbers (in float64) for every input."""
    contract = OPERATORS[operator].contract
    arrays = []
    for spec in contract.inputs:
        values = RECIPES[recipe](rng, spec.shape(dims or SMALL[operator].dims))
        values = np.asarray(values, np.float32).astype(np.float64)
        arrays.append(np.abs(values) if spec.domain.low >= 0 else values)
    return arrays


RECIPES: dict[str, Callable[..., Array]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "offset": lambda rng, shape: 1000 + rng.normal(size=shape),
    "large": lambda rng, shape: 30 * rng.normal(size=shape),
    "wide": lambda rng, shape: rng.choice([-1, 1], shape) * 10.0 ** rng.uniform(-9, 3, shape),
    "positive": lambda rng, shape: rng.uniform(size=shape),
    "constant": lambda rng, shape: np.full(shape, 0.1),
    "integers": lambda rng, shape: rng.integers(-3, 4, shape).astype(float),
}


def _matrix(values: Array) -> list[list[Any]]:
    return [[mp.mpf(float(v)) for v in row] for row in values]


def _unary(function: Callable[[Any], Any]) -> Callable[..., list[Any]]:
    return lambda x: [function(mp.mpf(float(v))) for v in x.ravel()]


def _batch_norm(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float) -> list[Any]:
    m, v, g, b = ([mp.mpf(float(p)) for p in array] for array in (mean, var, gamma, beta))
    return [
        (mp.mpf(float(x[at])) - m[at[1]]) / mp.sqrt(v[at[1]] + mp.mpf(eps)) * g[at[1]] + b[at[1]]
        for at in np.ndindex(x.shape)
    ]


def _softmax(x: Array, *, axis: int) -> list[Any]:
    lines = _matrix(x if axis == -1 else x.T)
    result = []
    for line in lines:
        total = mp.fsum(mp.exp(v) for v in line)
        result.append([mp.exp(v) / total for v in line])
    return [v for line in (result if axis == -1 else zip(*result, strict=True)) for v in line]


def _layer_norm(x: Array, gamma: Array, beta: Array, *, eps: float) -> list[Any]:
    result = []
    for line in _matrix(x):
        mean = mp.fsum(line) / len(line)
        var = mp.fsum((v - mean) ** 2 for v in line) / len(line)
        result += [
            (v - mean) / mp.sqrt(var + mp.mpf(eps)) * mp.mpf(float(g)) + mp.mpf(float(b))
            for v, g, b in zip(line, gamma, beta, strict=True)
        ]
    return result


def _matmul(a: Array, b: Array) -> list[Any]:
    left, right = _matrix(a), _matrix(b.T)
    return [mp.fsum(p * q for p, q in zip(row, column, strict=True)) for row in left for column in right]


def _sum(x: Array, *, axis: int) -> list[Any]:
    return [mp.fsum(line) for line in _matrix(x if axis == -1 else x.T)]


def _gelu_tanh(x: Any) -> Any:
    return x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)))


TEXTBOOK: dict[str, Callable[..., list[Any]]] = {
    "batch_norm": _batch_norm,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "matmul": _matmul,
    "sum": _sum,
    "gelu": _unary(lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2),
    "gelu_tanh": _unary(_gelu_tanh),
    "tanh": _unary(mp.tanh),
    "exp": _unary(mp.exp),
    "softplus": _unary(lambda x: mp.log1p(mp.exp(x))),
}
"""Flat values of the first output, in C order."""
