"""NumPy: library functions where NumPy has the operator, otherwise compositions of its primitives."""

from __future__ import annotations

import numpy as np

from fuzz.backends.base import Array, Backend, Kernel, Request, SimpleKernel, as_tuple


class NumpyBackend(Backend):
    """Calls functions on the shared input arrays directly."""

    name = "numpy"
    doc = "NumPy on the CPU"
    module = "numpy"
    install = "pip install numpy"

    def versions(self) -> dict[str, str]:
        return {"numpy": np.__version__}

    def prepare(self, request: Request) -> Kernel:
        function, inputs, attributes = request.implementation.function, tuple(request.inputs.values()), dict(request.attributes)

        def call() -> tuple[Array, ...]:
            with np.errstate(all="ignore"):
                return as_tuple(function(*inputs, **attributes))

        return SimpleKernel(call)


BACKEND = NumpyBackend()


@BACKEND.implementation("batch_norm", "formula", "(x - mean) / sqrt(var + eps) * gamma + beta", "composed")
def batch_norm(x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float) -> Array:
    def channel(p: Array) -> Array:
        return p[:, None, None]

    result: Array = (x - channel(mean)) / np.sqrt(channel(var) + x.dtype.type(eps)) * channel(gamma) + channel(beta)
    return result
