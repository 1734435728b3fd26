"""Backends by name. Adding one is one module and one line here, an entry point, or a file given with --extension."""

from __future__ import annotations

from fuzz.backends import (  # noqa: F401 - they register formulations
    jax_arrays,
    jax_chains,
    jax_contractions,
    jax_elementwise,
    numpy_arrays,
    numpy_chains,
    numpy_contractions,
    numpy_elementwise,
    scipy_arrays,
    scipy_elementwise,
    torch_arrays,
    torch_chains,
    torch_contractions,
    torch_elementwise,
    tvm_arrays,
    tvm_chains,
    tvm_contractions,
    tvm_elementwise,
)
from fuzz.backends.base import Backend
from fuzz.backends.jax_backend import BACKEND as JAX
from fuzz.backends.numpy_backend import BACKEND as NUMPY
from fuzz.backends.scipy_backend import BACKEND as SCIPY
from fuzz.backends.torch_backend import BACKEND as TORCH
from fuzz.backends.tvm_operators import BACKEND as TVM
from fuzz.errors import UserError, unknown

BACKENDS: dict[str, Backend] = {backend.name: backend for backend in (NUMPY, SCIPY, TORCH, JAX, TVM)}
"""In the order they are shown and run."""


def backend(name: str) -> Backend:
    """The backend called `name`; UserError with the nearest name otherwise."""
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    return BACKENDS[name]


def register(added: Backend) -> None:
    """Make a third party's backend known. UserError for a name in use and for options that are not set in calls."""
    if added.name in BACKENDS and BACKENDS[added.name] is not added:
        raise UserError(f"backend {added.name!r} exists already: give yours another name")
    for option in added.options:
        if option.scope != "call":
            raise UserError(
                f"option {option.name} of backend {added.name!r} has scope {option.scope!r}: set it in calls"
            )
    BACKENDS[added.name] = added
