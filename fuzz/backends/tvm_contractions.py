"""topi.einsum: one sum of the products of all operands."""

from __future__ import annotations

from fuzz.backends.tvm_operators import Body, Tensor, library, topi
from fuzz.equations import EQUATIONS


def _einsum(equation: str) -> Body:
    def einsum(*operands: Tensor) -> Tensor:
        return topi.einsum(equation, *operands)

    return einsum


for _name, _equation in EQUATIONS.items():
    library(_name, f"topi.einsum({_equation!r})")(_einsum(_equation))
