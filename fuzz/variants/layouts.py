"""The same inputs, lying otherwise in memory."""

from __future__ import annotations

from fuzz.backends.base import Array, Unsupported
from fuzz.variants.base import Around, Family, Wrapped
from fuzz.variants.memory import MEMORIES, memory_for
from fuzz.variants.values import one_of

TRANSPOSED = "transposed"


def _layout(around: Around, value: str) -> Wrapped:
    if value == TRANSPOSED:
        return _transposed(around)
    if value not in around.layouts:
        raise Unsupported(f"kernels of {around.backend} take no arrays of this layout")
    inputs = around.request.inputs
    memory = memory_for(value, [array.shape for array in inputs.values()])
    part = around.parts.get({name: array.shape for name, array in inputs.items()}, around.shapes, memory=memory)

    def call() -> tuple[Array, ...]:
        for name, values in inputs.items():
            part.fill(name, values)
        return part.call()

    return Wrapped(call)


def _transposed(around: Around) -> Wrapped:
    """A matrix transposed and worked along its other axis."""
    inputs, along = around.request.inputs, around.request.attributes.get("axis")
    if len(inputs) != 1 or not isinstance(along, int) or any(array.ndim != 2 for array in inputs.values()):
        raise Unsupported("the operator does not work along an axis of one matrix")
    other = 0 if along % 2 else -1
    ((name, values),) = inputs.items()
    shapes = tuple(shape[::-1] for shape in around.shapes)  # reversing a vector's shape changes nothing
    part = around.parts.get({name: values.shape[::-1]}, shapes, attributes={"axis": other})

    def call() -> tuple[Array, ...]:
        part.fill(name, values.T)
        return tuple(result.T for result in part.call())

    return Wrapped(call)


LAYOUT = Family(
    "layout",
    "inputs that lie otherwise in memory: "
    + "; ".join(f"{memory.name}: {memory.doc}" for memory in MEMORIES.values())
    + f"; {TRANSPOSED}: a matrix transposed, and its other axis",
    "layout_variant",
    (*MEMORIES, TRANSPOSED),
    one_of(*MEMORIES, TRANSPOSED),
    _layout,
    refusable=True,
)
FAMILIES = (LAYOUT,)
