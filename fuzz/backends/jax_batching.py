"""A jax kernel over the slices of a batch dim: vectorized with jax.vmap, or one after the other with jax.lax.map.

Each slice is a batch of one, so that every formulation accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fuzz.backends.base import Implementation, Lazy, OptionSpec, Unsupported, as_tuple
from strategies.contract import Contract, Scalar

jax: Any = Lazy("jax")
jnp: Any = Lazy("jax.numpy")


class Axes(Struct, frozen=True):
    """Where the batch dim is: in each input (None where it is not), and in each output."""

    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]


def has_batch(contract: Contract, implementation: Implementation) -> bool:
    """Whether slices of some dim are independent of each other."""
    return any(dim.batch for dim in contract.dims)


OPTION = OptionSpec(
    "batch",
    "whole",
    "the batch dim: whole in one call; or slices of one, jax.vmap (vectorized) or jax.lax.map (one by one)",
    ("whole", "vmap", "map"),
    suits=has_batch,
)


def axes(implementation: Implementation, attributes: Mapping[str, Scalar]) -> Axes:
    """Of the first batch dim that all outputs of an operator have. Unsupported where there is none.

    Of a gradient: of its operator, whose slices are mapped and then differentiated.
    """
    from fuzz.operators import operator as registered  # imports scipy: backends are listed without it

    forward = implementation.derivative.forward if implementation.derivative else implementation
    contract = registered(forward.operator).contract
    if "axis" in attributes:  # the other of two dims is the batch
        other = 1 - int(attributes["axis"]) % 2
        return Axes((other,), tuple(other if len(spec.dims) == 2 else 0 for spec in contract.outputs))
    for dim in contract.dims:
        if dim.batch and all(dim.name in spec.dims for spec in contract.outputs):
            inputs = tuple(spec.dims.index(dim.name) if dim.name in spec.dims else None for spec in contract.inputs)
            return Axes(inputs, tuple(spec.dims.index(dim.name) for spec in contract.outputs))
    raise Unsupported(f"jax option batch is about operators with a batch dim: {contract.operator} has none")


def mapped(function: Callable[..., Any], how: str, found: Axes) -> Callable[..., Any]:
    """`function` applied to each slice; `how` is vmap or map."""

    def one(*slices: Any) -> tuple[Any, ...]:
        parts = [x if at is None else jnp.expand_dims(x, at) for x, at in zip(slices, found.inputs, strict=True)]
        return tuple(jnp.squeeze(y, at) for y, at in zip(as_tuple(function(*parts)), found.outputs, strict=True))

    if how == "vmap":
        every: Callable[..., Any] = jax.vmap(one, in_axes=found.inputs, out_axes=found.outputs)
        return every

    def one_by_one(*inputs: Any) -> tuple[Any, ...]:
        moved = [x if at is None else jnp.moveaxis(x, at, 0) for x, at in zip(inputs, found.inputs, strict=True)]
        batched = [x for x, at in zip(moved, found.inputs, strict=True) if at is not None]

        def slice_of(parts: Sequence[Any]) -> tuple[Any, ...]:
            left = iter(parts)
            return one(*(x if at is None else next(left) for x, at in zip(moved, found.inputs, strict=True)))

        results = jax.lax.map(slice_of, batched)
        return tuple(jnp.moveaxis(y, 0, at) for y, at in zip(results, found.outputs, strict=True))

    return one_by_one


def text(names: Sequence[str], expression: str, how: str, found: Axes, output: int) -> tuple[tuple[str, ...], str]:
    """The same as statements and an expression that is output number `output` of `expression`, which takes `names`."""
    at = {name: axis for name, axis in zip(names, found.inputs, strict=True) if axis is not None}
    part, out = (f"[{output}]" if len(found.outputs) > 1 else ""), found.outputs[output]
    one = (
        f"def one({', '.join(names)}):",
        '    """One slice, as a batch of one."""',
        *(f"    {name} = jnp.expand_dims({name}, {axis})" for name, axis in at.items()),
        f"    return jnp.squeeze(({expression}){part}, {out})",
    )
    if how == "vmap":
        return one, f"jax.vmap(one, in_axes={found.inputs!r}, out_axes={out})({', '.join(names)})"
    moved = ", ".join(f"jnp.moveaxis({name}, {axis}, 0)" for name, axis in at.items())
    given = iter(range(len(at)))
    arguments = ", ".join(f"parts[{next(given)}]" if name in at else name for name in names)
    return one, f"jnp.moveaxis(jax.lax.map(lambda parts: one({arguments}), ({moved},)), 0, {out})"
