"""The primitives a reference may use: NumPy function, static arguments, and how an index of the result maps back.

Error rules are in `rules`, one-element evaluation in `element`; both are tables keyed by these names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.special
from msgspec import Struct

from fuzz.oracle.kinks import chosen, kinked
from fuzz.oracle.program import OPAQUE
from strategies.contract import Shape


class Primitive(Struct, frozen=True):
    """`function(*arrays, **static)` is NumPy's own; `kind` says how elements of result and operands correspond."""

    name: str
    function: Callable[..., Any]
    kind: str
    """elementwise | view | gather | reduction | scan | selection | matmul | opaque"""
    static: tuple[str, ...] = ()

    @property
    def arity(self) -> int:
        """Number of array operands."""
        if isinstance(self.function, np.ufunc):
            return int(self.function.nin)
        return {"where": 3, "matmul": 2, "gather": 2, "kink": 4, "chosen": 2}.get(self.name, 1)

    def complete(self, shapes: Sequence[Shape], given: Mapping[str, Any]) -> dict[str, Any]:
        """Static arguments in canonical form, with the reduction length."""
        static = dict(given)
        if self.kind == "reduction":
            rank = len(shapes[0])
            axis = static.get("axis")
            axes = range(rank) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
            static["axis"] = tuple(sorted(int(a) % rank for a in axes))
            static["keepdims"] = bool(static.get("keepdims", False))
            if self.name in ("sum", "mean", "var", "prod"):
                static["length"] = math.prod(shapes[0][a] for a in static["axis"])
            if self.name == "var":
                static["ddof"] = int(static.get("ddof", 0))
        elif self.kind == "scan":
            axis = int(static["axis"]) % len(shapes[0])
            static |= {"axis": axis, "length": shapes[0][axis]}
        elif self.name == "matmul":
            static["length"] = shapes[0][-1]
        return static


def call_arguments(static: Mapping[str, Any]) -> dict[str, Any]:
    """Static arguments as NumPy takes them."""
    return {key: value for key, value in static.items() if key != "length"}


def shape_of(primitive: Primitive, shapes: Sequence[Shape], static: Mapping[str, Any]) -> Shape:
    """Shape of the result, by NumPy itself on arrays without memory."""
    dummies = [np.broadcast_to(np.float64(1), shape) for shape in shapes]
    with np.errstate(all="ignore"):
        if primitive.kind == "elementwise":
            return tuple(np.broadcast_shapes(*shapes))
        if primitive.kind in ("scan", "selection"):
            return tuple(shapes[0])
        if primitive.kind == "matmul":
            return (*np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), shapes[0][-2], shapes[1][-1])
        if primitive.kind == "reduction":
            kept = static["keepdims"]
            dims = enumerate(shapes[0])
            return tuple(1 if a in static["axis"] else n for a, n in dims if kept or a not in static["axis"])
        return tuple(primitive.function(*dummies, **call_arguments(static)).shape)


def _getitem(x: Any, *, key: tuple[Any, ...]) -> Any:
    return x[key]


def taken(x: Any, constant: Any, *, positions: Any, padded: bool) -> Any:
    """x at flat `positions`, `constant` where they are negative; a scalar x is everywhere itself."""
    flat = np.asarray(x).reshape(-1)
    if np.ndim(x) == 0:
        values: Any = np.full(positions.shape, flat[0])
    elif flat.size == 0:
        values = np.zeros(positions.shape, flat.dtype)
    else:
        values = np.take(flat, positions, mode="clip")
    if padded:
        values[positions < 0] = constant
    return values


def _called(*inputs: Any, call: Any, output: int, terms: int) -> Any:
    """One output of a function that cannot be looked into, in the dtype of the inputs."""
    return call(*inputs)[output]


def _elementwise(*functions: np.ufunc) -> list[Primitive]:
    return [Primitive(f.__name__, f, "elementwise") for f in functions]


PRIMITIVES: dict[str, Primitive] = {
    p.name: p
    for p in (
        *_elementwise(np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.square),
        *_elementwise(np.sqrt, np.exp, np.expm1, np.log, np.log1p, np.tanh, np.maximum, np.minimum),
        *_elementwise(np.exp2, np.log2, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.arcsinh, np.arctanh, np.sign),
        *_elementwise(np.greater, np.greater_equal, np.less, np.less_equal),
        # the oracle's own in longdouble, of which scipy.special has no loop: see errorfunctions, loggamma
        *_elementwise(scipy.special.erf, scipy.special.erfc, scipy.special.erfinv, scipy.special.gammaln),
        *_elementwise(scipy.special.psi),
        Primitive("where", np.where, "elementwise"),
        Primitive("kink", kinked, "elementwise"),
        Primitive("chosen", chosen, "selection", ("axis", "largest")),
        Primitive("reshape", np.reshape, "view", ("shape",)),
        Primitive("transpose", np.transpose, "view", ("axes",)),
        Primitive("broadcast_to", np.broadcast_to, "view", ("shape",)),
        Primitive("getitem", _getitem, "view", ("key",)),
        Primitive("sliding_window_view", np.lib.stride_tricks.sliding_window_view, "view", ("window_shape", "axis")),
        Primitive("gather", taken, "gather", ("positions", "padded")),
        Primitive("sum", np.sum, "reduction", ("axis", "keepdims")),
        Primitive("mean", np.mean, "reduction", ("axis", "keepdims")),
        Primitive("var", np.var, "reduction", ("axis", "keepdims", "ddof")),
        Primitive("prod", np.prod, "reduction", ("axis", "keepdims")),
        Primitive("count_nonzero", np.count_nonzero, "reduction", ("axis", "keepdims")),
        Primitive("cumsum", np.cumsum, "scan", ("axis",)),
        Primitive("max", np.max, "reduction", ("axis", "keepdims")),
        Primitive("min", np.min, "reduction", ("axis", "keepdims")),
        Primitive("matmul", np.matmul, "matmul"),
        Primitive(OPAQUE, _called, "opaque", ("call", "output", "terms")),
    )
}
