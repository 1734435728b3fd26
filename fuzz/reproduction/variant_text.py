"""A call under a variant as text: statements around `compute`, for scripts that need the library and NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from fuzz.backends.extraction import Unspellable
from fuzz.variants import variant
from fuzz.variants.axes import Batch
from fuzz.variants.batches import ALL_BUT_ONE


class Around(Struct, frozen=True):
    """What is known of the call: names of the inputs in the script, their ranks, and the batch where there is one."""

    names: Mapping[str, str]
    ranks: Mapping[str, int]
    batch: Batch | None
    output: int

    def call(self, arguments: Mapping[str, str]) -> str:
        """`compute` of these expressions, by name of the contract."""
        return f"compute({', '.join(arguments[name] for name in self.names)})"

    def require_batch(self) -> Batch:
        """Unspellable where there is none."""
        if self.batch is None:
            raise Unspellable("the operator has no batch")
        return self.batch


def lines(name: str, around: Around) -> tuple[str, ...]:
    """The body of a function of the inputs that calls `compute` under the variant called `name`.

    Unspellable where this has no text.
    """
    found = variant(name)
    if found.family.name not in _TEXTS:
        raise Unspellable(f"calls under {name} have no text")
    return tuple(_TEXTS[found.family.name](around, found.value))


def _batch(around: Around, value: str) -> Sequence[str]:
    batch = around.require_batch()
    if value == ALL_BUT_ONE:
        return _pieces(around, f"[(0, {batch.size - 1}), ({batch.size - 1}, {batch.size})]")
    if not value.isdecimal():
        raise Unspellable(f"the library's own loop, {value}, is an option of its backend")
    return _pieces(around, f"[(at, min(at + {value}, {batch.size})) for at in range(0, {batch.size}, {value})]")


def _length(around: Around, value: str) -> Sequence[str]:
    size = around.require_batch().size
    return _pieces(around, f"[(0, {value}), ({value}, {size})]")


def _pieces(around: Around, ends: str) -> Sequence[str]:
    batch = around.require_batch()
    parts = {
        key: name if (axis := batch.inputs[key]) is None else f"{name}[{':, ' * axis}start:stop].copy()"
        for key, name in around.names.items()
    }
    return (
        f"pieces = {ends}",
        f"parts = [{around.call(parts)} for start, stop in pieces]",
        f"return np.concatenate(parts, {batch.outputs[around.output]})",
    )


def _padding(around: Around, value: str) -> Sequence[str]:
    return _beside(around, 0, int(value))


def _position(around: Around, value: str) -> Sequence[str]:
    return _beside(around, int(value), 0)


def _beside(around: Around, before: int, behind: int) -> Sequence[str]:
    batch = around.require_batch()
    longer = {
        key: name if (axis := batch.inputs[key]) is None else f"np.take({name}, rows, {axis})"
        for key, name in around.names.items()
    }
    axis = batch.outputs[around.output]
    return (
        f"rows = np.arange({-before}, {batch.size + behind}) % {batch.size}",
        f"return {around.call(longer)}[{':, ' * axis}{before}:{before + batch.size}]",
    )


def _layout(around: Around, value: str) -> Sequence[str]:
    if value not in _LAYOUTS:
        raise Unspellable(f"layout {value} has no text")
    least, text = _LAYOUTS[value]
    body = [
        line.format(x=name)
        for key, name in around.names.items()
        if (around.ranks[key] == least if value == "channels_last" else around.ranks[key] >= least)
        for line in text
    ]
    return (*body, f"return {around.call(around.names)}")


_LAYOUTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "strided": (
        1,
        (
            "wide = np.full((*{x}.shape[:-1], 2 * {x}.shape[-1]), np.nan, {x}.dtype)",
            "wide[..., ::2] = {x}",
            "{x} = wide[..., ::2]",
        ),
    ),
    "F": (2, ("{x} = np.asfortranarray({x})",)),
    "negative": (1, ("{x} = {x}[..., ::-1].copy()[..., ::-1]",)),
    "channels_last": (4, ("{x} = {x}.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)",)),
}
"""Ranks that have the layout, and the lines that make it."""

_TEXTS: dict[str, Callable[[Around, str], Sequence[str]]] = {
    "batch": _batch,
    "length": _length,
    "padding": _padding,
    "position": _position,
    "layout": _layout,
}
