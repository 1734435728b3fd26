"""Matrices of a given condition number."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from strategies.precision import DType, precision
from strategies.recipe import Array, ParameterError, Recipe, Support, register, require_finite

Floats = npt.NDArray[np.float64]

REFLECTIONS = 2
"""Householder reflections on either side: after two, every element depends on every singular value."""
_STEPS = 64
"""Exponents i/64 of the condition number are met by repeated square roots: no power function, the same everywhere."""


@register("conditioned", example="conditioned(1e4)")
class Conditioned(Recipe, frozen=True):
    """Matrices (last two axes; one axis is a row) U diag(s) V^T, singular values from 1 down to 1/c in equal ratios (to
    steps of c**(1/64)), U and V products of two random Householder reflections: elements in [-1, 1], dependent.

    In float64, then rounded, which moves the singular values by about u: 2-norm condition number c while c*u << 1.
    (Higham, Accuracy and Stability of Numerical Algorithms, 28.3: randsvd, mode 3.)
    """

    c: float

    def validate(self) -> None:
        require_finite(self, "c")
        if self.c < 1:
            raise ParameterError(f"c of conditioned is {self.c!r}: use a condition number >= 1", "c")

    def support(self, home: DType) -> Support:
        return -1.0, 1.0

    def fill(self, stream: np.random.Generator, out: Array) -> None:
        if out.size == 0:
            return
        rows, columns = (1, *out.shape)[-2:] if out.ndim else (1, 1)
        matrices = np.zeros((out.size // (rows * columns), rows, columns))
        least = min(rows, columns)
        matrices[:, np.arange(least), np.arange(least)] = _ratios(self.c, least)
        for _ in range(REFLECTIONS):
            _reflect(matrices, stream.standard_normal(size=(len(matrices), rows)))
            _reflect(matrices.transpose(0, 2, 1), stream.standard_normal(size=(len(matrices), columns)))
        np.clip(matrices, -1.0, 1.0, out=matrices)  # the largest singular value bounds them, up to rounding
        out[...] = precision(out.dtype.name).round(matrices).reshape(out.shape)


def _reflect(matrices: Floats, v: Floats) -> None:
    """A <- (I - 2 v v^T / v^T v) A for each matrix. Sums are folded by halves, elementwise: BLAS and NumPy's own sums
    associate differently on different machines."""
    norm = _folded(v * v)
    projected = _folded(np.moveaxis(v[:, :, None] * matrices, 1, -1))
    matrices -= v[:, :, None] * (2.0 * projected / np.where(norm == 0, 1.0, norm)[:, None])[:, None, :]


def _folded(terms: Floats) -> Floats:
    """Sum over the last axis, in a fixed order."""
    while (n := terms.shape[-1]) > 1:
        half = (n + 1) // 2
        folded = terms[..., :half].copy()
        folded[..., : n - half] += terms[..., half:]
        terms = folded
    return terms[..., 0]


@functools.lru_cache(maxsize=64)
def _ratios(c: float, count: int) -> Floats:
    """1, ..., 1/c in `count` steps of (nearly) one ratio: exponents to the next 1/64 by products of square roots."""
    roots, root = [], c
    for _ in range(_STEPS.bit_length() - 1):
        root = float(np.sqrt(root))
        roots.append(root)  # c**(1/2), c**(1/4), ..., c**(1/64)
    powers = []
    for step in range(_STEPS + 1):
        power = c if step == _STEPS else 1.0
        for place, factor in enumerate(roots):
            if step < _STEPS and step >> (len(roots) - 1 - place) & 1:
                power *= factor
        powers.append(1.0 / power)
    return np.array([powers[i * _STEPS // max(count - 1, 1)] for i in range(count)])
