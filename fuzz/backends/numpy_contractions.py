"""numpy.einsum, by its own loops and in an order of pairwise products, and what stands for it."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import ALL_BUT_BFLOAT16, Array
from fuzz.backends.contractions import Formulation, written_out
from fuzz.backends.numpy_backend import BACKEND
from fuzz.equations import EQUATIONS


def _einsum(equation: str, optimize: bool) -> Formulation:
    def einsum(*operands: Array) -> Array:
        result: Array = np.einsum(equation, *operands, optimize=optimize)
        return result

    return einsum


for _name, _equation in EQUATIONS.items():
    for _form, _optimize in (("einsum", False), ("einsum_path", True)):
        BACKEND.implementation(
            _name, _form, f"numpy.einsum({_equation!r}, optimize={_optimize})", dtypes=ALL_BUT_BFLOAT16
        )(_einsum(_equation, _optimize))
for _name, _form, _source, _function in written_out():
    BACKEND.implementation(_name, _form, _source, "composed", ALL_BUT_BFLOAT16)(_function)
