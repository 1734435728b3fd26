"""For authors of extensions: test your own kernels without touching this repository.

    # mine.py, used as: ulpfuzz run --extension mine.py ...
    from fuzz.extend import FunctionBackend, register
    import numpy as np

    mine = FunctionBackend("mine")

    @mine.operator("softplus")
    def naive(x):
        return np.log(1 + np.exp(x))

    @mine.operator("sum")
    def total(x, *, axis, out):          # a parameter called out: the engine's guarded buffer
        np.sum(x, axis=axis, out=out)

    register(mine)

A package does the same through an entry point of the group "ulpfuzz.backends" whose object is a backend or a list.
"""

from __future__ import annotations

from fuzz.backends import register
from fuzz.backends.base import (
    Backend,
    Implementation,
    Kernel,
    OptionSpec,
    Request,
    SimpleKernel,
    Unsupported,
)
from fuzz.backends.functions import FunctionBackend
from fuzz.reproduction.calling import call

__all__ = [
    "Backend",
    "FunctionBackend",
    "Implementation",
    "Kernel",
    "OptionSpec",
    "Request",
    "SimpleKernel",
    "Unsupported",
    "call",
    "register",
]
