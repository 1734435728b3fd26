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


@BACKEND.implementation(
    "einsum_low_rank", "multiply_matmul", "e * s, then torch.matmul over r", "composed", dtypes=EVERY_FLOAT
)
def low_rank_multiply_matmul(x: Tensor, e: Tensor, s: Tensor) -> Tensor:
    """In the order, the shapes and the memory layout that opt_einsum and torch.einsum lead to where this is cheaper."""
    b, t, r, c = x.shape
    weights = (s.T[:, :, None] * e.T).contiguous()  # c, i, r
    y = torch.matmul(x.reshape(b * t, r, c).permute(2, 0, 1), weights.transpose(1, 2))  # c, b t, i
    return y.permute(1, 2, 0).reshape(b, t, e.shape[1], c)
