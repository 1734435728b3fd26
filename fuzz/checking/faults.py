"""What fools whoever compares the outputs of functions, refused or noted before any figure is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fuzz.backends.base import Array
from fuzz.checking.called import FOREIGN, Called, parameters_of
from fuzz.checking.known import Known, inputs_dtype
from fuzz.checking.made import traceable
from fuzz.errors import UserError
from fuzz.oracle.lint import FORMULATION_LIMIT, lint
from fuzz.oracle.trace import trace
from strategies.contract import Shape

Function = Callable[..., Any]


def same_outputs(known: Sequence[Known]) -> None:
    first = known[0]
    for other in known[1:]:
        if len(other.shapes) != len(first.shapes):
            raise UserError(
                f"{first.name} returns {len(first.shapes)} arrays and {other.name} {len(other.shapes)}: "
                "wrap them so that both return the same"
            )
        for number, (a, b) in enumerate(zip(first.shapes, other.shapes, strict=True)):
            if a != b:
                raise UserError(
                    f"{_which(first, number)}{first.name} returns shape {list(a)} and {other.name} "
                    f"{list(b)}: {_broadcast(a, b)}"
                )


def _which(known: Known, number: int) -> str:
    if len(known.shapes) == 1:
        return ""
    return f"output {known.outputs[number] or number}: "


def _broadcast(a: Shape, b: Shape) -> str:
    """Why arrays of these shapes must not be compared."""
    try:
        shape = list(np.broadcast_shapes(a, b))
    except ValueError:
        return "they cannot be compared"
    return (
        f"NumPy would broadcast them to {shape} and compare elements that have nothing to do with each other; "
        "reshape one of them"
    )


def of_values(called: Called, inputs: Mapping[str, Array]) -> list[str]:
    """NaN and infinities, which make every comparison of closeness say whatever its author wanted."""
    wide = [array.astype(np.float64) for array in inputs.values()]
    try:
        values = called([array.copy() for array in wide])
    except FOREIGN:
        try:
            values = called([array.copy() for array in inputs.values()])
        except FOREIGN:  # it does not always raise: the trials will count how often
            return []
    total = sum(value.size for value in values)
    bad = sum(int(np.count_nonzero(~np.isfinite(value.astype(np.float64)))) for value in values)
    if not bad:
        return []
    if bad == total:
        return [
            f"every result of {called.name} is NaN or infinite, on float64 inputs, too: there is nothing to compare; "
            "scale inputs or weights down"
        ]
    return [f"{bad:,} of {total:,} results of {called.name} are NaN or infinite, on float64 inputs, too"]


def of_formula(called: Called, inputs: Mapping[str, Array]) -> list[str]:
    """A formula that loses more digits than its inputs make it lose excuses too much."""
    arrays = list(inputs.values())
    program = trace(traceable(called), {name: array.shape for name, array in inputs.items()})
    dtype = inputs_dtype(inputs)
    if dtype not in ("float32", "float64"):
        return []
    found = lint(program, arrays, dtype)
    if found.ratio <= FORMULATION_LIMIT:
        return []
    return [
        f"the formula of {called.name} amplifies its own roundings {found.ratio:.2g} times more than its inputs' "
        "errors: an unstable formula excuses much as rounding; give a stable one as truth="
    ]


def of_orders(functions: Sequence[tuple[str, Function]], known: Sequence[Known]) -> list[str]:
    """Parameters that two functions name alike and take in another order."""
    orders = [(name, parameters_of(function)) for name, function in functions]
    notes = []
    first, reference = orders[0]
    for (name, parameters), one in zip(orders[1:], known[1:], strict=True):
        shared = [p for p in parameters if p in reference]
        if len(shared) > 1 and shared != [p for p in reference if p in parameters]:
            how = "they were passed by name" if one.by_name and known[0].by_name else "they were passed by position"
            notes.append(
                f"{first} takes ({', '.join(p for p in reference if p in parameters)}) and {name} "
                f"({', '.join(shared)}): {how}"
            )
    return notes
