"""Along which axes an output depends on the inputs at its own place alone: found by changing every second slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from fuzz.backends.base import Array
from fuzz.checking.called import FOREIGN, Called
from strategies.contract import Shape

Tell = Callable[[str], None]


def independent(called: Called, inputs: Mapping[str, Array], shapes: Sequence[Shape], tell: Tell) -> tuple[int, ...]:
    """Axes, of those that all inputs and outputs share, along which a change stays in its place.

    Found by changing every second slice of all inputs and looking at the others, in float64 where it can.
    """
    tell(f"calling {called.name} on changed inputs")
    arrays = [array.astype(np.float64) for array in inputs.values()]
    try:
        before = called([array.copy() for array in arrays])
    except FOREIGN:
        arrays = [array.copy() for array in inputs.values()]
        before = called([array.copy() for array in arrays])
    return tuple(axis for axis in _shared(arrays, shapes) if _stays(called, arrays, before, axis))


def _shared(arrays: Sequence[Array], shapes: Sequence[Shape]) -> Iterator[int]:
    every = [array.shape for array in arrays] + list(shapes)
    for axis in range(min(len(shape) for shape in every)):
        sizes = {shape[axis] for shape in every}
        if len(sizes) == 1 and sizes.pop() > 1:
            yield axis


def _stays(called: Called, arrays: Sequence[Array], before: Sequence[Array], axis: int) -> bool:
    moved = []
    for array in arrays:
        changed = array.copy()
        odd = [slice(None)] * array.ndim
        odd[axis] = slice(1, None, 2)
        changed[tuple(odd)] = changed[tuple(odd)] * 1.25 + 0.5
        moved.append(changed)
    try:
        after = called(moved)
    except FOREIGN:
        return False
    for a, b in zip(before, after, strict=True):
        even = [slice(None)] * a.ndim
        even[axis] = slice(0, None, 2)
        if not np.allclose(a[tuple(even)], b[tuple(even)], rtol=1e-9, atol=0.0, equal_nan=True):
            return False
    return True
