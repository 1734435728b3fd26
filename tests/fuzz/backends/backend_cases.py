"""Small problems for the ten operators, their float64 values by textbook formulas, and kernels on aligned buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from fuzz.backends import BACKENDS
from fuzz.backends.base import Array, Implementation, Kernel, Request


class Case(NamedTuple):
    operator: str
    shapes: dict[str, tuple[int, ...]]
    attributes: dict[str, Any]
    output: tuple[int, ...]
    value: Callable[..., Array]
    """float64 value of float64 inputs."""


def _batch_norm(x: Array, mean: Array, var: Array, gamma: Array, beta: Array) -> Array:
    m, v, g, b = (p[None, :, None, None] for p in (mean, var, gamma, beta))
    return (x - m) / np.sqrt(v + 1e-5) * g + b


def _layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


CASES = {
    "batch_norm": Case(
        "batch_norm",
        {"x": (2, 3, 4, 5), "mean": (3,), "var": (3,), "gamma": (3,), "beta": (3,)},
        {"eps": 1e-5},
        (2, 3, 4, 5),
        _batch_norm,
    ),
    "matmul": Case("matmul", {"a": (5, 7), "b": (7, 6)}, {}, (5, 6), np.matmul),
    "softmax": Case("softmax", {"x": (4, 9)}, {"axis": -1}, (4, 9), lambda x: special.softmax(x, -1)),
    "softmax axis 0": Case("softmax", {"x": (4, 9)}, {"axis": 0}, (4, 9), lambda x: special.softmax(x, 0)),
    "layer_norm": Case("layer_norm", {"x": (4, 9), "gamma": (9,), "beta": (9,)}, {"eps": 1e-5}, (4, 9), _layer_norm),
    "gelu": Case("gelu", {"x": (33,)}, {}, (33,), lambda x: x * special.ndtr(x)),
    "gelu_tanh": Case("gelu_tanh", {"x": (33,)}, {}, (33,), _gelu_tanh),
    "tanh": Case("tanh", {"x": (33,)}, {}, (33,), np.tanh),
    "exp": Case("exp", {"x": (33,)}, {}, (33,), np.exp),
    "softplus": Case("softplus", {"x": (33,)}, {}, (33,), lambda x: np.logaddexp(x, 0)),
    "sum": Case("sum", {"x": (4, 9)}, {"axis": -1}, (4,), lambda x: x.sum(-1)),
    "sum axis 0": Case("sum", {"x": (4, 9)}, {"axis": 0}, (9,), lambda x: x.sum(0)),
}

LIBRARIES = ("numpy", "scipy", "torch", "jax", "tvm")


def aligned(shape: Sequence[int], dtype: str) -> Array:
    """Zeros at an address divisible by 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(dtype).reshape(shape)


def fill(inputs: Mapping[str, Array], seed: int) -> None:
    """Refill in place, as the engine does between calls: normal(0, 1), var positive."""
    rng = np.random.default_rng(seed)
    for name, array in inputs.items():
        values = rng.normal(size=array.shape)
        array[...] = np.abs(values) + 0.1 if name == "var" else values


class Bound(NamedTuple):
    """A kernel with the buffers it is bound to."""

    kernel: Kernel
    inputs: dict[str, Array]
    outputs: tuple[Array, ...]

    def value(self, case: Case) -> Array:
        return case.value(*(array.astype("float64") for array in self.inputs.values()))


def bind(
    backend: str,
    case: Case,
    dtype: str,
    implementation: Implementation | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    output: tuple[int, ...] | None = None,
    device: str = "",
    **options: str,
) -> Bound:
    """A kernel on filled buffers; `options` differ from the declared defaults."""
    found = BACKENDS[backend]
    found.warm_up()
    inputs = {name: aligned(shape, dtype) for name, shape in (shapes or case.shapes).items()}
    fill(inputs, 1)
    outputs = (aligned(case.output if output is None else output, dtype),)
    chosen = implementation or found.implementations[case.operator][0]
    every = {spec.name: spec.default for spec in found.options} | options
    request = Request(chosen, case.attributes, device or found.default_device, dtype, every, inputs, outputs)
    return Bound(found.prepare(request), inputs, outputs)
