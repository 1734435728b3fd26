"""Where the elements of a rearranged array lie: NumPy's own functions applied to an array of flat positions.

A rearrangement that NumPy answers with a view stays a view of its operand's buffers. One that NumPy would copy becomes
a `gather`, and so does padding: result element i is operand element positions[i], or the constant where that is -1.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fuzz.oracle.primitives import Primitive, call_arguments
from fuzz.oracle.program import Node, Program, Ref
from strategies.contract import Shape

Positions: TypeAlias = NDArray[np.intp]
OUTSIDE = -1
"""Position of an element that is the constant."""


class Layout(Struct, frozen=True):
    """A node as a view of the buffer of node `base`: `positions` has the node's shape and real NumPy strides."""

    base: int
    positions: Positions

    def through(self, primitive: Primitive, static: dict[str, Any]) -> tuple[Positions, bool]:
        """Positions after a view primitive, and whether NumPy needed no copy."""
        moved: Positions = primitive.function(self.positions, **call_arguments(static))
        return moved, np.may_share_memory(moved, self.positions)

    def padded(self, widths: Any) -> Positions:
        """Positions after constant padding."""
        result: Positions = np.pad(self.positions, widths, constant_values=OUTSIDE)
        return result


def whole(number: int, shape: Shape) -> Layout:
    """The layout of a node with a buffer of its own."""
    return Layout(number, np.arange(math.prod(shape), dtype=np.intp).reshape(shape))


def gathered(nodes: list[Node], base: int, positions: Positions, constant: float) -> Node:
    """The gather node. One that gathers from a gather reads that one's operand, where the constants allow it."""
    padded = bool((positions < 0).any())
    source = nodes[base]
    if source.primitive == "gather":
        static = dict(source.static)
        inner, (operand, inner_constant) = static["positions"], source.arguments
        if not (padded and static["padded"] and constant != inner_constant):
            assert isinstance(operand, Ref)
            assert isinstance(inner_constant, float)
            if inner.size:
                found = np.take(inner.reshape(-1), positions, mode="clip")
                positions = np.where(positions < 0, OUTSIDE, found)
            if static["padded"]:
                constant = inner_constant
            base, padded = operand.node, padded or static["padded"]
    positions = np.ascontiguousarray(positions)
    return Node("gather", (Ref(base), constant), (("padded", padded), ("positions", positions)), positions.shape)


def pruned(program: Program) -> Program:
    """`program` without nodes that no output depends on; the inputs stay."""
    used = set(range(len(program.inputs))) | set(program.outputs)
    for number in range(len(program.nodes) - 1, -1, -1):
        if number in used:
            used |= {a.node for a in program.nodes[number].arguments if isinstance(a, Ref)}
    order = {old: new for new, old in enumerate(sorted(used))}
    nodes = [
        Node(
            node.primitive,
            tuple(Ref(order[a.node]) if isinstance(a, Ref) else a for a in node.arguments),
            node.static,
            node.shape,
        )
        for number, node in enumerate(program.nodes)
        if number in used
    ]
    return Program(tuple(nodes), program.inputs, tuple(order[number] for number in program.outputs))
