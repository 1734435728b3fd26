"""One kernel called through ulpfuzz: for scripts whose kernel has no text of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from strategies.contract import Contract, ContractError, Scalar
from strategies.problem import Problem

if TYPE_CHECKING:
    from fuzz.backends.base import Array


def call(
    operator: str,
    target: str,
    inputs: Mapping[str, Array],
    attributes: Mapping[str, Scalar] | None = None,
    extensions: Sequence[str] = (),
    variant: str = "",
) -> tuple[Array, ...]:
    """The outputs of `target` (such as "torch:cpu[mkldnn=off]") on `inputs`, all of one dtype.

    `extensions` are files to load first, `variant` is another way of calling, such as "batch[8]". Inputs that the
    kernel changes are changed in `inputs`, too; RuntimeError where it writes outside its outputs, TypeError where it
    returns no arrays or wrong shapes, and whatever the library raises.
    """
    from fuzz.execution import Failure, checked
    from fuzz.extensions import load_entry_points, load_extension
    from fuzz.operators import operator as registered
    from fuzz.targets import parse_target
    from fuzz.workbench import Bench

    load_entry_points()
    for path in extensions:
        load_extension(Path(path))
    dtype = next(iter(inputs.values())).dtype.name
    contract = registered(operator).contract
    given = dict(attributes or {})
    values = tuple(sorted({name: given.get(name, spec.default) for name, spec in contract.attributes}.items()))
    bench = Bench(Problem(operator, values, tuple(sorted(sizes(contract, inputs).items())), dtype, ()), forensic=True)
    rung = bench.rung(dtype)
    for name, array in inputs.items():
        np.copyto(rung.arena.arrays[name], array)
    wanted = parse_target(target, dtype)
    prepared = bench.varied(wanted, variant) if variant else bench.prepared(wanted)
    results = prepared.call()
    wrong = checked(results, bench, wanted, 0.0, prepared.implementation)
    for name, array in inputs.items():
        np.copyto(array, rung.arena.arrays[name])
    if prepared.overrun():
        raise RuntimeError("bytes outside the output changed")
    if isinstance(wrong, Failure) and wrong.verdict != "dtype_mismatch":
        raise TypeError(wrong.error)
    return tuple(np.array(values) for values in results)


def sizes(contract: Contract, inputs: Mapping[str, Array]) -> dict[str, int]:
    """The dims of a contract read off the shapes of its inputs; ContractError where they contradict."""
    found: dict[str, int] = {}
    for spec in contract.inputs:
        shape = inputs[spec.name].shape
        if len(shape) != len(spec.dims):
            raise ContractError(f"input {spec.name!r} of {contract.operator} has shape {shape}: it has {spec.dims}")
        for dim, size in zip(spec.dims, shape, strict=True):
            if isinstance(dim, str) and found.setdefault(dim, size) != size:
                raise ContractError(f"dim {dim} of {contract.operator} is {found[dim]} and {size}")
    return found
