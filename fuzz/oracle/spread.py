"""Carry a property of intermediates to the outputs it influences (overflow, void first order)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuzz.oracle.primitives import PRIMITIVES, call_arguments, taken
from fuzz.oracle.program import Argument, Node, Program, Ref


def spread(program: Program, masks: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Per output, the elements that depend on a marked element of any node. `masks` has one bool array a node.

    Selections (where, maximum, minimum) pass on the operand taken only: what was not used does not count.
    """
    reached: list[Any] = []
    for node, mask in zip(program.nodes, masks, strict=True):
        marked = [reached[a.node] if isinstance(a, Ref) else False for a in node.arguments]
        operands = [values[a.node] if isinstance(a, Ref) else a for a in node.arguments]
        reached.append(
            np.broadcast_to(mask | _through(node.primitive, dict(node.static), marked, operands), node.shape)
        )
    return [reached[number] for number in program.outputs]


def arriving(node: Node, masks: Sequence[Any], values: Sequence[Any]) -> Any:
    """Elements of one node computed from a marked element of an operand. max and min look at both their operands."""
    if node.primitive in ("maximum", "minimum"):
        return np.logical_or(*masks)
    if node.primitive == "kink":
        return np.logical_or(masks[0], masks[1]) | _sides(list(masks), list(values))
    return _through(node.primitive, dict(node.static), list(masks), list(values))


def skipped_padding(node: Node, program: Program, values: Sequence[Any]) -> Any:
    """Elements of a matrix product in which a padding zero meets an infinity or NaN: a kernel may leave padding out."""
    if node.primitive != "matmul":
        return False
    met: Any = False
    for here, there in ((0, 1), (1, 0)):
        if (outside := _outside(program, node.arguments[here])) is not None:
            given = ~np.isfinite(values[there])
            pair = (outside, given) if here == 0 else (given, outside)
            met = met | (np.matmul(*(mask.astype(np.float32) for mask in pair)) > 0)
    return met


def _outside(program: Program, argument: Argument) -> Any | None:
    """Which elements of a padded array, or of a view of one, are padding; None for any other node."""
    node = program.nodes[argument.node] if isinstance(argument, Ref) else None
    if node is None or node.primitive == "input":
        return None
    static = dict(node.static)
    if node.primitive == "gather":
        return static["positions"] < 0 if static["padded"] else None
    if PRIMITIVES[node.primitive].kind != "view" or (source := _outside(program, node.arguments[0])) is None:
        return None
    return PRIMITIVES[node.primitive].function(source, **call_arguments(static))


def _sides(masks: list[Any], values: list[Any]) -> Any:
    """Of a kink: the side taken, both where it is met."""
    x, at, below, above = masks
    over, under = np.greater(values[0], values[1]), np.less(values[0], values[1])
    return np.logical_or(x, at) & ~(over | under) | np.where(over, above, np.where(under, below, below | above))


def _through(name: str, static: dict[str, Any], masks: list[Any], values: list[Any]) -> Any:
    if not masks:
        return False
    if name == "where":
        return np.where(np.asarray(values[0]) != 0, masks[1], masks[2])
    if name == "kink":
        return _sides(masks, values)
    if name == "maximum":
        return np.where(np.greater_equal(values[0], values[1]), masks[0], masks[1])
    if name == "minimum":
        return np.where(np.less_equal(values[0], values[1]), masks[0], masks[1])
    primitive = PRIMITIVES[name]
    if primitive.kind == "view":
        return primitive.function(masks[0], **call_arguments(static))
    if primitive.kind == "reduction":
        return np.any(masks[0], axis=static["axis"], keepdims=static["keepdims"])
    if primitive.kind == "gather":
        return taken(masks[0], masks[1], **static)
    if primitive.kind == "selection":
        compared = np.any(masks[0], axis=static["axis"], keepdims=True)
        passed = np.not_equal(primitive.function(np.asarray(values[0]), np.ones(np.shape(values[1])), **static), 0)
        return compared | (passed & masks[1])
    if primitive.kind == "scan":
        return np.logical_or.accumulate(masks[0], axis=static["axis"])
    if primitive.kind == "opaque":  # whatever it does, an element may depend on any
        same = static["terms"] == 1
        return np.logical_or.reduce(np.broadcast_arrays(*masks)) if same else any(np.any(mask) for mask in masks)
    if primitive.kind == "matmul":
        return np.any(masks[0], axis=-1, keepdims=True) | np.any(masks[1], axis=-2, keepdims=True)
    return np.logical_or.reduce(np.broadcast_arrays(*masks)) if len(masks) > 1 else masks[0]
