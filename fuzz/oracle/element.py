"""Interpreter `element`: one output element in any scalar arithmetic, by a backward slice of the program.

Only the inputs the element depends on are touched, so no operator declares which axes those are.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from fuzz.oracle.arithmetic import Arithmetic
from fuzz.oracle.named import exact_constant
from fuzz.oracle.primitives import PRIMITIVES, call_arguments
from fuzz.oracle.program import Argument, Node, Program, Ref
from strategies.contract import Shape

Index = tuple[int, ...]

MAXIMUM_SLICE = 2_000_000
"""Nodes of one element's slice beyond which it is not worth evaluating in software arithmetic (minutes)."""


class SliceTooLarge(Exception):
    """The element depends on too many intermediates for software arithmetic."""


class Element(Struct, frozen=True):
    """One evaluated element and the inputs it used, in order of first use."""

    value: Any
    inputs: tuple[tuple[str, Index, float], ...]


def evaluate(program: Program, output: int, index: Index, inputs: Sequence[Any], arithmetic: Arithmetic) -> Element:
    """Element `index` of output number `output` for `inputs` (arrays in the program's order)."""
    slice_ = _Slice(program, inputs, arithmetic)
    value = slice_.value(program.outputs[output], index)
    return Element(value, tuple(slice_.used))


class _Slice:
    """Memoised recursion from one element back to the inputs."""

    def __init__(self, program: Program, inputs: Sequence[Any], arithmetic: Arithmetic) -> None:
        self.program, self.inputs, self.arithmetic = program, inputs, arithmetic
        self.memo: dict[tuple[int, Index], Any] = {}
        self.used: list[tuple[str, Index, float]] = []
        self._positions: dict[int, np.ndarray[Any, Any]] = {}
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 20 * len(program.nodes) + 1000))

    def value(self, number: int, index: Index) -> Any:
        key = (number, index)
        if key not in self.memo:
            if len(self.memo) > MAXIMUM_SLICE:
                raise SliceTooLarge(f"the element depends on more than {MAXIMUM_SLICE} intermediates")
            self.memo[key] = self._compute(number, index)
        return self.memo[key]

    def _compute(self, number: int, index: Index) -> Any:
        node = self.program.nodes[number]
        if number < len(self.program.inputs):
            given = float(self.inputs[number][index])
            self.used.append((self.program.inputs[number], index, given))
            return self.arithmetic.number(given)
        kind = PRIMITIVES[node.primitive].kind
        if kind == "view":
            source = self._argument_shape(node.arguments[0])
            return self._fetch(node.arguments[0], self._viewed(number, node, source, index))
        if kind == "gather":
            position = int(dict(node.static)["positions"][index])
            if position < 0:
                return self._fetch(node.arguments[1], ())
            source = self._argument_shape(node.arguments[0])
            return self._fetch(node.arguments[0], tuple(int(i) for i in np.unravel_index(position, source)))
        if kind == "reduction":
            return self._reduce(node, index)
        if kind == "scan":
            axis = dict(node.static)["axis"]
            prefix = [(*index[:axis], k, *index[axis + 1 :]) for k in range(index[axis] + 1)]
            return self._total([self._fetch(node.arguments[0], at) for at in prefix])
        if kind == "matmul":
            return self._matmul(node, index)
        if kind == "opaque":
            raise SliceTooLarge("the element comes from a function that cannot be looked into")
        if kind == "selection":
            return self._chosen(node, index)
        return self._elementwise(node, index)

    def _argument_shape(self, argument: Argument) -> Shape:
        return self.program.nodes[argument.node].shape if isinstance(argument, Ref) else ()

    def _fetch(self, argument: Argument, index: Index) -> Any:
        return (
            self.value(argument.node, index) if isinstance(argument, Ref) else exact_constant(argument, self.arithmetic)
        )

    def _broadcast(self, argument: Argument, index: Index) -> Any:
        shape = self._argument_shape(argument)
        offset = len(index) - len(shape)
        return self._fetch(argument, tuple(0 if size == 1 else index[offset + d] for d, size in enumerate(shape)))

    def _viewed(self, number: int, node: Node, source: Shape, index: Index) -> Index:
        """Where the viewed element lies in the operand: the view applied to an array of flat positions."""
        if number not in self._positions:
            flat = np.arange(math.prod(source)).reshape(source)
            self._positions[number] = PRIMITIVES[node.primitive].function(flat, **call_arguments(dict(node.static)))
        return tuple(int(i) for i in np.unravel_index(int(self._positions[number][index]), source))

    def _elementwise(self, node: Node, index: Index) -> Any:
        a = self.arithmetic
        if node.primitive == "where":
            taken = 1 if self._nonzero(self._broadcast(node.arguments[0], index)) else 2
            return self._broadcast(node.arguments[taken], index)
        values = [self._broadcast(argument, index) for argument in node.arguments]
        match node.primitive:
            case "maximum":
                return values[1] if a.less(values[0], values[1]) else values[0]
            case "minimum":
                return values[1] if a.less(values[1], values[0]) else values[0]
            case "kink":
                x, at, below, above = values
                return above if a.less(at, x) else below if a.less(x, at) else self._middle(below, above)
            case "greater":
                return a.less(values[1], values[0])
            case "less":
                return a.less(values[0], values[1])
            case "greater_equal":
                return not a.less(values[0], values[1])
            case "less_equal":
                return not a.less(values[1], values[0])
        return a.apply(node.primitive, *values)

    def _nonzero(self, value: Any) -> bool:
        """Of a condition, or of a number of the arithmetic: those of Arb are true whatever they are."""
        if isinstance(value, bool):
            return value
        a = self.arithmetic
        return a.less(value, a.number(0.0)) or a.less(a.number(0.0), value)

    def _middle(self, x: Any, y: Any) -> Any:
        a = self.arithmetic
        return a.apply("multiply", a.apply("add", x, y), a.number(0.5))

    def _chosen(self, node: Node, index: Index) -> Any:
        """The cotangent where an element is the extreme one of its line, half of it where several are."""
        a, static = self.arithmetic, dict(node.static)
        axes, shape = static["axis"], self._argument_shape(node.arguments[0])
        passed = self._fetch(node.arguments[1], tuple(0 if d in axes else i for d, i in enumerate(index)))
        own, base, several = self._fetch(node.arguments[0], index), list(index), False
        zero, less = a.number(0.0), a.less
        if not static["largest"]:
            less = lambda x, y: a.less(y, x)  # noqa: E731
        for position in itertools.product(*(range(shape[d]) for d in axes)):
            for d, p in zip(axes, position, strict=True):
                base[d] = p
            other = self._fetch(node.arguments[0], tuple(base))
            if less(own, other):
                return zero
            several = several or (tuple(base) != index and not less(other, own))
        return self._middle(passed, zero) if several else passed

    def _reduce(self, node: Node, index: Index) -> Any:
        static: Mapping[str, Any] = dict(node.static)
        shape = self._argument_shape(node.arguments[0])
        axes = static["axis"]
        rest = iter(index)
        base = [0] * len(shape)
        for d in range(len(shape)):
            if d not in axes:
                base[d] = next(rest)
            elif static["keepdims"]:
                next(rest)
        values = []
        for position in itertools.product(*(range(shape[d]) for d in axes)):
            for d, p in zip(axes, position, strict=True):
                base[d] = p
            values.append(self._fetch(node.arguments[0], tuple(base)))
        return self._combine(node.primitive, static, values)

    def _combine(self, primitive: str, static: Mapping[str, Any], values: list[Any]) -> Any:
        a = self.arithmetic
        if primitive == "count_nonzero":
            return a.number(float(sum(map(self._nonzero, values))))
        if primitive in ("max", "min"):
            best = values[0]
            for value in values[1:]:
                if a.less(best, value) if primitive == "max" else a.less(value, best):
                    best = value
            return best
        if primitive == "prod":
            product = a.number(1.0)
            for value in values:
                product = a.apply("multiply", product, value)
            return product
        total = self._total(values)
        if primitive == "sum":
            return total
        mean = a.apply("divide", total, a.number(float(len(values))))
        if primitive == "mean":
            return mean
        squares = [a.apply("square", a.apply("subtract", value, mean)) for value in values]
        return a.apply("divide", self._total(squares), a.number(float(len(values) - static["ddof"])))

    def _total(self, values: list[Any]) -> Any:
        total = self.arithmetic.number(0.0)
        for value in values:
            total = self.arithmetic.apply("add", total, value)
        return total

    def _matmul(self, node: Node, index: Index) -> Any:
        a = self.arithmetic
        left, right = node.arguments
        products = []
        for k in range(dict(node.static)["length"]):
            x = self._batched(left, index[:-2], (index[-2], k))
            y = self._batched(right, index[:-2], (k, index[-1]))
            products.append(a.apply("multiply", x, y))
        return self._total(products)

    def _batched(self, argument: Argument, batch: Index, matrix: Index) -> Any:
        shape = self._argument_shape(argument)
        offset = len(batch) - (len(shape) - 2)
        leading = tuple(0 if size == 1 else batch[offset + d] for d, size in enumerate(shape[:-2]))
        return self._fetch(argument, leading + matrix)
