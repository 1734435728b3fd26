"""Reverse mode: from the program of an operator to the program of its vector-Jacobian product.

The forward program is recorded once more, then every node is visited from the last to the first, and the rule of its
primitive (fuzz.oracle.derivatives) adds to the cotangents of its operands. The result is a program: its bound, its
elements in Arb and its lint come from the interpreters that every program has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from fuzz.oracle.derivatives import DERIVATIVES, Applied, Gate, Gated
from fuzz.oracle.layout import OUTSIDE, gathered, pruned, whole
from fuzz.oracle.primitives import PRIMITIVES, call_arguments
from fuzz.oracle.program import Argument, Node, Program, Ref
from fuzz.oracle.trace import TraceError, Tracer
from strategies.contract import Shape

_COMPARISONS = ("greater", "greater_equal", "less", "less_equal")
_MERGED = ("sum", "matmul", "mean")
_NUMPY: Any = np
"""Called with tracers, which NumPy's types do not know."""


def vjp_program(program: Program, wrt: Sequence[str], cotangents: Mapping[int, str]) -> Program:
    """The program of the vector-Jacobian product of `program`.

    `cotangents` names the new input that holds the cotangent of an output, by the output's number; outputs not named
    have cotangent 0. The inputs are those of `program`, then the cotangents; the outputs are the gradients with respect
    to the inputs `wrt`, in their order. Raises TraceError for a primitive without a derivative rule, by name, and for
    an input that `program` lacks.
    """
    for name in wrt:
        if name not in program.inputs:
            raise TraceError(f"no input is called {name!r}: the inputs are {', '.join(program.inputs)}")
    return _Sweep(program, tuple(cotangents.values())).run(wrt, tuple(cotangents))


class _Sweep:
    """One derivation: the nodes recorded so far, and the cotangents that have reached nodes of the forward program."""

    def __init__(self, program: Program, names: tuple[str, ...]) -> None:
        self.program, self.names = program, names
        self.nodes: list[Node] = []
        self.tracers: list[Tracer] = []
        self.seeds: list[Tracer] = []
        self.pending: dict[int, list[tuple[Any, tuple[Gate, ...]]]] = {}

    def run(self, wrt: Sequence[str], outputs: Sequence[int]) -> Program:
        inputs = len(self.program.inputs)
        shapes = [node.shape for node in self.program.nodes[:inputs]]
        shapes += [self.program.nodes[self.program.outputs[number]].shape for number in outputs]
        self.nodes += [Node("input", (), (), shape) for shape in shapes]
        leaves = [Tracer(self.nodes, number) for number in range(len(shapes))]
        self.tracers, self.seeds = leaves[:inputs], leaves[inputs:]
        for node in self.program.nodes[inputs:]:
            self.tracers.append(self._again(node))
        for number, seed in zip(outputs, self.seeds, strict=True):
            self._add(self.program.outputs[number], seed, ())
        for number in range(len(self.program.nodes) - 1, inputs - 1, -1):
            if number in self.pending:
                self._through(number)
        results = [self._gradient(self.program.inputs.index(name)) for name in wrt]
        found = Program(tuple(self.nodes), (*self.program.inputs, *self.names), tuple(r.number for r in results))
        return pruned(found)

    def _again(self, node: Node) -> Tracer:
        """The node recorded anew, so that its layout in memory is known."""
        arguments = tuple(self._operand(argument) for argument in node.arguments)
        static = call_arguments(dict(node.static))
        if node.primitive == "gather":
            (source, constant) = node.arguments
            assert isinstance(source, Ref)
            assert isinstance(constant, float)
            self.nodes.append(gathered(self.nodes, self.tracers[source.node].number, static["positions"], constant))
            return Tracer(self.nodes, len(self.nodes) - 1)
        first = next(argument for argument in arguments if isinstance(argument, Tracer))
        return first.primitive(node.primitive, arguments, static)

    def _operand(self, argument: Argument) -> Any:
        return self.tracers[argument.node] if isinstance(argument, Ref) else argument

    def _through(self, number: int) -> None:
        """Pass the cotangent of a node on to its operands."""
        node = self.program.nodes[number]
        kind = PRIMITIVES[node.primitive].kind
        g, gates = self._collected(number)
        if kind != "elementwise":
            g, gates = _closed(g, gates), ()
        if kind in ("view", "gather"):
            source = node.arguments[0]
            assert isinstance(source, Ref)
            self._add(source.node, self._scattered(node, source.node, g), ())
            return
        if node.primitive not in DERIVATIVES:
            raise TraceError(f"{node.primitive} has no derivative rule: the oracle derives no gradient of it")
        applied = Applied(
            tuple(self._operand(argument) for argument in node.arguments),
            self.tracers[number],
            dict(node.static),
            self._compared(node),
        )
        for argument, part in zip(node.arguments, DERIVATIVES[node.primitive](g, applied), strict=True):
            if not isinstance(argument, Ref) or part is None:
                continue
            value, more = (part.value, (part.gate, *gates)) if isinstance(part, Gated) else (part, gates)
            shape = self.program.nodes[argument.node].shape
            if value.shape != shape or node.shape != shape:
                value, more = self._summed_to(_closed(value, more), shape), ()
            self._add(argument.node, value, more)

    def _compared(self, node: Node) -> tuple[str, Any, Any] | None:
        """The comparison that a `where` chooses by. One with an infinity asks whether a number is finite."""
        condition = node.arguments[0]
        if node.primitive != "where" or not isinstance(condition, Ref):
            return None
        chooser = self.program.nodes[condition.node]
        if chooser.primitive not in _COMPARISONS:
            return None
        x, y = chooser.arguments
        if any(isinstance(a, float) and math.isinf(a) for a in (x, y)):
            return None
        return chooser.primitive, self._operand(x), self._operand(y)

    def _add(self, number: int, value: Any, gates: tuple[Gate, ...]) -> None:
        self.pending.setdefault(number, []).append((value, gates))

    def _collected(self, number: int) -> tuple[Any, tuple[Gate, ...]]:
        """The sum of what reached a node: still behind its gates where there is but one."""
        (value, gates), *others = self.pending.pop(number)
        if not others:
            return value, gates
        total = _closed(value, gates)
        for other, more in others:
            total = total + _closed(other, more)
        return total, ()

    def _gradient(self, number: int) -> Tracer:
        if number not in self.pending:
            zero: Tracer = _NUMPY.where(0.0, self.tracers[number], 0.0)
            return zero
        value = _closed(*self._collected(number))
        assert isinstance(value, Tracer)
        return value

    def _summed_to(self, g: Tracer, shape: Shape) -> Tracer:
        """The cotangent of an operand that was broadcast: summed over the axes it was repeated along."""
        lead = g.ndim - len(shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(shape, g.shape[lead:], strict=True)):
            g = _NUMPY.broadcast_to(g, np.broadcast_shapes(g.shape, shape))
            lead = g.ndim - len(shape)
        axes = (*range(lead), *(lead + d for d, n in enumerate(shape) if n == 1 and g.shape[lead + d] != 1))
        if axes:
            g = self._sum(g, axes, g)
        return g if g.shape == shape else g.reshape(shape)

    def _sum(self, g: Tracer, axes: tuple[int, ...], terms: Tracer) -> Tracer:
        """A sum with its axes kept, of what was rearranged from `terms`.

        A sum of sums may be computed as one sum, so it is charged as one of all terms.
        """
        result: Tracer = _NUMPY.sum(g, axis=axes, keepdims=True)
        inner, node = self.nodes[terms.layout.base], self.nodes[result.number]
        if inner.primitive in _MERGED:
            static = dict(node.static)
            static["length"] *= max(1, dict(inner.static)["length"])
            self.nodes[result.number] = structs.replace(node, static=tuple(sorted(static.items(), key=lambda i: i[0])))
        return result

    def _scattered(self, node: Node, source: int, g: Tracer) -> Tracer:
        """The cotangent of the operand of a rearrangement: of each of its elements, the sum over all its places."""
        shape, static = self.program.nodes[source].shape, dict(node.static)
        if node.primitive == "broadcast_to":
            return self._summed_to(g, shape)
        if node.primitive == "reshape":
            return g.reshape(shape)
        if node.primitive == "transpose":
            inverse = tuple(int(i) for i in np.argsort(static["axes"]))
            turned: Tracer = _NUMPY.transpose(g, inverse)
            return turned
        if node.primitive == "gather":
            positions = static["positions"]
        else:
            positions = PRIMITIVES[node.primitive].function(whole(0, shape).positions, **call_arguments(static))
        table = _readers(np.asarray(positions).reshape(-1), math.prod(shape))
        there = np.append(g.layout.positions.reshape(-1), OUTSIDE)[table]  # -1 is the last: outside
        self.nodes.append(gathered(self.nodes, g.layout.base, there.reshape(*shape, -1), 0.0))
        spread = Tracer(self.nodes, len(self.nodes) - 1)
        if table.shape[1] == 1:
            return spread.reshape(shape)
        return self._sum(spread, (len(shape),), g).reshape(shape)


def _closed(value: Any, gates: tuple[Gate, ...]) -> Any:
    """The cotangent behind its gates, the last one met closed first."""
    for gate in gates:
        value = gate(value)
    return value


def _readers(positions: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """(size, most): for each of `size` elements the flat places that read it, filled up with -1."""
    places = np.flatnonzero(positions >= 0)
    read = positions[places]
    order = np.argsort(read, kind="stable")
    places, read = places[order], read[order]
    counts = np.bincount(read, minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if size else np.zeros(0, np.intp)
    table = np.full((size, max(1, int(counts.max(initial=1)))), OUTSIDE, np.intp)
    table[read, np.arange(read.size) - starts[read]] = places
    return table
