"""Kernels with one planted defect each, in plain NumPy, and the verdict that each must get."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from fuzz import operators
from fuzz.backends import BACKENDS
from fuzz.backends.base import Array
from fuzz.extend import FunctionBackend, register
from fuzz.operators import OPERATORS
from fuzz.targets import Target
from fuzz.trial import Cell, Session, run_trial
from results.columns import Row
from results.verdicts import VERDICTS
from strategies import PRECISIONS, make_problem, parse_recipe

PLANTED = FunctionBackend("planted", "kernels with defects, for tests")
if PLANTED.name not in BACKENDS:
    register(PLANTED)

SIZES = {
    "batch_norm": {"N": 2, "C": 8, "H": 6, "W": 6},
    "matmul": {"M": 6, "K": 100, "N": 6},
    "softmax": {"rows": 4, "n": 100},
    "layer_norm": {"rows": 4, "n": 100},
    "sum": {"rows": 6, "n": 1000},
}
ELEMENTWISE = {"n": 512}


class Defect(NamedTuple):
    """A planted kernel, the inputs that show it, and the verdicts accepted."""

    operator: str
    name: str
    kernel: Callable[..., Any]
    inputs: Mapping[str, str]
    verdicts: tuple[str, ...]
    dims: Mapping[str, int]
    dtype: str = "float32"
    attributes: Mapping[str, Any] = {}
    every: bool = False
    """Climb the precision ladder at every trial: float32 alone does not show the defect."""


def channel(p: Array) -> Array:
    return p[:, None, None]


def batch_norm(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    scale = np.sqrt(channel(var) + x.dtype.type(eps))
    return (x - channel(mean)) / scale * channel(gamma) + channel(beta)


def layer_norm(x: Array, gamma: Array, beta: Array, *, eps: float, ddof: int = 0) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    var = (centred * centred).sum(-1, keepdims=True) / x.dtype.type(x.shape[-1] - ddof)
    return centred / np.sqrt(var + x.dtype.type(eps)) * gamma + beta


def layer_norm_one_pass(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    mean = x.mean(-1, keepdims=True)
    var = np.maximum((x * x).mean(-1, keepdims=True) - mean * mean, 0)
    return (x - mean) / np.sqrt(var + x.dtype.type(eps)) * gamma + beta


def softmax(x: Array, *, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax_naive(x: Array, *, axis: int) -> Array:
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def gelu(x: Array) -> Array:
    kind = x.dtype.type
    return kind(0.5) * x * special.erfc(-x * kind(math.sqrt(0.5)))


def gelu_by_tanh(x: Array) -> Array:
    kind = x.dtype.type
    return kind(0.5) * x * (1 + np.tanh(kind(math.sqrt(2 / math.pi)) * (x + kind(0.044715) * x * x * x)))


def gelu_tanh(x: Array) -> Array:
    kind = x.dtype.type
    t = kind(2 * math.sqrt(2 / math.pi)) * (x + kind(0.044715) * x * x * x)
    return x * special.expit(t)


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softplus_naive(x: Array) -> Array:
    return np.log(1 + np.exp(x))


def narrowed(x: Array) -> Array:
    """`x` rounded to float32, back in its own dtype."""
    return x.astype(np.float32).astype(x.dtype)


def layer_norm_narrow_statistics(x: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    centred = x - narrowed(x.mean(-1, keepdims=True))
    var = narrowed((centred * centred).mean(-1, keepdims=True))
    return centred / np.sqrt(var + x.dtype.type(eps)) * gamma + beta


def batch_norm_narrow_scale(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    scale = narrowed(1 / np.sqrt(var + x.dtype.type(eps)))
    return (x - channel(mean)) * channel(scale) * channel(gamma) + channel(beta)


def softplus_narrow_exp(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(narrowed(np.exp(-np.abs(x))))


HEALTHY: dict[str, Callable[..., Any]] = {
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    "softmax": softmax,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "softplus": softplus,
    "tanh": np.tanh,
    "exp": np.exp,
    "matmul": np.matmul,
    "sum": lambda x, *, axis: x.sum(axis),
}


def rounded_to(bits: int, x: Array) -> Array:
    """float32 `x` rounded to `bits` significant bits (8: bfloat16, 11: TF32); other dtypes as they are."""
    if x.dtype != np.float32:
        return x
    drop = 24 - bits
    half = np.uint32(1 << (drop - 1))
    return ((np.ascontiguousarray(x).view(np.uint32) + half) & np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)).view(
        np.float32
    )


def sum_in_bfloat16(x: Array, *, axis: int) -> Array:
    """Accumulates in eight partial sums, each rounded to bfloat16 after every addition."""
    rows = np.moveaxis(x, axis, 0)
    partial = np.zeros((8, *rows.shape[1:]), x.dtype)
    for start in range(0, len(rows), 8):
        block = rows[start : start + 8]
        partial[: len(block)] = rounded_to(8, partial[: len(block)] + block)
    return partial.sum(0)


def matmul_without_remainder(a: Array, b: Array) -> Array:
    k = a.shape[1] // 8 * 8
    return a[:, :k] @ b[:k]


def stale_tail(function: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(x: Array) -> Array:
        y = function(x)
        y[x.size // 8 * 8 :] = x[x.size // 8 * 8 :]
        return y

    return kernel


def without_nan(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x: function(np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf))


def computed_in_float32(operator: str) -> Callable[..., Array]:
    def kernel(*arrays: Array, **attributes: Any) -> Array:
        narrow = (array.astype(np.float32) for array in arrays)
        return HEALTHY[operator](*narrow, **attributes).astype(arrays[0].dtype)

    return kernel


def inputs_in_float32(operator: str) -> Callable[..., Array]:
    def kernel(*arrays: Array, **attributes: Any) -> Array:
        narrow = (array.astype(np.float32).astype(array.dtype) for array in arrays)
        return HEALTHY[operator](*narrow, **attributes)

    return kernel


def _offset_everywhere(operator: str) -> dict[str, str]:
    return {spec.name: "offset(1000,1)" for spec in OPERATORS[operator].contract.inputs}


def _all(operator: str, recipe: str) -> dict[str, str]:
    specs = OPERATORS[operator].contract.inputs
    return {spec.name: f"abs({recipe})" if spec.domain.low >= 0 else recipe for spec in specs}


def _ignoring(function: Callable[..., Array], **changed: Any) -> Callable[..., Array]:
    return lambda *arrays, **attributes: function(*arrays, **(attributes | changed))


NORMAL = "normal(0,1)"
LONG_SUM = {"rows": 65536, "n": 24}

DEFECTS = (
    Defect("batch_norm", "eps_1e6_offset", _ignoring(batch_norm, eps=1e-6), _offset_everywhere("batch_norm"),
           ("wrong",), SIZES["batch_norm"], every=True),
    Defect("layer_norm", "eps_1e6_offset", _ignoring(layer_norm, eps=1e-6), {"x": "offset(1000,1)"},
           ("wrong",), SIZES["layer_norm"], every=True),
    Defect("layer_norm", "eps_1e6_4096", _ignoring(layer_norm, eps=1e-6), {"x": NORMAL},
           ("wrong",), {"rows": 2, "n": 4096}, every=True),
    Defect("layer_norm", "ddof_65536", _ignoring(layer_norm, ddof=1), {"x": NORMAL},
           ("wrong",), {"rows": 1, "n": 65536}, every=True),
    Defect("exp", "constant_1e7", lambda x: np.exp(x) * x.dtype.type(1 + 1e-7), {"x": NORMAL},
           ("wrong",), ELEMENTWISE, every=True),
    Defect("tanh", "constant_3e8", lambda x: np.tanh(x) * x.dtype.type(1 + 3e-8), {"x": NORMAL},
           ("wrong",), ELEMENTWISE, every=True),
    Defect("layer_norm", "float32_statistics", layer_norm_narrow_statistics, {"x": NORMAL},
           ("silent_downcast",), SIZES["layer_norm"], every=True),
    Defect("batch_norm", "float32_scale", batch_norm_narrow_scale, _all("batch_norm", NORMAL),
           ("silent_downcast",), SIZES["batch_norm"], every=True),
    Defect("softplus", "float32_exp", softplus_narrow_exp, {"x": NORMAL},
           ("silent_downcast",), ELEMENTWISE, every=True),
    Defect("sum", "axis_0", lambda x, *, axis: x.sum(axis), {"x": "uniform(0,1)"}, ("accumulation_order",),
           LONG_SUM, attributes={"axis": 0}),
    Defect("layer_norm", "eps_1e6_long", _ignoring(layer_norm, eps=1e-6), {"x": NORMAL},
           ("wrong",), {"rows": 4, "n": 1024}),
    Defect("batch_norm", "eps_1e3", _ignoring(batch_norm, eps=1e-3), _all("batch_norm", NORMAL),
           ("wrong",), SIZES["batch_norm"]),
    Defect("gelu", "tanh_form", gelu_by_tanh, {"x": NORMAL}, ("wrong",), ELEMENTWISE),
    Defect("softmax", "naive", softmax_naive, {"x": "normal(0,30)"}, ("nonfinite_mismatch",),
           {"rows": 32, "n": 128}),
    Defect("softmax", "naive_200", softmax_naive, {"x": "uniform(0,200)"}, ("nonfinite_mismatch",), SIZES["softmax"]),
    Defect("softplus", "naive", softplus_naive, {"x": "uniform(-40,0)"}, ("unstable",), ELEMENTWISE),
    Defect("layer_norm", "one_pass", layer_norm_one_pass, {"x": "offset(1000,1)"}, ("unstable",), SIZES["layer_norm"]),
    Defect("layer_norm", "ddof", _ignoring(layer_norm, ddof=1), {"x": NORMAL}, ("wrong",), SIZES["layer_norm"]),
    Defect("matmul", "bfloat16_inputs", lambda a, b: rounded_to(8, a) @ rounded_to(8, b), _all("matmul", NORMAL),
           ("low_precision",), SIZES["matmul"]),
    Defect("matmul", "tf32_inputs", lambda a, b: rounded_to(11, a) @ rounded_to(11, b), _all("matmul", NORMAL),
           ("low_precision",), SIZES["matmul"]),
    Defect("sum", "bfloat16_accumulator", sum_in_bfloat16, {"x": NORMAL}, ("low_precision",), SIZES["sum"]),
    Defect("sum", "bfloat16_positive", sum_in_bfloat16, {"x": "uniform(0,1)"}, ("low_precision",), SIZES["sum"]),
    Defect("matmul", "remainder_dropped", matmul_without_remainder, _all("matmul", NORMAL), ("wrong",),
           SIZES["matmul"]),
    Defect("tanh", "nan_swallowed", without_nan(np.tanh), {"x": "special(normal(0,1),0.05)"}, ("nonfinite_mismatch",),
           ELEMENTWISE),
    Defect("softplus", "nan_swallowed", without_nan(softplus), {"x": "special(normal(0,1),0.05)"},
           ("nonfinite_mismatch",), ELEMENTWISE),
    Defect("tanh", "stale_tail", stale_tail(np.tanh), {"x": NORMAL}, ("wrong",), {"n": 103}),
    Defect("exp", "stale_tail", stale_tail(np.exp), {"x": NORMAL}, ("wrong",), {"n": 103}),
    Defect("exp", "constant", lambda x: np.exp(x) * x.dtype.type(1 + 1e-5), {"x": NORMAL}, ("wrong",), ELEMENTWISE),
    Defect("tanh", "constant", lambda x: np.tanh(x * x.dtype.type(1 + 1e-5)), {"x": NORMAL}, ("wrong",), ELEMENTWISE),
    *(
        Defect(operator, f"float32_inside_{label}", kernel(operator), _all(operator, recipe), ("silent_downcast",),
               SIZES.get(operator, ELEMENTWISE), dtype, every=dtype == "float32")
        for operator in OPERATORS
        if operator in HEALTHY
        for kernel, label in ((computed_in_float32, "arithmetic"), (inputs_in_float32, "inputs"))
        for dtype in ("float64", "float32")
        for recipe in (NORMAL,)
    ),
)  # fmt: skip


def run(defect: Defect, trials: int, seed: int = 0) -> list[Row]:
    """Rows of the first trials of `defect`, the worst output's: the first trial with the precision ladder, as in a
    campaign."""
    called = f"{defect.operator}_{defect.name}"
    if called not in {i.name for i in PLANTED.implementations.get(defect.operator, ())}:
        PLANTED.operator(defect.operator, name=called, dtypes=tuple(PRECISIONS))(defect.kernel)
    contract = operators.operator(defect.operator).contract
    problem = make_problem(
        contract,
        dims=defect.dims,
        home=defect.dtype,
        recipes=[parse_recipe(defect.inputs.get(s.name, s.default), (s.name,)) for s in contract.inputs],
        attributes=defect.attributes,
    )
    cell = Cell(problem, (Target("planted", "cpu", defect.dtype, (("impl", called),)),))
    session = Session("test")
    trial = partial(run_trial, cell, seed, session=session)
    return [_worst(trial(index, ladder=defect.every or index == 0).rows) for index in range(trials)]


def _worst(rows: list[Row]) -> Row:
    """The row of the output with the most severe verdict."""
    return max(rows, key=lambda row: VERDICTS[str(row["verdict"])].severity)
