"""SciPy's logsumexp, log_softmax, norm, and convolutions from scipy.signal.correlate."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz.backends.base import ALL_BUT_BFLOAT16, EVERY_FLOAT, Array, Lazy
from fuzz.backends.scipy_backend import BACKEND

special: Any = Lazy("scipy.special")
linalg: Any = Lazy("scipy.linalg")
signal: Any = Lazy("scipy.signal")


@BACKEND.operator(
    "logsumexp", name="logsumexp", provenance="library", source="scipy.special.logsumexp", dtypes=ALL_BUT_BFLOAT16
)
def logsumexp(x: Array, *, axis: int) -> Array:
    result: Array = special.logsumexp(x, axis=axis)
    return result


@BACKEND.operator(
    "log_softmax", name="log_softmax", provenance="library", source="scipy.special.log_softmax", dtypes=EVERY_FLOAT
)
def log_softmax(x: Array, *, axis: int) -> Array:
    result: Array = special.log_softmax(x, axis=axis)
    return result


@BACKEND.operator(
    "norm", name="norm", provenance="library", source="scipy.linalg.norm(check_finite=False)", dtypes=ALL_BUT_BFLOAT16
)
def norm(x: Array, *, axis: int, ord: float) -> Array:
    result: Array = linalg.norm(x, ord, axis, check_finite=False)
    return result


def _correlated(x: Array, w: Array, stride: int, padding: int) -> Array:
    space = x.ndim - 2
    padded = np.pad(x, ((0, 0), (0, 0), *((padding, padding),) * space))
    stepped = (0, *(slice(None, None, stride),) * space)
    images = [
        [signal.correlate(image, kernel, mode="valid", method="direct")[stepped] for kernel in w] for image in padded
    ]
    return np.array(images)


_CORRELATE = "scipy.signal.correlate(mode='valid', method='direct') for each image and kernel"


@BACKEND.operator("conv1d", name="correlate", provenance="composed", source=_CORRELATE)
def conv1d(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    return _correlated(x, w, stride, padding)


@BACKEND.operator("conv2d", name="correlate", provenance="composed", source=_CORRELATE)
def conv2d(x: Array, w: Array, *, stride: int, padding: int) -> Array:
    return _correlated(x, w, stride, padding)
