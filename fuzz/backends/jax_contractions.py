"""jax.numpy.einsum, which orders its operands by opt_einsum, and what stands for it."""

from __future__ import annotations

from fuzz.backends.base import EVERY_FLOAT
from fuzz.backends.contractions import Formulation, written_out
from fuzz.backends.jax_backend import BACKEND, JaxArray, jnp
from fuzz.equations import EQUATIONS


def _einsum(equation: str) -> Formulation:
    def einsum(*operands: JaxArray) -> JaxArray:
        return jnp.einsum(equation, *operands)

    return einsum


for _name, _equation in EQUATIONS.items():
    BACKEND.implementation(_name, "einsum", f"jax.numpy.einsum({_equation!r})", dtypes=EVERY_FLOAT)(_einsum(_equation))
for _name, _form, _source, _function in written_out():
    BACKEND.implementation(_name, _form, _source, "composed", EVERY_FLOAT)(_function)
