"""torch.einsum, and what stands for it. In which order it takes three operands is the option opt_einsum."""

from __future__ import annotations

from fuzz.backends.base import EVERY_FLOAT
from fuzz.backends.contractions import Formulation, written_out
from fuzz.backends.torch_backend import BACKEND, torch
from fuzz.backends.torch_options import Tensor
from fuzz.equations import EQUATIONS


def _einsum(equation: str) -> Formulation:
    def einsum(*operands: Tensor) -> Tensor:
        return torch.einsum(equation, *operands)

    return einsum


for _name, _equation in EQUATIONS.items():
    BACKEND.implementation(_name, "einsum", f"torch.einsum({_equation!r})", dtypes=EVERY_FLOAT)(_einsum(_equation))
for _name, _form, _source, _function in written_out():
    BACKEND.implementation(_name, _form, _source, "composed", EVERY_FLOAT)(_function)
