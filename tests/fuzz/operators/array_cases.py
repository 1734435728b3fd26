"""Small problems of the array operators, and their values by loops and textbook formulas in mpmath."""

from __future__ import annotations

import itertools
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


class Case(NamedTuple):
    dims: dict[str, int]
    attributes: tuple[dict[str, Any], ...]
    textbook: Callable[..., Any]
    """Outputs as object arrays of mpf, from inputs that are such arrays."""


def exact(values: Array) -> Array:
    return np.vectorize(lambda v: mp.mpf(float(v)), otypes=[object])(values)


_exp, _log, _sqrt = (np.vectorize(f, otypes=[object]) for f in (mp.exp, mp.log, mp.sqrt))


def _moments(x: Array, axes: Any, ddof: int = 0) -> tuple[Array, Array]:
    n = int(np.prod([x.shape[a] for a in axes]))
    mean = x.sum(axis=axes, keepdims=True) / n
    return mean, ((x - mean) ** 2).sum(axis=axes, keepdims=True) / (n - ddof)


def _var(x: Array, *, axis: int, ddof: int) -> Array:
    return np.squeeze(_moments(x, (axis,), ddof)[1], axis)


def _norm(x: Array, *, axis: int, ord: float) -> Array:
    if ord == 2.0:
        return _sqrt((x * x).sum(axis=axis))
    return np.abs(x).sum(axis=axis) if ord == 1.0 else np.abs(x).max(axis=axis)


def _logsumexp(x: Array, axis: int, keepdims: bool = False) -> Array:
    return _log(_exp(x).sum(axis=axis, keepdims=keepdims))


def _scaled(x: Array, axes: Any, gamma: Array, beta: Array, eps: float) -> Array:
    mean, var = _moments(x, axes)
    return (x - mean) / _sqrt(var + mp.mpf(eps)) * gamma + beta


def _batch_norm(x: Array, gamma: Array, beta: Array, *, eps: float) -> tuple[Array, ...]:
    mean, var = _moments(x, (0, 2, 3))
    return _scaled(x, (0, 2, 3), gamma[:, None, None], beta[:, None, None], eps), mean.ravel(), var.ravel()


def _rms_norm(x: Array, gamma: Array, *, eps: float) -> Array:
    return x / _sqrt((x * x).sum(-1, keepdims=True) / x.shape[-1] + mp.mpf(eps)) * gamma


def _group_conv(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    """x (N, G, I, H, W), w (G, O, I, KH, KW), term by term."""
    (n, g, depth, h, width), (_, o, _, kh, kw) = x.shape, w.shape
    out = [(size + 2 * padding - k) // stride + 1 for size, k in ((h, kh), (width, kw))]
    y = np.full((n, g, o, *out), mp.mpf(0), object)
    for at in itertools.product(*map(range, y.shape)):
        for i, a, b in itertools.product(range(depth), range(kh), range(kw)):
            row, column = at[3] * stride + a - padding, at[4] * stride + b - padding
            if 0 <= row < h and 0 <= column < width:
                y[at] += x[at[0], at[1], i, row, column] * w[at[1], at[2], i, a, b]
    return y


def _conv2d(x: Array, w: Array, **attributes: int) -> Array:
    return _group_conv(x[:, None], w[None], **attributes)[:, 0]


def _conv1d(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    """A row of zero padding above and below changes nothing: the kernel is one row high."""
    y = _conv2d(x[:, :, None], w[:, :, None], stride=stride, padding=padding)
    return y[:, :, padding // stride] if padding % stride == 0 else np.array([])


def _depthwise(x: Array, w: Array, **attributes: int) -> Array:
    y = _group_conv(x[:, :, None], w[:, :, None], **attributes)
    return y.reshape(y.shape[0], -1, *y.shape[3:])


def _pool(combine: Callable[[Array], Any]) -> Callable[..., Array]:
    def pool(x: Array, *, kernel: int, stride: int) -> Array:
        out = [(size - kernel) // stride + 1 for size in x.shape[2:]]
        y = np.empty((*x.shape[:2], *out), object)
        for n, c, i, j in itertools.product(*map(range, y.shape)):
            y[n, c, i, j] = combine(x[n, c, i * stride : i * stride + kernel, j * stride : j * stride + kernel])
        return y

    return pool


def _dense_chain(x: Array, w: Array) -> Array:
    for layer in w:
        x = np.array([[sum(row[k] * layer[k, j] for k in range(len(row))) for j in range(layer.shape[1])] for row in x])
    return x


def _conv_chain(x: Array, w: Array) -> Array:
    for layer in w:
        x = _conv2d(x, layer, stride=1, padding=1)
    return x


def _einsum(equation: str) -> Callable[..., Array]:
    """Term by term over all letters."""
    operands, result = equation.split("->")

    def contract(*arrays: Array) -> Array:
        sizes = {
            n: s for o, a in zip(operands.split(","), arrays, strict=True) for n, s in zip(o, a.shape, strict=True)
        }
        y = np.full([sizes[n] for n in result], mp.mpf(0), object)
        for at in itertools.product(*(range(size) for size in sizes.values())):
            index = dict(zip(sizes, at, strict=True))
            term = mp.mpf(1)
            for o, a in zip(operands.split(","), arrays, strict=True):
                term *= a[tuple(index[n] for n in o)]
            y[tuple(index[n] for n in result)] += term
        return y

    return contract


_ROWS = {"rows": 6, "n": 7}
_BOTH = ({"axis": -1}, {"axis": 0})
_EPS = ({"eps": 1e-5}, {"eps": 0.0})
_STEPS = ({"stride": 1, "padding": 0}, {"stride": 2, "padding": 2}, {"stride": 3, "padding": 3})
_DDOF = tuple(a | {"ddof": d} for a in _BOTH for d in (0, 1))

CASES: dict[str, Case] = {
    "mean": Case(_ROWS, _BOTH, lambda x, axis: x.sum(axis=axis) / x.shape[axis]),
    "var": Case(_ROWS, _DDOF, _var),
    "std": Case(_ROWS, _DDOF, lambda x, **a: _sqrt(_var(x, **a))),
    "prod": Case(_ROWS, _BOTH, lambda x, axis: x.prod(axis=axis)),
    "norm": Case(_ROWS, tuple(a | {"ord": o} for a in _BOTH for o in (1.0, 2.0, np.inf)), _norm),
    "max": Case(_ROWS, _BOTH, lambda x, axis: x.max(axis=axis)),
    "argmax": Case(_ROWS, _BOTH, lambda x, axis: x.max(axis=axis)),
    "cumsum": Case(_ROWS, _BOTH, lambda x, axis: x.cumsum(axis=axis)),
    "logsumexp": Case(_ROWS, _BOTH, lambda x, axis: _logsumexp(x, axis)),
    "log_softmax": Case(_ROWS, _BOTH, lambda x, axis: x - _logsumexp(x, axis, keepdims=True)),
    "batch_norm_training": Case({"N": 2, "C": 3, "H": 2, "W": 3}, _EPS, _batch_norm),
    "group_norm": Case(
        {"N": 2, "G": 2, "D": 2, "L": 5},
        _EPS,
        lambda x, g, b, eps: _scaled(x, (2, 3), g[..., None], b[..., None], eps),
    ),
    "instance_norm": Case(
        {"N": 2, "C": 2, "H": 2, "W": 5},
        _EPS,
        lambda x, g, b, eps: _scaled(x, (2, 3), g[:, None, None], b[:, None, None], eps),
    ),
    "rms_norm": Case({"rows": 6, "n": 7}, _EPS, _rms_norm),
    "batch_matmul": Case({"B": 2, "M": 3, "K": 5, "N": 4}, ({},), lambda a, b: np.matmul(a, b)),
    "dense": Case({"M": 4, "K": 5, "N": 3}, ({},), lambda x, w, bias: np.matmul(x, w.T) + bias),
    "conv1d": Case({"N": 2, "C": 3, "O": 2, "L": 6, "KL": 3}, _STEPS[:2], _conv1d),
    "conv2d": Case({"N": 2, "C": 2, "O": 2, "H": 4, "W": 5, "KH": 3, "KW": 2}, _STEPS, _conv2d),
    "group_conv2d": Case({"N": 1, "G": 2, "I": 2, "O": 2, "H": 4, "W": 5, "KH": 3, "KW": 2}, _STEPS, _group_conv),
    "depthwise_conv2d": Case({"N": 2, "C": 2, "M": 2, "H": 4, "W": 5, "KH": 3, "KW": 2}, _STEPS, _depthwise),
    "dense_chain": Case({"M": 2, "n": 3, "depth": 4}, ({},), _dense_chain),
    "conv_chain": Case({"N": 1, "C": 2, "H": 2, "W": 3, "depth": 2}, ({},), _conv_chain),
    "einsum_low_rank": Case({"B": 2, "T": 2, "R": 3, "C": 2, "I": 2}, ({},), _einsum("btrc,ri,ic->btic")),
    "einsum_bilinear": Case({"B": 2, "I": 2, "O": 2, "J": 3}, ({},), _einsum("bi,oij,bj->bo")),
    "einsum_scores": Case({"B": 2, "Q": 2, "H": 2, "D": 5, "K": 3}, ({},), _einsum("bqhd,bkhd->bhqk")),
    "einsum_outer": Case({"B": 2, "I": 3, "J": 4}, ({},), _einsum("bi,bj->bij")),
    "avg_pool2d": Case(
        {"N": 2, "C": 2, "H": 6, "W": 5},
        ({"kernel": 2, "stride": 1}, {"kernel": 3, "stride": 2}),
        _pool(lambda window: window.sum() / window.size),
    ),
    "max_pool2d": Case(
        {"N": 2, "C": 2, "H": 6, "W": 5}, ({"kernel": 2, "stride": 1}, {"kernel": 3, "stride": 2}), _pool(np.max)
    ),
}

RECIPES: dict[str, Callable[..., Array]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "offset": lambda rng, shape: 1000 + rng.normal(size=shape),
    "large": lambda rng, shape: 30 * rng.normal(size=shape),
    "wide": lambda rng, shape: rng.choice([-1, 1], shape) * 10.0 ** rng.uniform(-9, 3, shape),
    "positive": lambda rng, shape: rng.uniform(size=shape),
    "integers": lambda rng, shape: rng.integers(-3, 4, shape).astype(float),
    "nearly constant": lambda rng, shape: 0.1 + 1e-6 * rng.integers(0, 2, shape),
}


def program(operator: str, attributes: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> Program:
    found = OPERATORS[operator]
    return trace(found.reference, found.contract.shapes(dims or CASES[operator].dims), attributes)


def draw(operator: str, rng: np.random.Generator, recipe: str, dims: Mapping[str, int] | None = None) -> list[Array]:
    """float32 numbers (in float64) for every input."""
    specs = OPERATORS[operator].contract.inputs
    arrays = [RECIPES[recipe](rng, spec.shape(dims or CASES[operator].dims)) for spec in specs]
    return [np.asarray(a, np.float32).astype(np.float64) for a in arrays]
