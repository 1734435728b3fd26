"""Record a NumPy reference as a Program. Nothing falls back: an unlisted function or a branch on values raises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from fuzz.oracle.layout import Layout, gathered, pruned, whole
from fuzz.oracle.primitives import PRIMITIVES, Primitive, shape_of
from fuzz.oracle.program import Argument, Node, Program, Ref
from strategies.contract import Scalar, Shape


class TraceError(TypeError):
    """The reference does something the oracle has no rule for."""


class Tracer(NDArrayOperatorsMixin):
    """Stands for an array while a reference runs; every operation appends a node."""

    def __init__(self, nodes: list[Node], number: int, layout: Layout | None = None) -> None:
        self._nodes, self._number, self._layout = nodes, number, layout

    @property
    def number(self) -> int:
        """Of its node."""
        return self._number

    @property
    def layout(self) -> Layout:
        """Where its elements lie: in a buffer of its own, unless it is a view."""
        return self._layout or whole(self._number, self.shape)

    @property
    def shape(self) -> Shape:
        return self._nodes[self._number].shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def reshape(self, *shape: Any) -> Tracer:
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return self._emit("reshape", (self,), {"shape": wanted})

    def __getitem__(self, key: Any) -> Tracer:
        return self._emit("getitem", (self,), {"key": key if isinstance(key, tuple) else (key,)})

    def primitive(self, name: str, arguments: Sequence[Any], static: Mapping[str, Any]) -> Tracer:
        """A primitive that is no function of NumPy (fuzz.oracle.kinks)."""
        return self._emit(name, arguments, static)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Tracer:
        if method == "reduce":
            named = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
            name = named.get(ufunc.__name__, f"{ufunc.__name__}.reduce")
            return self._emit(name, inputs, {"axis": 0, **kwargs})
        if method != "__call__":
            raise TraceError(f"{ufunc.__name__}.{method} is not a primitive of the oracle")
        return self._emit(ufunc.__name__, inputs, kwargs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Mapping[str, Any]
    ) -> Tracer:
        name = {"amax": "max", "amin": "min"}.get(function.__name__, function.__name__)
        if name == "reshape":
            return self._emit("reshape", args[:1], {"shape": args[1] if len(args) > 1 else kwargs["shape"]})
        if name == "expand_dims":
            shape = list(args[0].shape)
            axis = int(args[1] if len(args) > 1 else kwargs["axis"])
            shape.insert(axis if axis >= 0 else axis + len(shape) + 1, 1)
            return self._emit("reshape", args[:1], {"shape": tuple(shape)})
        if name == "transpose":
            axes = args[1] if len(args) > 1 else kwargs.get("axes") or tuple(range(args[0].ndim))[::-1]
            return self._emit("transpose", args[:1], {"axes": tuple(axes)})
        if name == "broadcast_to":
            return self._emit("broadcast_to", args[:1], {"shape": tuple(args[1])})
        if name == "sliding_window_view":
            window = args[1] if len(args) > 1 else kwargs["window_shape"]
            return self._emit(name, args[:1], {**kwargs, "window_shape": window})
        if name == "pad":
            return self._pad(*args, **kwargs)
        if name == "cumsum" and len(args) == 2:
            return self._emit(name, args[:1], {"axis": args[1]})
        return self._emit(name, args, kwargs)

    def __bool__(self) -> bool:
        raise TraceError("a reference may not branch on values or turn them into plain numbers or arrays: use np.where")

    __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = __bool__

    def _emit(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tracer:
        if name not in PRIMITIVES:
            raise TraceError(f"{name} is not a primitive of the oracle: use {', '.join(sorted(PRIMITIVES))}")
        primitive = PRIMITIVES[name]
        if primitive.kind == "reduction" and len(args) == 2:  # np.sum(x, 0)
            args, kwargs = args[:1], {"axis": args[1], **kwargs}
        if len(args) != primitive.arity:
            raise TraceError(f"{name} takes {primitive.arity} arrays here, got {len(args)}: name the other arguments")
        given = {key: value for key, value in kwargs.items() if value is not None and value is not np._NoValue}
        if extra := set(given) - set(primitive.static):
            raise TraceError(f"{name}: argument {', '.join(sorted(extra))} is not supported by the oracle")
        arguments = tuple(self._argument(arg, name) for arg in args)
        shapes = [self._nodes[a.node].shape if isinstance(a, Ref) else () for a in arguments]
        static = primitive.complete(shapes, given)
        if primitive.kind == "view":
            source = args[0]
            assert isinstance(source, Tracer)
            return source._rearranged(primitive, static)
        node = Node(
            name,
            arguments,
            tuple(sorted(static.items(), key=lambda item: item[0])),
            shape_of(primitive, shapes, static),
        )
        self._nodes.append(node)
        return Tracer(self._nodes, len(self._nodes) - 1)

    def _rearranged(self, primitive: Primitive, static: dict[str, Any]) -> Tracer:
        """A view where NumPy would give one, else a gather."""
        layout = self.layout
        positions, shared = layout.through(primitive, static)
        if not shared:
            self._nodes.append(gathered(self._nodes, layout.base, positions, 0.0))
            return Tracer(self._nodes, len(self._nodes) - 1)
        named = tuple(sorted(static.items(), key=lambda item: item[0]))
        self._nodes.append(Node(primitive.name, (Ref(self._number),), named, positions.shape))
        return Tracer(self._nodes, len(self._nodes) - 1, Layout(layout.base, positions))

    def _pad(self, array: Any, widths: Any, mode: str = "constant", *, constant_values: float = 0.0) -> Tracer:
        if mode != "constant":
            raise TraceError(f"pad: mode {mode!r} is not supported by the oracle: use 'constant'")
        assert isinstance(array, Tracer)
        layout = array.layout
        self._nodes.append(gathered(self._nodes, layout.base, layout.padded(widths), float(constant_values)))
        return Tracer(self._nodes, len(self._nodes) - 1)

    def _argument(self, value: Any, name: str) -> Argument:
        if isinstance(value, Tracer):
            return Ref(value._number)
        if isinstance(value, bool | int | float | np.floating | np.integer):
            return float(value)
        raise TraceError(f"{name}: a reference may combine its inputs with scalars only, not {type(value).__name__}")


def trace(
    reference: Callable[..., Any], shapes: Mapping[str, Shape], attributes: Mapping[str, Scalar] | None = None
) -> Program:
    """Run `reference(*inputs, **attributes)` on tracers and return its program.

    Raises TraceError when it uses a function without an error rule, or branches on values.
    """
    nodes = [Node("input", (), (), tuple(shape)) for shape in shapes.values()]
    result = reference(*(Tracer(nodes, number) for number in range(len(nodes))), **(attributes or {}))
    outputs = result if isinstance(result, tuple) else (result,)
    for output in outputs:
        if not isinstance(output, Tracer):
            raise TraceError(f"the reference returned {type(output).__name__}, not an array computed from its inputs")
    return pruned(Program(tuple(nodes), tuple(shapes), tuple(output._number for output in outputs)))
