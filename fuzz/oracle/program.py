"""Program: a reference as a short list of primitives. All interpreters (bound, element, lint) read this one form."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from strategies.contract import Shape

Argument: TypeAlias = "Ref | float"

OPAQUE = "opaque"
"""The primitive that stands for a whole function of which only results are seen (fuzz.oracle.opaque)."""


class Ref(Struct, frozen=True):
    """The result of node number `node`."""

    node: int


class Node(Struct, frozen=True):
    """One primitive applied to earlier nodes or constants. `static` holds axis, shape and the like."""

    primitive: str
    arguments: tuple[Argument, ...]
    static: tuple[tuple[str, Any], ...]
    shape: Shape


class Program(Struct, frozen=True):
    """Nodes in order of evaluation; the first `len(inputs)` nodes are the inputs."""

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[int, ...]

    def output_shapes(self) -> tuple[Shape, ...]:
        return tuple(self.nodes[number].shape for number in self.outputs)

    @property
    def opaque(self) -> bool:
        """Whether it calls a function that cannot be looked into: no element of it can be evaluated by itself."""
        return any(node.primitive == OPAQUE for node in self.nodes)

    def reduction_lengths(self) -> tuple[int, ...]:
        """Distinct numbers of summands of the reductions inside, ascending."""
        lengths = {dict(node.static)["length"] for node in self.nodes if "length" in dict(node.static)}
        return tuple(sorted(lengths))
