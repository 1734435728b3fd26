"""Options of NumPy: inputs in column-major order, and the reduced axis moved to the front or the end.

Both are what a caller does to arrays before a call: other loops run inside, over the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from fuzz.backends.base import Array, Implementation, Kernel, OptionSpec, Request, SimpleKernel, Unsupported
from fuzz.backends.spelling import Spelling, Wanted
from strategies.contract import Contract, Scalar, Shape

ORDER, REDUCE_AXIS = "order", "reduce_axis"
EXACT = {
    "batch_norm": "each element by operations that IEEE 754 rounds correctly",
    "cumsum": "the terms of a running sum are added one after the other, wherever they lie",
    "argmax": "the first of the largest elements, whatever lies beside it",
}
"""Operators whose bits depend on neither option, and why. Other loops may add in another order or use vectors."""


def has_matrix(contract: Contract, implementation: Implementation) -> bool:
    """Whether an input has two dims or more: only then are there two orders."""
    return any(len(spec.dims) > 1 for spec in contract.inputs)


def has_axis(contract: Contract, implementation: Implementation) -> bool:
    """Whether the operator works along an axis of its choice."""
    return any(name == "axis" for name, _ in contract.attributes)


OPTIONS = (
    OptionSpec(
        ORDER, "C", "memory order of inputs of two dims or more: C row-major, F column-major", ("C", "F"),
        suits=has_matrix,
    ),
    OptionSpec(
        REDUCE_AXIS,
        "given",
        "the axis the operator works along, moved to the front or the end of the array before the call",
        ("given", "first", "last"),
        suits=has_axis,
    ),
)  # fmt: skip


class Arrangement(Struct, frozen=True):
    """How inputs lie in memory, and from where to where an axis has moved (the same where it has not)."""

    order: Literal["C", "F"]
    source: int
    to: int

    @property
    def moves(self) -> bool:
        return self.source != self.to

    def shape(self, shape: Shape) -> Shape:
        """Of an array with the axis moved."""
        moved = list(shape)
        moved.insert(self.to, moved.pop(self.source))
        return tuple(moved)


def arrangement(
    options: Mapping[str, str], attributes: Mapping[str, Scalar], shapes: Mapping[str, Shape]
) -> Arrangement | None:
    """What the options ask for; None for the defaults. Unsupported where they mean nothing."""
    order: Literal["C", "F"] = "F" if options.get(ORDER, "C") == "F" else "C"
    where = options.get(REDUCE_AXIS, "given")
    if order == "C" and where == "given":
        return None
    if order == "F" and all(len(shape) < 2 for shape in shapes.values()):
        raise Unsupported("numpy option order=F is about inputs of two dims or more: there is none here")
    if where == "given":
        return Arrangement(order, 0, 0)
    if "axis" not in attributes:
        raise Unsupported(f"numpy option reduce_axis={where} is about operators with an attribute axis: this has none")
    rank = max(len(shape) for shape in shapes.values())
    return Arrangement(order, int(attributes["axis"]) % rank, 0 if where == "first" else rank - 1)


def rearranged(request: Request, found: Arrangement, prepare: Callable[[Request], Kernel]) -> Kernel:
    """The kernel that `prepare` makes, on copies of the inputs that lie as the options say."""
    inputs = {
        name: np.empty(found.shape(array.shape) if found.moves else array.shape, array.dtype, order=found.order)
        for name, array in request.inputs.items()
    }
    attributes = dict(request.attributes) | ({"axis": found.to} if found.moves else {})
    rank = max(array.ndim for array in request.inputs.values())
    whole = [found.moves and array.ndim == rank for array in request.outputs]
    outputs = tuple(
        np.empty(found.shape(array.shape), array.dtype) if moved else array
        for array, moved in zip(request.outputs, whole, strict=True)
    )
    inner = prepare(structs.replace(request, attributes=attributes, inputs=inputs, outputs=outputs))

    def call() -> tuple[Array, ...]:
        for name, array in request.inputs.items():
            np.copyto(inputs[name], _moved(array, found.source, found.to))
        for array, moved in zip(outputs, whole, strict=True):
            if moved:
                array.fill(np.nan)  # as the engine's own buffers are
        results = inner()
        return tuple(
            _back(result, array, found) if moved else result
            for result, array, moved in zip(results, request.outputs, whole, strict=True)
        )

    exact = request.implementation.operator in EXACT
    return SimpleKernel(call, inner.engine_owned, inner.facts, (ORDER, REDUCE_AXIS) if exact else ())


def spelled(wanted: Wanted, found: Arrangement, spell: Callable[[Wanted], Spelling]) -> Spelling:
    """What `spell` writes for arrays that lie as the options say, with the lines that make them so."""
    if not found.moves and found.order == "C":  # the axis is there already
        return spell(wanted)
    if not found.moves:
        return _prefixed(spell(wanted), [f"{name} = np.asfortranarray({name})" for name in wanted.inputs])
    rank = max(len(shape) for shape in wanted.inputs.values())
    shapes = {name: found.shape(shape) for name, shape in wanted.inputs.items()}
    outputs = {name: found.shape(s) if len(s) == rank else s for name, s in wanted.outputs.items()}
    attributes = dict(wanted.attributes) | {"axis": found.to}
    spelling = spell(structs.replace(wanted, inputs=shapes, outputs=outputs, attributes=attributes))
    copied = "np.asfortranarray" if found.order == "F" else "np.ascontiguousarray"
    lines = [f"{name} = {copied}(np.moveaxis({name}, {found.source}, {found.to}))" for name in wanted.inputs]
    if len(tuple(wanted.outputs.values())[wanted.output]) == rank:
        *body, last = spelling.body
        result = last.removeprefix("return ")
        spelling = structs.replace(spelling, body=(*body, f"return np.moveaxis({result}, {found.to}, {found.source})"))
    return _prefixed(spelling, lines)


def _prefixed(spelling: Spelling, lines: list[str]) -> Spelling:
    return structs.replace(spelling, body=(*lines, *spelling.body))


def _moved(array: Array, source: int, to: int) -> Array:
    return np.moveaxis(array, source, to) if source != to else array


def _back(result: Array, output: Array, found: Arrangement) -> Array:
    np.copyto(output, np.moveaxis(result, found.to, found.source))
    return output
