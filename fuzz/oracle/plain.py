"""Interpreter `plain`: the reference as NumPy computes it in the working dtype, overflows and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuzz.oracle.primitives import PRIMITIVES, call_arguments
from fuzz.oracle.program import Program, Ref
from strategies.precision import DType, precision


def plain(program: Program, inputs: Sequence[Any], dtype: DType) -> tuple[Any, ...]:
    """Outputs of `program` in `dtype`: what the formula itself makes of inputs at which it overflows."""
    kind = precision(dtype).numpy.type
    values: list[Any] = [np.asarray(array, kind) for array in inputs]
    with np.errstate(all="ignore"):
        for node in program.nodes[len(program.inputs) :]:
            arguments = [values[a.node] if isinstance(a, Ref) else kind(a) for a in node.arguments]
            function = PRIMITIVES[node.primitive].function
            result = function(*arguments, **call_arguments(dict(node.static)))
            values.append(result.astype(kind) if result.dtype.kind == "i" else result)  # a count
    return tuple(values[number] for number in program.outputs)
