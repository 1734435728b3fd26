"""Contractions written out, in the syntax that arrays of NumPy, PyTorch and JAX share: by matmul, and by hand.

`sum`: everything is multiplied, then summed, as one writes it without thinking of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Tensor: TypeAlias = Any
Formulation: TypeAlias = Callable[..., Tensor]


def low_rank_matmul(x: Tensor, e: Tensor, s: Tensor) -> Tensor:
    return (x.swapaxes(2, 3) @ e).swapaxes(2, 3) * s


def low_rank_sum(x: Tensor, e: Tensor, s: Tensor) -> Tensor:
    return (x[:, :, :, None, :] * e[:, :, None] * s).sum(2)


def bilinear_matmul(x: Tensor, w: Tensor, y: Tensor) -> Tensor:
    return ((x @ w) * y).sum(2).swapaxes(0, 1)


def bilinear_sum(x: Tensor, w: Tensor, y: Tensor) -> Tensor:
    return (x[:, None, :, None] * w * y[:, None, None, :]).sum((2, 3))


def scores_matmul(q: Tensor, k: Tensor) -> Tensor:
    return q.swapaxes(1, 2) @ k.swapaxes(1, 2).swapaxes(2, 3)


def scores_sum(q: Tensor, k: Tensor) -> Tensor:
    return (q.swapaxes(1, 2)[:, :, :, None] * k.swapaxes(1, 2)[:, :, None]).sum(4)


def outer_matmul(x: Tensor, y: Tensor) -> Tensor:
    return x[:, :, None] @ y[:, None, :]


def outer_product(x: Tensor, y: Tensor) -> Tensor:
    return x[:, :, None] * y[:, None, :]


WRITTEN_OUT: dict[str, tuple[tuple[str, str, Formulation], ...]] = {
    "einsum_low_rank": (
        ("matmul", "matmul over r, then * s", low_rank_matmul),
        ("sum", "x * e * s, then the sum over r", low_rank_sum),
    ),
    "einsum_bilinear": (
        ("matmul", "matmul over i, then * y and the sum over j", bilinear_matmul),
        ("sum", "x * w * y, then the sum over i and j", bilinear_sum),
    ),
    "einsum_scores": (
        ("matmul", "matmul of each head", scores_matmul),
        ("sum", "q * k, then the sum over d", scores_sum),
    ),
    "einsum_outer": (("matmul", "matmul of a column and a row", outer_matmul), ("product", "x * y", outer_product)),
}
"""Name, source and function of each by operator."""


def written_out() -> Iterator[tuple[str, str, str, Formulation]]:
    """Operator, name, source and function of all."""
    for operator, forms in WRITTEN_OUT.items():
        for name, source, function in forms:
            yield operator, name, source, function
