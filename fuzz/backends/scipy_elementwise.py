"""Elementwise operators in SciPy: the ufuncs of scipy.special."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.backends.base import EVERY_FLOAT, Array
from fuzz.backends.scipy_backend import BACKEND, special

UFUNCS = {
    "sigmoid": "expit",
    "log_sigmoid": "log_expit",
    "exp2": "exp2",
    "expm1": "expm1",
    "log1p": "log1p",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "lgamma": "gammaln",
}
"""Operator -> name in scipy.special."""


def writing(name: str) -> Callable[..., None]:
    """scipy.special's ufunc as a kernel that writes into the engine's buffer."""

    def call(x: Array, *, out: Array) -> None:
        getattr(special, name)(x, out=out)

    return call


for _operator, _name in UFUNCS.items():
    BACKEND.operator(_operator, name=_name, provenance="library", source=f"scipy.special.{_name}", dtypes=EVERY_FLOAT)(
        writing(_name)
    )


@BACKEND.operator("silu", name="expit", provenance="composed", source="x * scipy.special.expit(x)", dtypes=EVERY_FLOAT)
def silu(x: Array, *, out: Array) -> None:
    special.expit(x, out=out)
    np.multiply(out, x, out=out)
