"""How much work one output element is in the `element` interpreter, estimated from the shapes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fuzz.oracle.primitives import PRIMITIVES
from fuzz.oracle.program import Node, Program, Ref
from strategies.contract import Shape

UNAFFORDABLE = 10**15
"""For elements of a function that cannot be looked into: none can be evaluated by itself."""
_REPEATED = ("reduction", "scan", "matmul", "selection")
"""Kinds whose result costs an operation for every term."""


class _Need:
    """How much of a node one output element depends on: a box, and at most so many elements."""

    def __init__(self, shape: Shape) -> None:
        self.box = [0] * len(shape)
        self.most = 0

    def grow(self, box: Sequence[int], count: int) -> None:
        self.box = [max(pair) for pair in zip(self.box, box, strict=True)]
        self.most += count

    @property
    def count(self) -> int:
        return min(math.prod(self.box), self.most)


def slice_size(program: Program, output: int) -> int:
    """Scalar operations behind one element of output number `output`: an upper estimate, from the output backward.

    Every element of a node counts once, as the interpreter computes it once.
    """
    if program.opaque:
        return UNAFFORDABLE
    needs = [_Need(node.shape) for node in program.nodes]
    last = program.outputs[output]
    needs[last].grow([1] * len(program.nodes[last].shape), 1)
    work = 0
    for number in reversed(range(len(program.nodes))):
        node, need = program.nodes[number], needs[number]
        if not need.count:
            continue
        work += need.count
        for argument in node.arguments:
            if isinstance(argument, Ref):
                box, terms = _operand(node, program.nodes[argument.node].shape, need.box)
                needs[argument.node].grow(box, need.count * terms)
                if number >= len(program.inputs) and PRIMITIVES[node.primitive].kind in _REPEATED:
                    work += need.count * terms
    return work


def _operand(node: Node, shape: Shape, box: Sequence[int]) -> tuple[list[int], int]:
    """What a box of `node` needs of an operand of `shape`: a box, and how many of its elements each element needs."""
    kind, static = PRIMITIVES[node.primitive].kind, dict(node.static)
    if kind == "reduction":
        axes, rest = static["axis"], iter(box)
        if static["keepdims"]:
            needed = [shape[d] if d in axes else extent for d, extent in enumerate(box)]
        else:
            needed = [shape[d] if d in axes else next(rest) for d in range(len(shape))]
        return needed, math.prod(shape[axis] for axis in axes)
    if kind == "selection":
        static_axes = static["axis"]
        return [1 if size == 1 else size if d in static_axes else box[d] for d, size in enumerate(shape)], math.prod(
            shape[d] for d in static_axes
        )
    if kind == "scan":
        return [size if d == static["axis"] else box[d] for d, size in enumerate(shape)], shape[static["axis"]]
    if kind == "matmul":
        return list(shape), int(static["length"])
    if kind in ("view", "gather"):
        return list(shape), 1
    aligned = box[len(box) - len(shape) :]
    return [min(size, extent) for size, extent in zip(shape, aligned, strict=True)], 1
