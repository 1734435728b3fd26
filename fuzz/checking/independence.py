"""Along which axes an output depends on the inputs at its own place alone: found by changing every second slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from fuzz.backends.base import Array
from fuzz.checking.called import FOREIGN, Called
from strategies.contract import Shape

Tell = Callable[[str], None]


def independent(
    called: Called, inputs: Mapping[str, Array], shapes: Sequence[Shape], tell: Tell
) -> dict[str, tuple[int, ...]]:
    """Per input, the axes that run along the same axis of every output, where a change stays in its place.

    Found by changing every second slice of the inputs that are as long as the outputs there, and looking at the other
    slices of the outputs, in float64 where that can be had.
    """
    tell(f"calling {called.name} on changed inputs")
    arrays = {name: array.astype(np.float64) for name, array in inputs.items()}
    try:
        before = called([array.copy() for array in arrays.values()])
    except FOREIGN:
        arrays = {name: array.copy() for name, array in inputs.items()}
        try:
            before = called([array.copy() for array in arrays.values()])
        except FOREIGN:  # it raises now and then: nothing is known
            return dict.fromkeys(inputs, ())
    found: dict[str, list[int]] = {name: [] for name in inputs}
    for axis, size in _common(shapes):
        long = [name for name, array in arrays.items() if array.ndim > axis and array.shape[axis] == size]
        alike = [name for name in long if arrays[name].ndim == len(shapes[0])]  # a bias is broadcast from behind
        for moving in filter(None, dict.fromkeys((tuple(long), tuple(alike)))):
            if _stays(called, arrays, moving, before, axis):
                for name in moving:
                    found[name].append(axis)
                break
    return {name: tuple(axes) for name, axes in found.items()}


def _common(shapes: Sequence[Shape]) -> Iterator[tuple[int, int]]:
    """Axes, counted from the front, along which all outputs are equally long and longer than 1, with that length."""
    for axis in range(min(len(shape) for shape in shapes)):
        sizes = {shape[axis] for shape in shapes}
        if len(sizes) == 1 and (size := sizes.pop()) > 1:
            yield axis, size


def _stays(
    called: Called, arrays: Mapping[str, Array], moving: Sequence[str], before: Sequence[Array], axis: int
) -> bool:
    moved = []
    for name, array in arrays.items():
        changed = array.copy()
        if name in moving:
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
